// Writes a picture as a standalone SVG document, with its caption below it.

import { wrapped } from "../shared/ruler.js";
import { SvgSurface } from "../shared/surface.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { Surface } from "../shared/surface.js" */
/** @import { SaveOptions } from "./save_menu.js" */

// Column width and text width in the ACL's two-column style, in millimetres.
/** @type {Record<string, number>} */
const COLUMNS = { one: 77, two: 160 };
// A picture for a column is laid out with this many CSS pixels per millimetre, so that labels of 13 pixels are 8 points
// high.
const PIXELS_PER_MM = 4.6;
const CAPTION_LINE = 19;
const CAPTION_SIZE = 13;
// If the page's font is not installed, programs show the text of an SVG in another font, such as DejaVu in LibreOffice.
// The text is then wider by up to this factor.
const WIDER_FONT = 1.22;

/**
 * A figure that `draw` draws on a canvas or as SVG; with `vector`, only as SVG. `end` is its height in CSS pixels.
 * `name` is the part of the file name that identifies one of several figures.
 * @typedef {{
 *   geometry: { width: number }, draw: (surface: Surface) => void, end: number, theme: Theme, vector?: boolean, name?:
 * string, }} Picture
 */
/**
 * The text below a picture. `description` and the experiment are not visible; only programs read them.
 * @typedef {{ title: string, sentence: string, notes: string, description: string, experiment?: string }} Caption
 */

/**
 * Returns the width at which a figure is laid out, in CSS pixels; null for its current width.
 * @param {SaveOptions} options
 */
export function layoutWidth({ column }) {
  return column ? Math.round(COLUMNS[column] * PIXELS_PER_MM) : null;
}

/**
 * Draws a picture, its background and its caption.
 * @param {Picture} picture
 * @param {Caption} caption
 * @param {SaveOptions} options
 * @param {(width: number, height: number) => Surface} surfaceOf
 */
export function drawWithCaption({ geometry: { width }, draw, end, theme }, caption, options, surfaceOf) {
  const room = (width - 16) / WIDER_FONT;
  /** @type {{ text: string, bold?: boolean }[]} */
  const lines = !options.caption ? [] : [
    ...wrapped(caption.title, room, CAPTION_SIZE, true).map((text) => ({ text, bold: true })),
    ...[caption.sentence, caption.notes].filter(Boolean)
      .flatMap((part) => wrapped(part, room, CAPTION_SIZE).map((text) => ({ text }))),
  ];
  const height = Math.ceil(end) + (lines.length ? 10 + lines.length * CAPTION_LINE : 0);
  const surface = surfaceOf(width, height);
  if (!options.transparent) surface.rect(0, 0, width, height, theme.background);
  draw(surface);
  lines.forEach(({ text, bold = false }, index) => surface.text(
    8, Math.ceil(end) + (index + 0.5) * CAPTION_LINE, text, { size: CAPTION_SIZE, fill: theme.text, bold }));
  return { surface, width, height };
}

/**
 * Returns the root of an SVG document with a picture and its caption.
 * @param {Picture} picture
 * @param {Caption} caption
 * @param {SaveOptions} options
 */
export function svgFile(picture, caption, options) {
  const { surface, width, height } = drawWithCaption(picture, caption, options,
    (wide, high) => new SvgSurface(wide, high, caption.description));
  const root = /** @type {SvgSurface} */ (surface).document.documentElement;
  if (caption.experiment) {
    const metadata = root.ownerDocument.createElementNS(root.namespaceURI, "metadata");
    metadata.append(caption.experiment);
    root.prepend(metadata);
  }
  if (options.column) {
    const millimetres = COLUMNS[options.column];
    root.setAttribute("width", `${millimetres}mm`);
    root.setAttribute("height", `${+((millimetres * height) / width).toFixed(3)}mm`);
  }
  return root;
}
