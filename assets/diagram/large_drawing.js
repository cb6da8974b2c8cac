// The large drawing of the Transformer, with the user's sentence, its translation, and three attention maps.

import { isolatedIfMirrored, directionOf } from "../shared/direction.js";
import { svgElement } from "../shared/element.js";
import { shortened } from "../shared/ruler.js";
import { arrow, arrowHead, linkBox, svgText } from "./shapes.js";
/** @import { StoryMessage, Word } from "./story_links.js" */

/**
 * The texts in an attention box of the drawing, and the image of its attention map, with its numbers of cells.
 * @typedef {{ title: string, subtitle: string, head: string, map: string, rows: number, columns: number }} AttentionBox
 */
/**
 * @typedef {{ here: string, source: string, target: string, layers: { encoder: number, decoder: number }, lecture?: boolean,
 *   norm: "pre" | "post", story: StoryMessage, asked: { number: number, params: Word },
 *   languages: { source: string, target: string },
 *   kinds: { encoder: AttentionBox, decoder: AttentionBox, cross: AttentionBox } }} DrawingMessage
 */

// The large drawing has a column for the encoder and one for the decoder, both read from the bottom up. The columns are
// side by side or, on a phone, stacked with the decoder on top. `down` is how much lower the encoder is drawn in the
// stacked drawing. `aside` is the x position of the path from the encoder to the decoder's cross-attention: between the
// columns, or to the right of both.
const COLUMN = 360;
const ENCODER_LEFT = 40;
/** @typedef {{ width: number, height: number, decoderLeft: number, down: number, aside: number, longest: number }} Places */
/** @type {Places} */
export const SIDE_BY_SIDE = { width: 940, height: 530, decoderLeft: 540, down: 0, aside: 470, longest: 440 };
/** @type {Places} */
export const STACKED = { width: 440, height: 880, decoderLeft: ENCODER_LEFT, down: 350, aside: 424, longest: 400 };
// The bottom of the frame around a layer, and the height that a sub-layer needs beyond its box. The extra height is for
// the norm and the residual connection.
const BOTTOM = 436;
const LAYER_MARGIN = 48;
const BAR = 28;
// Below this width, in CSS pixels, the columns are stacked.
export const MIN_WIDTH = 620;
const MAP = 64;
const ATTENTION = 76;
// Label in front of the text that the decoder reads.
export const PREFIX_LABEL = "written so far: ";
// The font size in lecture mode: twenty points on a screen that is 1024 pixels wide.
const LECTURE_FONT_SIZE = 25.6;

/**
 * Returns the box of an attention sub-layer, with the map and the name of one of its heads.
 * @param {string} page
 * @param {number} left
 * @param {number} top
 * @param {AttentionBox} shown
 */
function attentionBox(page, left, top, { title, subtitle, head, map, rows, columns }, large = false) {
  // Cells are square, and the map's longer side fills the available length.
  const side = MAP / Math.max(rows, columns);
  const [width, height] = [columns * side, rows * side];
  return linkBox(page, `${title}: ${subtitle}`, { x: left, y: top, width: COLUMN, height: ATTENTION },
    svgElement("image", { href: map, x: left + 8 + (MAP - width) / 2, y: top + 6 + (MAP - height) / 2, width, height,
      preserveAspectRatio: "none" }),
    ...(large ? [
      svgText(title, left + MAP + 22, top + 32, "title", "start"),
      svgText(head.replace(/:.*/, ""), left + MAP + 22, top + 62, "", "start"),
    ] : [
      svgText(title, left + MAP + 22, top + 24, "title", "start"),
      svgText(subtitle, left + MAP + 22, top + 44, "", "start"),
      svgText(head, left + MAP + 22, top + 63, "quiet", "start"),
    ]));
}

/**
 * Returns a link in the form of a bar with a label.
 * @param {string} page
 * @param {string} name
 * @param {number} left
 * @param {number} top
 * @param {number} height
 * @param {string} label
 */
