// Writes a picture as PNG.

import { element } from "../shared/element.js";
import { drawingContext } from "../shared/ruler.js";
import { CanvasSurface } from "../shared/surface.js";
import { fromBase64 } from "./base64.js";
import { drawWithCaption, svgFile } from "./svg_file.js";
/** @import { SaveOptions } from "./save_menu.js" */
/** @import { Caption, Picture } from "./svg_file.js" */

/**
 * Returns a picture with its caption as a PNG file.
 * @param {Picture} picture
 * @param {Caption} caption
 * @param {SaveOptions} options
 * @param {number} density pixels per CSS pixel
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function pngFile(picture, caption, options, density) {
  const canvas = document.createElement("canvas");
  if (picture.vector) {
    await paint(canvas, svgFile(picture, caption, options), density);
  } else {
    drawWithCaption(picture, caption, options, (width, height) => new CanvasSurface(canvas, width, height, density));
  }
  // `toDataURL` encodes at once. `toBlob` would wait until the browser is idle, up to seven seconds in Chromium.
  const png = canvas.toDataURL().split(",")[1];
  if (!png) throw new Error(`A picture of ${canvas.width} x ${canvas.height} pixels is too large: save it as SVG.`);
  return caption.experiment ? withText(fromBase64(png), `Comment\0${caption.experiment}`) : fromBase64(png);
}

/**
 * Returns a PNG file with an additional tEXt chunk. `text` begins with a keyword and a null byte (PNG specification).
 * @param {Uint8Array} png
 * @param {string} text ASCII
 */
function withText(png, text) {
  const chunk = new Uint8Array(text.length + 12);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, text.length);
  chunk.set(new TextEncoder().encode(`tEXt${text}`), 4);
  view.setUint32(chunk.length - 4, checksum(chunk.subarray(4, -4)));
  const found = new Uint8Array(png.length + chunk.length);
  // The last chunk has 12 bytes and ends the file.
  found.set(png.subarray(0, -12));
  found.set(chunk, png.length - 12);
  found.set(png.subarray(-12), found.length - 12);
  return found;
}

/**
 * Returns the CRC-32 of some bytes.
 * @param {Uint8Array} bytes
 */
function checksum(bytes) {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

/**
 * Paints an SVG document. Its text is painted separately, because an image cannot use the page's fonts.
 * @param {HTMLCanvasElement} canvas
 * @param {Element} root
 * @param {number} density
 */
async function paint(canvas, root, density) {
  const svg = /** @type {SVGSVGElement} */ (document.importNode(root, true));
  const { width, height } = svg.viewBox.baseVal;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  const context = drawingContext(canvas);
  const place = element("div", { style: "position: fixed; left: -99999px; top: 0" });
  document.body.append(place);
  place.append(svg);
  try {
    const texts = [...svg.querySelectorAll("text")];
    const paintTexts = texts.map((text) => textPainter(text, density));
    for (const text of texts) text.remove();
    svg.setAttribute("width", String(canvas.width));
    svg.setAttribute("height", String(canvas.height));
    context.drawImage(await imageOf(svg), 0, 0, canvas.width, canvas.height);
    for (const paintText of paintTexts) paintText(context);
  } finally {
    place.remove();
  }
}

/**
 * Returns a drawing as an image that is ready to be painted.
 * @param {SVGSVGElement} svg
 */
async function imageOf(svg) {
  const address = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    return image;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/**
 * Returns a function that paints a text element. The element must be on the page when `textPainter` is called, but not
 * when the text is painted.
 * @param {SVGTextElement} text
 * @param {number} density
 * @returns {(context: CanvasRenderingContext2D) => void}
 */
function textPainter(text, density) {
  const matrix = text.getCTM() ?? new DOMMatrix();
  const { fill } = getComputedStyle(text);
  let opacity = 1;
  for (let node = /** @type {Element | null} */ (text); node; node = node.parentElement) {
    opacity *= Number(getComputedStyle(node).opacity);
  }
  /** @type {{ string: string, font: string, x: number, y: number }[]} */
  const runs = [];
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let at = 0; walker.nextNode();) {
    const string = walker.currentNode.textContent ?? "";
    if (at < text.getNumberOfChars()) {
      const { x, y } = text.getStartPositionOfChar(at);
      const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(walker.currentNode.parentElement ?? text);
      runs.push({ string, font: `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`, x, y });
    }
    at += string.length;
  }
  return (context) => {
    context.setTransform(density, 0, 0, density, 0, 0);
    context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f);
    Object.assign(context, { fillStyle: fill, globalAlpha: opacity });
    for (const { string, font, x, y } of runs) {
      context.font = font;
      context.fillText(string, x, y);
    }
  };
}
