// Shows a sentence and its translation. Choosing a word shows which of its links stand out most, among all heads of all
// kinds of attention.

import { ARROWS, clamped } from "../shared/controls.js";
import { directionOf, quote } from "../shared/direction.js";
import { element, svgElement } from "../shared/element.js";
import { term } from "../shared/terms.js";
import { addressOf, explanationOf, KINDS, linkSentence, linksFrom, percent } from "./story_links.js";
/** @import { Link, SideName, StoryMessage, Word } from "./story_links.js" */

/** @typedef {(label: string, page: string, changed: Record<string, string>) => HTMLAnchorElement} MakeLink */

/** @type {SideName[]} */
const SIDES = ["source", "target"];
/** @type {Word} a placeholder for the word that is chosen when the page opens; no word has index -1 */
export const FIRST_WORD = { side: "source", at: -1 };
const NOT_AN_EXPLANATION = "Attention is not an explanation: it shows where heads look, not why a word was chosen. ";
const MEASURED = "Links that are usual for a head, such as those to the neighbouring word, are left out, so the largest weights may be missing. ";

export class Story {
  /** @type {StoryMessage} */
  story;
  /** @type {string} identifies the current content */
  key;
  /** @type {Word | null} */
  word = null;
  /** @type {Word | null} the chosen word, which is shown again when the pointer leaves another word */
  kept = null;
  /** Whether all links from the chosen word are shown, not only those that stand out most. */
  all = false;

  /**
   * @param {MakeLink} link makes a link to a page with other URL parameters
   * @param {(word: Word | null) => void} selected
   * @param {(word: Word | null) => void} chosen
   */
  constructor(link, selected, chosen) {
    this.link = link;
    this.selected = selected;
    this.chosen = chosen;
    this.lines = svgElement("svg", { class: "links", "aria-hidden": "true" });
    this.stage = element("div", { class: "words-stage", onpointerleave: () => this.select(this.kept) });
    this.panel = element("div", { class: "ranking", onkeydown: (/** @type {KeyboardEvent} */ event) => this.step(event) });
    this.spoken = element("p", { class: "spoken", "aria-live": "polite" });
    this.root = element("div", { class: "story" }, this.stage, this.panel, this.spoken);
  }

  /**
   * @param {StoryMessage} story
   * @param {Word} word the word that the user has chosen
   */
  show(story, word) {
    const key = JSON.stringify(story);
    if (key === this.key) {
      this.select(this.word);
      return;
    }
    this.key = key;
    this.story = story;
    /** @type {Record<SideName, HTMLElement>} */
    this.lists = { source: this.listOf("source"), target: this.listOf("target") };
    this.stage.replaceChildren(this.lines, ...SIDES.map((side) => (
      element("div", { class: `sentence ${side}` }, element("span", { class: "language" }, story[side].language), this.lists[side]))));
    this.choose(word);
  }

  /**
   * Chooses the given word. If the sentence has no such word, chooses the word with which the page opens.
   * @param {Word} word
   */
  choose(word) {
    const { opens } = this.story;
    const opening = opens < 0 ? null : { ...FIRST_WORD, at: opens };
    this.kept = word.at in this.story[word.side].words ? word : opening;
    this.all = false;
    this.select(this.kept);
  }

  /**
   * Returns the words of a sentence as a list box for the keyboard and the pointer.
   * @param {SideName} side
   */
  listOf(side) {
    const { words, spoken, language } = this.story[side];
    return element("div", {
      class: "words", role: "listbox", tabindex: 0, dir: directionOf(words.join(" ")),
      "aria-label": `${language} words: arrow keys choose one`,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(side, event),
      // A tap also moves the focus here, but `onclick` chooses the word.
      onfocus: () => { if (this.word?.side !== side && this.lists[side].matches(":focus-visible")) this.keep({ side, at: 0 }); },
      onclick: (/** @type {MouseEvent} */ event) => { if (words.length) this.keep({ side, at: this.nearest(side, event) }); },
    }, ...words.map((word, at) => element("span", {
      class: spoken[at] ? "word" : "word punctuation", role: "option", id: `${side}-${at}`, "aria-selected": "false",
      onpointerenter: () => this.select({ side, at }),
    }, word)));
  }