function barBox(page, name, left, top, height, label) {
  return linkBox(page, name, { x: left, y: top, width: COLUMN, height },
    svgText(label, left + COLUMN / 2, top + height / 2, "centred"));
}

/**
 * Returns a sentence as one line of text, shortened if it is wider than `longest`.
 * @param {string} string
 * @param {number} left
 * @param {number} top
 * @param {string} style
 * @param {number} size of the font
 * @param {number} longest
 * @param {string} side the text that replaces the sentence after a choice: "source" or "target" for the chosen word in
 *   that sentence, "before" for the words before the chosen target word
 */
function sentenceLine(string, left, top, style, size, longest, side = "") {
  const shown = shortened(string.replace(/\s+/g, " "), longest, size, style === "title");
  const line = svgText(shown, left + COLUMN / 2, top, style);
  line.setAttribute("direction", directionOf(string));
  line.append(svgElement("title", {}, string));
  if (side) line.setAttribute("data-said", side);
  return line;
}

/**
 * Returns the shapes of a layer norm. In lecture mode the list is empty, because the label would be too small to read.
 * @param {number} middle
 * @param {number} y
 * @param {boolean} large
 */
function normPill(middle, y, large) {
  return large ? [] : [svgElement("rect", { class: "norm", x: middle - 26, y: y - 7, width: 52, height: 14, rx: 7 }),
    svgText("norm", middle, y + 3.5, "norm")];
}

/**
 * Returns the shapes of a layer: its sub-layers from the bottom up, each with its residual connection. A norm precedes
 * each sub-layer or, in post-norm models, follows each addition. A pre-norm stack also ends with a norm. Norms are
 * drawn last, over the arrows.
 * @param {number} left
 * @param {DrawingMessage} data
 * @param {[number, (top: number) => Node][]} parts height and box of each sub-layer
 * @param {number} count number of layers
 */
function layerOf(left, { norm, lecture: large = false }, parts, count) {
  const middle = left + COLUMN / 2;
  const shapes = [];
  const norms = [];
  const tops = [];
  let from = BOTTOM + 20;
  let y = BOTTOM;
  for (const [part, [height, box]] of parts.entries()) {
    const bottom = norm === "pre" ? y - 28 : y - 12;
    const top = bottom - height;
    const sum = top - 11;
    const pill = norm === "pre" ? y - 17 : top - 27;
    shapes.push(svgElement("g", { class: `way part-${part}` },
      arrow([middle, from], [middle, bottom]), arrow([middle, top], [middle, sum + 7]),
      arrow([middle, y - 6], [left - 7, y - 6], [left - 7, sum], [middle - 7, sum])),
      svgElement("circle", { class: "sum", cx: middle, cy: sum, r: 7 }),
      svgElement("path", { class: "arrow", d: `M${middle - 4} ${sum}h8M${middle} ${sum - 4}v8` }),
      box(top));
    norms.push(...normPill(middle, pill, large));
    tops.push(top);
    from = sum - 7;
    y -= height + LAYER_MARGIN;
  }
  if (norm === "pre") norms.push(...normPill(middle, y - 13, large));
  const frame = svgElement("g", {},
    svgElement("rect", { class: "stack", x: left - 14, y, width: COLUMN + 28, height: BOTTOM - y, rx: 12 }),
    svgText(`${count} ×`, left === ENCODER_LEFT ? left - 26 : left + COLUMN + 26, (y + BOTTOM) / 2, "title"));
  return { shapes: [frame, ...shapes], norms, tops, top: y, out: from };
}

/**
 * Removes a box from the Tab order, because another box has the same link.
 * @param {SVGElement} box
 */
function again(box) {
  box.setAttribute("tabindex", "-1");
  return box;
}

/**
 * Groups arrows that light up when a word is chosen.
 * @param {SVGElement} arrows
 */
const way = (arrows) => svgElement("g", { class: "way" }, arrows);

