// The text beside the figures of an attention browser. It describes the cell, row or column under the pointer; if there
// is none, the pinned cell, row or column. It lists all heads by their weight in the pinned cell, largest first.

import { keepingFocus } from "../shared/controls.js";
import { quote } from "../shared/direction.js";
import { element } from "../shared/element.js";
import { typeset } from "../shared/numbers.js";
import { page } from "../shared/page.js";
import { term } from "../shared/terms.js";
import { arrangementName, entryName } from "./arrangement.js";
import { legendOf } from "./grid.js";
import { pinnedCell } from "./pins.js";
import { description, OVERVIEW_HINTS, notesOf, rankedHeads, cellSentence } from "./readout.js";
import { byWeight, namedLinks, sentenceOfLinks, titleOfLinks, wordLinks } from "./word_links.js";
/** @import { Arranged, Pinned, Place } from "./arrangement.js" */
/** @import { AttentionBrowser } from "./attention_browser.js" */
/** @import { Head } from "./grid.js" */
/** @import { WordLink, WordLinks } from "./word_links.js" */

export class Description {
  /** @param {AttentionBrowser} browser */
  constructor(browser) {
    this.browser = browser;
    this.lit = element("p", { class: "lit", hidden: true });
    this.legend = element("p", { class: "legend" });
    this.readout = element("p", { class: "readout" });
    this.note = element("span", { class: "note" });
    this.best = element("button", { type: "button", class: "best", hidden: true }, "Show that head");
    this.noteLine = element("p", { class: "note-line" }, this.note, " ", this.best);
    this.ranking = element("div", { class: "ranking", hidden: true });
    this.spoken = element("p", { class: "spoken", "aria-live": "polite" });
  }

  // Describes the cell, row or column that is pinned or under the pointer, and says how the numbers were processed.
  reflect() {
    const { browser } = this;
    const { choice, data, hoveredHead, metric } = browser;
    const place = hoveredHead ?? choice;
    const arranged = browser.arranged(place.layer, place.head);
    const selected = browser.selected(arranged);
    const at = hoveredHead ?? browser.hover;
    const value = metric?.values[place.layer * data.header.heads + place.head] ?? null;
    const number = metric === null || value === null ? "" : `, ${metric.name}: ${typeset(value, 2)} (${metric.unit})`;
    const name = data.header.names[place.layer * data.header.heads + place.head];
    const head = element("strong", {}, `Layer ${place.layer + 1}, head ${place.head + 1}${name ? `: ${name}` : ""}`);
    const sentence = hoveredHead || !data.header.glance
      ? [head, `${number}. ${this.describeLarge(arranged, at, selected)}`]
      : browser.chooses() ? [head, ". Enter opens it."] : [OVERVIEW_HINTS[browser.input.kind]];
    this.readout.replaceChildren(...sentence);
    const pinned = pinnedCell(selected);
    const ranked = rankedHeads(data, choice, pinned);
    const { links } = browser;
    const word = browser.word();
    const [best = null] = links ? namedLinks(links) : at ? rankedHeads(data, choice, at) : ranked;
    this.note.textContent = [...notesOf(choice, selected),
      ...(links ? [sentenceOfLinks(browser.arranged(), word, links)] : best ? [`This cell's largest ${arranged.signed ? "change" : "weight"}: layer ${best.layer + 1}, head ${best.head + 1} (${best.weight}).`] : []),
    ].join(" ");
    if (data.header.glance) this.describeLitHeads();
    this.legend.textContent = legendOf(data.header);
    if (!data.header.glance) this.rank(pinned, ranked, data.header.quiet ? null : wordLinks(data, choice, pinned));
    // The button opens the strongest head for the pinned cell, not for the cell under the pointer.
    const elsewhere = Boolean(hoveredHead) || (at !== null && (at.row !== pinned.row || at.column !== pinned.column));
    this.best.hidden = elsewhere || !best || (best.layer === choice.layer && best.head === choice.head);
    this.best.onclick = () => {
      if (!best) return;
      browser.change({ layer: best.layer, head: best.head });
      // The button disappears, so the focus moves to the grid, where arrow keys continue from that head.
      browser.grid.focus({ preventScroll: true });
    };
  }

