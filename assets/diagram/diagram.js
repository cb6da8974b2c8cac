// Draws the Transformer as boxes that are links to pages. On the first page, the drawing is large and contains three
// attention maps. The user's sentence and its translation are above it, and the path of a chosen word lights up. On the
// page Inside a layer, the boxes are the parts of the model that the page explains.

import { isolatedIfMirrored } from "../shared/direction.js";
import { element, svgElement } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";
import { page } from "../shared/page.js";
import { addressLinks, linksOf, openLinks, pageLink } from "../shared/page_links.js";
import { shortened } from "../shared/ruler.js";
import { SyncedState } from "../shared/synced_state.js";
import { PREFIX_LABEL, largeDrawing, MIN_WIDTH, SIDE_BY_SIDE, STACKED } from "./large_drawing.js";
import { arrow, arrowHead, linkBox, svgText } from "./shapes.js";
import { FIRST_WORD, Story } from "./story.js";
import { before, placesOf } from "./story_links.js";
/** @import { DrawingMessage } from "./large_drawing.js" */
/** @import { SideName, Word } from "./story_links.js" */

/**
 * The current part, and the first stage of each part.
 * @typedef {{ here: string, stages: Record<string, string> }} PartsMessage
 */

// Parts of the model, stacked as in the paper. Each has a name, a label, and its position (x, y).
const PARTS_WIDTH = 330;
const PARTS_HEIGHT = 148;
/** @type {[string, string, number, number][]} */
const PARTS_BOXES = [
  ["encoder.", "Into the encoder", 1, 119],
  ["encoder.self_attention.", "Encoder attention", 1, 90],
  ["encoder.feed_forward.", "Feed-forward", 1, 61],
  ["decoder.", "Into the decoder", 181, 119],
  ["decoder.self_attention.", "Masked attention", 181, 90],
  ["decoder.cross_attention.", "Cross attention", 181, 61],
  ["decoder.feed_forward.", "Feed-forward", 181, 32],
  ["generator.", "To the output", 181, 3],
];
const PARTS_BOX = { width: 148, height: 23 };
// Parts of a language model, which has only one stack.
/** @type {[string, string, number, number][]} */
const PARTS_OF_ONE_STACK = [
  ["decoder.", "Into the model", 91, 119],
  ["decoder.self_attention.", "Masked attention", 91, 83],
  ["decoder.feed_forward.", "Feed-forward", 91, 47],
  ["generator.", "To the next token", 91, 11],
];

/**
 * Returns the shapes of the small drawing: a box for each part of the model, and arrows.
 * @param {PartsMessage} data
 */
function partsDrawing({ stages }) {
  const { width, height } = PARTS_BOX;
  const source = "encoder." in stages;
  const boxes = source ? PARTS_BOXES : PARTS_OF_ONE_STACK;
  const upwards = boxes.filter(([part]) => !["encoder.feed_forward.", "generator."].includes(part));
  const gap = source ? 5 : 12;
  return [
    arrowHead(),
    ...upwards.map(([, , x, y]) => arrow([x + width / 2, y], [x + width / 2, y - gap])),
    ...(source ? [arrow([150, 72.5], [180, 72.5])] : []),
    ...boxes.map(([part, label, x, y]) => {
      const box = linkBox("inside_a_layer", label, { x, y, width, height }, svgText(label, x + width / 2, y + 16));
      Object.assign(box.dataset, { part, stage: stages[part] });
      return box;
    }),
  ];
}