  /**
   * Returns the index of the word nearest to a click, which may be between words. A punctuation mark counts only if the
   * click is on it.
   * @param {SideName} side
   * @param {{ clientX: number, clientY: number }} place
   */
  nearest(side, { clientX, clientY }) {
    const distances = [...this.lists[side].children].map((word, at) => {
      const { left, right, top, bottom } = word.getBoundingClientRect();
      const distance = Math.hypot(Math.max(left - clientX, clientX - right, 0), Math.max(top - clientY, clientY - bottom, 0));
      return distance && !this.story[side].spoken[at] ? Infinity : distance;
    });
    return distances.indexOf(Math.min(...distances));
  }

  /**
   * Handles the arrow keys, which choose a word or move between the sentences, and Esc, which clears the choice.
   * @param {SideName} side
   * @param {KeyboardEvent} event
   */
  press(side, event) {
    const step = ARROWS[event.key];
    const last = this.story[side].words.length;
    if (event.key === "Escape") this.keep(null);
    else if (step && step[1] && last) this.keep({ side, at: clamped((this.kept?.at ?? -1) + step[1], last) });
    else if (step) this.lists[step[0] < 0 ? "source" : "target"].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Chooses a word. It stays chosen when the pointer leaves it.
   * @param {Word | null} word
   */
  keep(word) {
    this.kept = word;
    this.all = false;
    this.select(word);
    this.chosen(word);
    this.spoken.textContent = word ? this.panel.innerText : "";
  }

  /**
   * Shows the links of a word, whether it is chosen or only under the pointer.
   * @param {Word | null} word
   */
  select(word) {
    this.word = word;
    for (const side of SIDES) {
      const list = this.lists[side];
      [...list.children].forEach((one, at) => one.setAttribute("aria-selected", String(word?.side === side && word.at === at)));
      if (word?.side === side) list.setAttribute("aria-activedescendant", `${side}-${word.at}`);
      else list.removeAttribute("aria-activedescendant");
    }
    this.tell();
    this.drawLines();
    this.selected(word);
  }

  /**
   * Returns whether all links from a word are shown. Only the chosen word can show more than its first links.
   * @param {Word} word
   */
  showsAll({ side, at }) {
    return this.all && this.kept?.side === side && this.kept.at === at;
  }

  // Shows all links from the chosen word. The clicked button disappears, so the focus moves to the first link.
  showAll() {
    this.all = true;
    this.select(this.kept);
    this.listed()[0].focus();
  }

  /** @returns {{ link: Link, looks: boolean }[]} links of the shown word */
  shown() {
    const { word, story } = this;
    if (!word) return [];
    return [...linksFrom(story, word, this.showsAll(word)).map((link) => ({ link, looks: true })),
      ...story[word.side].looked[word.at].map((number) => ({ link: story.links[number], looks: false }))];
  }

  tell() {
    const { word, story } = this;
    if (!word) {
      this.panel.replaceChildren(element("p", { class: "question" }, "Choose a word to see which words it looks at."));
      return;
    }
    const { side, at } = word;
    const name = quote(story[side].words[at]);
    const shown = this.shown();
    /** @type {(looks: boolean, title: string) => Node[]} */
    const list = (looks, title) => {
      const those = shown.filter((one) => one.looks === looks);
      return those.length ? [element("p", { class: "question" }, title), element("ol", { "aria-label": `${title}: arrow keys go from link to link` }, ...those.map(({ link }) => (
        element("li", { class: link[0] }, this.link(linkSentence(story, link, looks), KINDS[link[0]].page, addressOf(story, link))))))] : [];
    };
    const [kind, , , layer, head] = shown[0]?.link ?? [];
    const hidden = story[side].columns[at];
    const looks = list(true, `${side === "source" ? `${name} looks at` : `When it was written, ${name} looked at`}, largest weight first`);
    this.panel.replaceChildren(
      ...looks, ...(looks.length ? [this.noteOnLooks(word)] : []), ...list(false, `Words that look at ${name} (dotted lines)`),
      ...(shown.length ? [this.legend()] : []),
      ...(shown.length ? [] : [element("p", { class: "question" }, `No link of ${name} stands out.`)]),
      element("p", { class: "actions" },
        ...(hidden.length ? [this.link(`Hide ${name}`, "change_attention", { [`edit_hidden_${side}`]: hidden.join(".") })] : []),
        ...(kind === undefined ? [] : [this.link(`Switch off ${kind} layer ${layer + 1}, head ${head + 1}`, "switch_heads_off",
          { off_heads: `${kind}.${layer + 1}.${head + 1}` })])),
      element("p", { class: "measured" }, NOT_AN_EXPLANATION,
        this.link("Do the methods agree?", "what_mattered", { mattered_part: "agreement", ...explanationOf(story, word) })),
      element("p", { class: "measured" }, MEASURED, term("?", "attention link")));
    this.stopAt(this.listed()[0]);
  }

  /** @returns {HTMLElement[]} the listed links and the button for more; the Tab key stops at only one of them */
  listed() {
    return [...this.panel.querySelectorAll("ol a, .further")].filter((link) => link instanceof HTMLElement);
  }

  /** @param {HTMLElement | undefined} link at which the Tab key stops */
  stopAt(link) {
    for (const one of this.listed()) one.tabIndex = one === link ? 0 : -1;
  }

  /**
   * Moves the focus along the listed links.
   * @param {KeyboardEvent} event
   */
  step(event) {
    const [down, right] = ARROWS[event.key] ?? [0, 0];
    const links = this.listed();
    const at = links.findIndex((link) => link === event.target);
    if (!(down + right) || at < 0) return;
    const next = links[clamped(at + down + right, links.length)];
    this.stopAt(next);
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Returns a note on why the listed weights do not add up to 100%. If some links are not listed, a button in front of
   * the note shows them.
   * @param {Word} word
   */
  noteOnLooks(word) {
    const { story } = this;
    const more = this.showsAll(word) ? 0 : story[word.side].looks[word.at].length - story.first;
    return element("p", { class: "measured" },
      ...(more > 0 ? [element("button", { type: "button", class: "further", onclick: () => this.showAll() }, `Show ${more} more`)] : []),
      "Each weight is from one head, and different heads look for different things. Within one head, a row adds up to 100%.");
  }

  // Returns a legend for the colours and the widths of the lines.
  legend() {
    const kinds = [...new Set(this.shown().map(({ link: [kind] }) => kind))];
    return element("p", { class: "measured legend" }, "Lines: ",
      ...kinds.flatMap((kind) => [element("span", { class: kind }, KINDS[kind].name), " "]),
      "attention. The wider a line, the larger the weight.");
  }

  // Draws a line for each link: above the source words, below the target words, or between the sentences.
  drawLines() {
    const { stage } = this;
    this.lines.setAttribute("viewBox", `0 0 ${stage.clientWidth} ${stage.clientHeight}`);
    this.lines.replaceChildren(...this.shown().flatMap(({ link: [kind, row, column, , , weight], looks }) => {
      const { rows, columns } = KINDS[kind];
      const [from, to] = [this.boxOf(rows, row), this.boxOf(columns, column)];
      const up = kind !== "decoder";
      const [startY, endY] = [up ? from.top : from.bottom, kind === "encoder" ? to.top : to.bottom];
      const far = Math.abs(to.middle - from.middle);
      const bend = kind === "cross" ? (endY - startY) / 2 : (up ? -1 : 1) * (16 + 44 * far / (far + 200));
      const path = `M${from.middle} ${startY}C${from.middle} ${startY + bend} ${to.middle} ${endY + (kind === "cross" ? -bend : bend)} `
        + `${to.middle} ${endY}`;
      // All lines meet at the shown word, so each weight is written at the opposite end of its line.
      const place = { x: (looks ? to : from).middle, y: looks ? endY + (kind === "encoder" ? -12 : 12) : startY + (up ? -12 : 12) };
      return [svgElement("path", { class: `${kind}${looks ? "" : " looked"}`, d: path, "stroke-width": 1.5 + 5 * weight }),
        svgElement("text", { ...place, "text-anchor": "middle" }, percent(weight))];
    }));
  }

  /**
   * Returns the position of a word in `stage`.
   * @param {SideName} side
   * @param {number} at
   */
  boxOf(side, at) {
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = /** @type {HTMLElement} */ (this.lists[side].children[at]);
    return { middle: offsetLeft + offsetWidth / 2, top: offsetTop, bottom: offsetTop + offsetHeight };
  }
}