  // Explains why some small maps are faded, and offers a button that restores them.
  describeLitHeads() {
    const label = page.attentionWord?.label;
    const key = JSON.stringify([label, this.browser.links?.lit]);
    if (key === this.lit.dataset.key) return;
    this.lit.dataset.key = key;
    this.lit.hidden = false;
    if (label === undefined) this.lit.replaceChildren("Each small map is one ", term("head", "head"), ".");
    else if (!this.browser.links) this.lit.replaceChildren(`${quote(label)} is in the other sentence, so all `, term("heads", "head"), " are shown.");
    else {
      const clear = element("button", { type: "button", onclick: () => document.dispatchEvent(new Event("attentionwordcleared")) }, "Show all");
      this.lit.replaceChildren("The ", term("heads", "head"), ` where ${quote(label)} stands out are not faded. `, clear);
    }
  }

  /**
   * Describes the cell, row or column that is pinned or under the pointer. In a lesson, a pinned cell is not described
   * until the user has answered the question about it.
   * @param {Arranged} arranged
   * @param {Place | null} at
   * @param {Pinned} selected
   */
  describeLarge(arranged, at, selected) {
    const { browser } = this;
    return browser.data.header.quiet && (!at || at === browser.hoveredHead) ? cellSentence(arranged, {}, browser.invitation())
      : description(arranged, at, selected, browser.invitation());
  }

  /**
   * Lists all heads by their weight from the pinned row to the pinned column. If only a word is pinned, lists its links,
   * the largest weight first. A click on an entry opens its head.
   * @param {Place} pinned
   * @param {ReturnType<typeof rankedHeads>} ranked
   * @param {WordLinks | null} links
   */
  rank(pinned, ranked, links) {
    const { browser } = this;
    const { choice, data } = browser;
    const { id, version } = data.header;
    const listed = links ? byWeight(links.strongest) : ranked;
    const key = JSON.stringify([id, version, listed.map(({ weight }) => weight), arrangementName(choice), pinned, choice.layer, choice.head]);
    this.ranking.hidden = !listed.length;
    if (!listed.length || key === this.ranking.dataset.key) return;
    this.ranking.dataset.key = key;
    const { rows, columns, signed } = browser.arranged();
    const title = links ? titleOfLinks(browser.arranged(), pinned)
      : `${signed ? "In which head did the weight" : "Which head looks"} from ${entryName(rows, pinned.row ?? 0, "row")} to ${entryName(columns, pinned.column ?? 0, "column")}${signed ? " change most" : ""}?`;
    /** @type {(link: Head & Place) => string} */
    const other = ({ row, column }) => (!links ? "" : `${pinned.row === undefined ? rows[row ?? 0].label : columns[column ?? 0].label}: `);
    /** @type {(link: Partial<WordLink>) => string} */
    const usually = ({ usual }) => (usual === undefined ? "" : `, usually ${typeset(usual, 2)}`);
    const items = listed.map((link) => {
      const { layer, head, weight } = link;
      const name = data.header.names[layer * data.header.heads + head];
      return element("li", {}, element("button", {
        type: "button", "aria-pressed": String(layer === choice.layer && head === choice.head),
        onclick: () => browser.change({ layer, head }),
      }, `${other(link)}Layer ${layer + 1}, head ${head + 1}${name ? ` (${name})` : ""}: ${weight}${usually(link)}`));
    });
    keepingFocus(this.ranking, "button", () =>
      this.ranking.replaceChildren(element("p", {}, title, ...(links ? [" ", term("?", "usual weight")] : [])),
        element("ol", {}, ...items)));
  }

  // Announces the current choice to screen readers.
  say() {
    const { browser } = this;
    const { choice } = browser;
    const arranged = browser.arranged();
    this.spoken.textContent = `Layer ${choice.layer + 1}, head ${choice.head + 1}: `
      + this.describeLarge(arranged, browser.hover, browser.selected(arranged));
    const links = browser.data.header.quiet ? null : wordLinks(browser.data, choice, browser.word());
    if (links) this.spoken.textContent += ` ${sentenceOfLinks(arranged, browser.word(), links)}`;
  }
}
