// The Transformer as a large drawing: the reader's sentence, its translation, and three maps of its attention.

/**
 * What is shown of a kind of attention.
 * @typedef {{ title: string, subtitle: string, head: string, map: string, rows: number, columns: number }} AttentionBox
 */
/**
 * @typedef {{ here: string, source: string, target: string, layers: { encoder: number, decoder: number }, large: boolean,
 *   languages: { source: string, target: string },
 *   kinds: { encoder: AttentionBox, decoder: AttentionBox, cross: AttentionBox } }} DrawingMessage
 */

// Large: columns of the encoder and the decoder, read from the bottom up; beside each other, or, on a telephone, the
// decoder on top. Down says how far below its place beside the decoder the encoder stands, and over the way out of it to
// the decoder's cross-attention: from the left, or around the outside of both.
const COLUMN = 360;
const ENCODER_LEFT = 40;
/**
 * @typedef {{ width: number, height: number, decoderLeft: number, down: number, over: [number, number][], longest: number }} Places
 */
/** @type {Places} */
const SIDE_BY_SIDE = { width: 940, height: 424, decoderLeft: 540, down: 0, over: [[470, 196], [470, 174], [539, 174]], longest: 440 };
/** @type {Places} */
const STACKED = { width: 440, height: 700, decoderLeft: ENCODER_LEFT, down: 276, over: [[424, 472], [424, 174], [401, 174]],
  longest: 400 };
// In CSS pixels; with less room they are stacked.
const LEAST_ROOM = 620;
const MAP = 64;
const ATTENTION = 76;
// The size of type in a lecture: twenty points on a screen of 1024 pixels.
const HALL = 25.6;

/**
 * A box of attention: a real map, what looks at what, and which head it is.
 * @param {string} page
 * @param {number} left
 * @param {number} top
 * @param {AttentionBox} shown
 */
function attentionBox(page, left, top, { title, subtitle, head, map, rows, columns }, large = false) {
  // Cells are square: the longer side fills the place.
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
 * A sentence as one line, cut where it is too long.
 * @param {string} string
 * @param {number} left
 * @param {number} top
 * @param {string} style
 * @param {number} size of its type
 * @param {number} longest
 */
function sentenceLine(string, left, top, style, size, longest) {
  const shown = shortened(string.replace(/\s+/g, " "), longest, size, style === "title");
  const line = svgText(shown, left + COLUMN / 2, top, style);
  line.setAttribute("direction", directionOf(string));
  line.append(svgElement("title", {}, string));
  return line;
}

/**
 * @param {DrawingMessage} data
 * @param {Places} places
 */
function largeDrawing({ source, target, languages, kinds, layers, large }, { decoderLeft, down, over, longest }) {
  const size = large ? HALL : 15;
  const words = large ? { half: "Feed-forward", next: "Which word is next?", in: "Words + their order", far: "" }
    : { half: "Feed-forward, add & norm", next: "Which word comes next? (linear, softmax)", in: "Words as numbers + their order",
      far: "written so far: " };
  const middle = { encoder: ENCODER_LEFT + COLUMN / 2, decoder: decoderLeft + COLUMN / 2 };
  /** @type {(left: number, top: number, bottom: number, count: number) => Node} */
  const frame = (left, top, bottom, count) => svgElement("g", {},
    svgElement("rect", { class: "stack", x: left - 14, y: top, width: COLUMN + 28, height: bottom - top, rx: 12 }),
    svgText(`${count} ×`, left === ENCODER_LEFT ? left - 26 : left + COLUMN + 26, (top + bottom) / 2, "title"));
  const layer = "One layer, number by number";
  /** @type {(left: number, top: number) => Node} */
  const half = (left, top) => barBox("inside_a_layer", layer, left, top, 28, words.half);
  const encoder = [
    svgText(`Encoder: reads ${languages.source}`, middle.encoder, 178, "title"), frame(ENCODER_LEFT, 190, 330, layers.encoder),
    arrow([middle.encoder, 392], [middle.encoder, 378]), arrow([middle.encoder, 350], [middle.encoder, 321]),
    arrow([middle.encoder, 242], [middle.encoder, 231]),
    attentionBox("encoder_attention", ENCODER_LEFT, 243, kinds.encoder, large), half(ENCODER_LEFT, 202),
    barBox("positional_encoding", "Positional encoding", ENCODER_LEFT, 350, 28, words.in),
    sentenceLine(source, ENCODER_LEFT, large ? 415 : 408, "title", size, longest),
  ];
  return [
    arrowHead(),
    svgElement("g", { transform: `translate(0 ${down})` }, ...encoder),
    arrow([middle.encoder, 202 + down], [middle.encoder, 196 + down], ...over),
    svgText(`Decoder: writes ${languages.target}`, middle.decoder, large ? 32 : 14, "title"),
    frame(decoderLeft, 88, 330, layers.decoder),
    // Up the decoder.
    arrow([middle.decoder, 392], [middle.decoder, 378]), arrow([middle.decoder, 350], [middle.decoder, 321]),
    arrow([middle.decoder, 242], [middle.decoder, 215]), arrow([middle.decoder, 136], [middle.decoder, 126]),
    arrow([middle.decoder, 98], [middle.decoder, 81]), arrow([middle.decoder, 53], [middle.decoder, 42]),
    attentionBox("masked_attention", decoderLeft, 243, kinds.decoder, large),
    attentionBox("cross_attention", decoderLeft, 137, kinds.cross, large), half(decoderLeft, 98),
    barBox("decoding", "Decoding step by step", decoderLeft, 53, 28, words.next),
    barBox("positional_encoding", "Positional encoding", decoderLeft, 350, 28, words.in),
    // In a lecture, both sentences stand above the drawing.
    ...(large ? [] : [sentenceLine(target, decoderLeft, 36, "title", size, longest)]),
    sentenceLine(words.far + apart(target), decoderLeft, large ? 415 : 408, "", size, longest),
  ];
}