class Diagram extends Component {
  /** @type {DrawingMessage | PartsMessage | undefined} */
  data;
  /** @type {string} the data of the current drawing, as JSON */
  message;
  /** @type {Word} the word that the user has chosen */
  params = FIRST_WORD;
  synced = new SyncedState(this, "params", () => ({ ...this.params }));

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("nav", { class: "diagram" }));
    this.drawing = element("div", { class: "drawing" });
    this.root.append(this.drawing);
    this.story = new Story(pageLink, (word) => this.lead(word), (word) => this.keep(word));
    openLinks(this);
    document.addEventListener("attentionwordcleared", this.clear);
    const resizing = new ResizeObserver(() => this.draw());
    resizing.observe(this.root);
    this.leaving.push(() => resizing.disconnect(), () => this.synced.leave());
  }

  close() {
    page.attentionWord = null;
    document.removeEventListener("attentionwordcleared", this.clear);
    super.close();
  }

  /** @param {DrawingMessage | PartsMessage} data */
  show(data) {
    this.data = data;
    const asked = "kinds" in data && data.asked.number !== this.synced.number ? data.asked : null;
    if (asked) this.synced.take(asked.number, asked.params);
    this.draw();
    if (asked) this.story.choose(this.params);
  }

  clear = () => this.story.keep(null);

  /**
   * Stores the word that the user chose, and sends it to the server.
   * @param {Word | null} word
   */
  keep(word) {
    this.params = word ?? FIRST_WORD;
    this.synced.send();
  }

  draw() {
    const { data } = this;
    if (!data) return;
    // In lecture mode, the drawing may be hidden; its width is then 0.
    const room = this.root.clientWidth || MIN_WIDTH;
    const places = room < MIN_WIDTH ? STACKED : SIDE_BY_SIDE;
    // A change of theme does not redraw the drawing, because its colours follow the theme anyway, and redrawing would
    // lose the focus.
    const message = JSON.stringify([{ ...data, asked: null }, "kinds" in data ? places : null]);
    if (message === this.message) {
      this.story.drawLines();
      return;
    }
    this.message = message;
    const [shapes, width, height, name] = "kinds" in data
      ? [largeDrawing(data, places), places.width, places.height, "The Transformer, part by part"]
      : [partsDrawing(data), PARTS_WIDTH, PARTS_HEIGHT, "The current part of the Transformer"];
    this.root.setAttribute("aria-label", name);
    this.root.classList.toggle("small", !("kinds" in data));
    this.drawing.replaceChildren(svgElement("svg", { viewBox: `0 0 ${width} ${height}`, "data-figure": "" }, ...shapes));
    if ("kinds" in data) {
      this.root.prepend(this.story.root);
      this.story.show(data.story, this.params);
    }
    this.root.classList.toggle("lecture", "kinds" in data && Boolean(data.lecture));
    this.root.classList.toggle("stacked", "kinds" in data && places === STACKED);
    for (const link of linksOf(this.root)) {
      const { part, page } = link.dataset;
      if ((part ?? page) === data.here) link.setAttribute("aria-current", part === undefined ? "page" : "step");
    }
    addressLinks(this.root);
    this.root.dataset.drawn = data.here;
  }

  /**
   * Lights up the path of a chosen word through the drawing, and sends the word to the small maps on the first page.
   * @param {Word | null} word
   */
  lead(word) {
    const { data } = this;
    if (!data || !("kinds" in data)) return;
    const { story } = data;
    const across = word ? story[word.side].across[word.at] : -1;
    /** @type {(side: SideName) => number} */
    const at = (side) => (!word ? -1 : word.side === side ? word.at : across);
    /** @type {(said: string | null, whole: string) => string} */
    const label = (said, whole) => {
      if (said === "before") return at("target") < 0 ? whole : (data.lecture ? "" : PREFIX_LABEL) + isolatedIfMirrored(before(data.target, story.target.words, at("target")));
      const side = said === "source" ? "source" : "target";
      return at(side) < 0 ? whole : story[side].words[at(side)];
    };
    this.root.dataset.way = word && across >= 0 ? word.side : "";
    for (const line of this.root.querySelectorAll("[data-said]")) {
      const whole = line.querySelector("title")?.textContent ?? "";
      const said = line.getAttribute("data-said");
      if (line.firstChild) line.firstChild.nodeValue = shortened(label(said, whole), SIDE_BY_SIDE.longest, 15, said !== "before");
    }
    page.attentionWord = word ? { label: story[word.side].words[word.at], places: placesOf(story, word) } : null;
    document.dispatchEvent(new Event("attentionword"));
    addressLinks(this.root);
  }
}

export default mount(Diagram);