/**
 * Returns all shapes of the large drawing.
 * @param {DrawingMessage} data
 * @param {Places} places
 */
export function largeDrawing(data, { decoderLeft, down, aside, longest }) {
  const { source, target, languages, kinds, layers, lecture: large } = data;
  const size = large ? LECTURE_FONT_SIZE : 15;
  const words = large ? { next: "Which word is next?", in: "Words + their order", far: "" }
    : { next: "Which word comes next? (linear, softmax)", in: "Word vectors + positions", far: PREFIX_LABEL };
  const middle = { encoder: ENCODER_LEFT + COLUMN / 2, decoder: decoderLeft + COLUMN / 2 };
  /** @type {(left: number, mark?: (box: SVGElement) => SVGElement) => [number, (top: number) => Node]} */
  const half = (left, mark = (each) => each) => [BAR, (top) => (
    mark(barBox("inside_a_layer", "One layer, number by number", left, top, BAR, "Feed-forward")))];
  /** @type {(page: string, left: number, shown: AttentionBox) => [number, (top: number) => Node]} */
  const attention = (page, left, shown) => [ATTENTION, (top) => attentionBox(page, left, top, shown, large)];
  const reads = layerOf(ENCODER_LEFT, data, [attention("encoder_attention", ENCODER_LEFT, kinds.encoder), half(ENCODER_LEFT)],
    layers.encoder);
  const writes = layerOf(decoderLeft, data, [attention("masked_attention", decoderLeft, kinds.decoder),
    attention("cross_attention", decoderLeft, kinds.cross), half(decoderLeft, again)], layers.decoder);
  const encoder = [
    svgText(`Encoder: reads ${languages.source}`, middle.encoder, reads.top - 36, "title"), ...reads.shapes,
    way(arrow([middle.encoder, BOTTOM + 64], [middle.encoder, BOTTOM + 49])),
    barBox("positional_encoding", "Positional encoding", ENCODER_LEFT, BOTTOM + 20, BAR, words.in),
    sentenceLine(source, ENCODER_LEFT, BOTTOM + (large ? 85 : 78), "title", size, longest, "source"),
  ];
  const across = writes.tops[1] + ATTENTION / 2;
  const next = writes.top - 56;
  // In lecture mode, the stacked drawing has no room for this text.
  const direction = large && down ? [] : [svgText("Read upwards ↑", 4, large ? next - 24 : next - 39, "quiet", "start")];
  return [
    arrowHead(), ...direction,
    svgElement("g", { transform: `translate(0 ${down})` }, ...encoder),
    way(arrow([middle.encoder, reads.out + down], [middle.encoder, reads.top - 27 + down], [aside, reads.top - 27 + down],
      [aside, across], [down ? decoderLeft + COLUMN + 1 : decoderLeft - 1, across])),
    svgElement("g", { transform: `translate(0 ${down})` }, ...reads.norms),
    svgText(`Decoder: writes ${languages.target}`, middle.decoder, large ? next - 24 : next - 39, "title"),
    svgElement("g", { class: "decoder" }, ...writes.shapes),
    arrow([middle.decoder, BOTTOM + 64], [middle.decoder, BOTTOM + 49]),
    way(arrow([middle.decoder, writes.out], [middle.decoder, next + BAR + 1])), ...writes.norms,
    way(arrow([middle.decoder, next], [middle.decoder, next - 11])),
    barBox("decoding", "Decoding step by step", decoderLeft, next, BAR, words.next),
    again(barBox("positional_encoding", "Positional encoding", decoderLeft, BOTTOM + 20, BAR, words.in)),
    // In lecture mode, the larger heading leaves no room for the translation, which is above the drawing anyway.
    ...(large ? [] : [sentenceLine(target, decoderLeft, next - 17, "title", size, longest, "target")]),
    sentenceLine(words.far + isolatedIfMirrored(target), decoderLeft, BOTTOM + (large ? 85 : 78), "", size, longest, "before"),
  ];
}
