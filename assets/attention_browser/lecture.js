// The attention browser in lecture mode: two lines of text, and one head that fills the rest of the screen.

import { onStep } from "../shared/clicker.js";
import { clamped } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { typeset } from "../shared/numbers.js";
import { entryName } from "./arrangement.js";
import { lectureRoom, lectureZoom } from "./lecture_map.js";
import { description } from "./readout.js";
/** @import { Arranged, KindHeader } from "./arrangement.js" */
/** @import { AttentionBrowser } from "./attention_browser.js" */

/** @typedef {{ width: number, height: number | null }} Room in units of the figure; a height of null means unlimited */

/**
 * Returns a head's strongest link, apart from links to the start or end symbol and links from a word to itself.
 * @param {KindHeader} header
 * @param {Arranged} arranged
 * @returns {{ row: number, column: number } | null}
 */
function strongestLink({ kind, special }, { rows, columns, values, masked }) {
  let best = null;
  let most = 0;
  for (let row = 0, at = 0; row < rows.length; row++) {
    for (let column = 0; column < columns.length; column++, at++) {
      const { positions } = columns[column];
      const itself = kind !== "cross" && positions[0] === rows[row].positions[0];
      if (masked[at] || itself || values[at] <= most || positions.some((one) => special.includes(one))) continue;
      best = { row, column };
      most = values[at];
    }
  }
  return best;
}

export class LectureView {
  /** @param {AttentionBrowser} browser */
  constructor(browser) {
    this.browser = browser;
    this.sentence = element("p", { class: "sentence" });
    this.says = element("p", { class: "look-for" });
    this.head = element("div", { class: "head", hidden: true }, this.sentence, this.says);
    const onResize = () => { if (this.shown) this.browser.draw(); };
    addEventListener("resize", onResize);
    browser.leaving.push(onStep((by) => this.step(by)), () => removeEventListener("resize", onResize));
  }

  // "page" if the figure is the whole page, "figure" if text is shown beside it. Empty outside lecture mode, and for
  // "All heads at a glance".
  get shown() {
    const header = this.browser.data?.header;
    if (!header?.lecture || header.glance) return "";
    return header.beside ? "figure" : "page";
  }

  // CSS pixels per unit of the figure.
  get zoom() {
    return this.shown ? lectureZoom() : 1;
  }

  /** @returns {Room} */
  room() {
    const { figure } = this.browser;
    if (!this.shown) return { width: figure.clientWidth, height: null };
    return lectureRoom(figure.clientWidth, figure.getBoundingClientRect().top);
  }

  // Updates the two lines of text above the figure, or hides them. Call this before the figure is measured, because the
  // lines leave less space for it.
  reflect() {
    const { browser } = this;
    browser.root.classList.toggle("lecture-page", this.shown === "page");
    browser.root.classList.toggle("lecture-figure", this.shown === "figure");
    this.head.hidden = this.shown !== "page";
    if (this.head.hidden) return;
    const { choice, data: { header } } = browser;
    const { kind, shown: { source, target } } = header;
    const title = { encoder: "Encoder", decoder: "Masked", cross: "Cross" }[kind];
    const text = { encoder: source, decoder: target, cross: `${source} → ${target}` }[kind];
    /** @type {(words: string) => void} */
    const say = (words) => this.sentence.replaceChildren(element("b", {}, `${title} attention: `), words);
    say(header.written ? `${source} → ${header.written}` : text);
    // If the text is too long, leave out the source, whose words usually also label the columns.
    const { scrollHeight, clientHeight } = this.sentence;
    if (scrollHeight > clientHeight + 1 && (kind === "cross" || header.written)) say(header.written || target);
    const name = header.names[choice.layer * header.heads + choice.head];
    this.says.replaceChildren(
      element("b", {}, `Layer ${choice.layer + 1}, head ${choice.head + 1}${name ? ` (${name})` : ""}: `), this.lookFor(),
      header.written ? ` (${header.version})` : "");
  }

  // Describes the cell, row or column that is pinned or under the pointer, or else the strongest link.
  lookFor() {
    const { browser } = this;
    const arranged = browser.arranged();
    const selected = browser.selected(arranged);
    const at = this.place(arranged);
    if (!at || browser.hover || selected.rows.size || selected.columns.size) {
      return description(arranged, browser.hover, selected);
    }
    const { row, column } = at;
    return `${entryName(arranged.rows, row, "row")} looks at ${entryName(arranged.columns, column, "column")}: `
      + typeset(arranged.values[row * arranged.columns.length + column], 2);
  }

  /**
   * Returns the strongest link, which is described while the pointer selects nothing. Returns null if a row or column
   * is pinned, or outside lecture mode.
   * @param {Arranged} arranged
   */
  place(arranged) {
    const { browser } = this;
    const { rows, columns } = browser.selected(arranged);
    if (!this.shown || rows.size || columns.size) return null;
    return strongestLink(browser.data.header, arranged);
  }

  /**
   * Moves to the next or previous head, through all layers.
   * @param {number} by
   */
  step(by) {
    const { browser } = this;
    if (this.shown !== "page") return;
    const { layers, heads } = browser.data.header;
    const at = clamped(browser.choice.layer * heads + browser.choice.head + by, layers * heads);
    browser.change({ layer: Math.floor(at / heads), head: at % heads });
  }
}
