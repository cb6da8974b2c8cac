// Writes an SVG document as PDF with jsPDF and svg2pdf.js. The PDF embeds the glyphs that it uses, from fonts whose
// licences allow this.

import "../vendor/jspdf.js";
import "../vendor/svg2pdf.js";
import { directionOf, RIGHT_TO_LEFT } from "../shared/direction.js";
import { element, svgElement } from "../shared/element.js";
import { mount } from "../shared/mount.js";
import { page } from "../shared/page.js";
import { drawingContext } from "../shared/ruler.js";
import { inflated, unframe } from "../shared/wire.js";
import { base64 } from "./base64.js";
/** @import { Server } from "../shared/mount.js" */

const TEXT_FONT = "Source Sans 3";
// The fallback font, for the symbol that stands for a space in tokens, and for scripts that the text font lacks.
const OTHER_FONT = "DejaVu Sans";
const POINTS_PER_PIXEL = 0.75;
const POINTS_PER_MM = 72 / 25.4;
// Text that cannot be written in these fonts becomes an image with this many pixels per CSS pixel.
const TEXT_DENSITY = 6;

/** @typedef {{ family: string, weight: string, data: string }} EmbeddedFont */

class PdfWriter {
  /** @type {Server} */
  server;

  /** @param {Uint8Array<ArrayBuffer>} message the fonts, one after another (pages/ui/components/exporter.py) */
  async show(message) {
    if (page.pdfWriter) return;
    const { header, body } = unframe(message);
    const bytes = new Uint8Array(await inflated(body).arrayBuffer());
    let start = 0;
    const fonts = await Promise.all(/** @type {{ family: string, weight: string, size: number }[]} */ (header.fonts).map(
      async ({ family, weight, size }) => {
        const file = bytes.slice(start, start += size);
        // svg2pdf.js measures text on the page, where it must be as wide as in the PDF.
        document.fonts.add(await new FontFace(family, file, { weight }).load());
        return { family, weight, data: await base64(file) };
      }));
    page.pdfWriter = (root, title) => pdfOf(root, title, fonts);
  }
}

/**
 * Returns an SVG document as PDF.
 * @param {Element} root of an SVG document
 * @param {string} title
 * @param {EmbeddedFont[]} fonts
 * @returns {Promise<ArrayBuffer>}
 */
async function pdfOf(root, title, fonts) {
  const svg = /** @type {SVGSVGElement} */ (document.importNode(root, true));
  const [, , viewWidth, viewHeight] = (svg.getAttribute("viewBox") ?? "").split(" ").map(Number);
  const wide = svg.getAttribute("width") ?? "";
  const width = wide.endsWith("mm") ? parseFloat(wide) * POINTS_PER_MM : viewWidth * POINTS_PER_PIXEL;
  const height = (width * viewHeight) / viewWidth;
  const { jsPDF } = globalThis.jspdf;
  const pdf = new jsPDF({
    unit: "pt", format: [width, height], orientation: width > height ? "landscape" : "portrait", compress: true,
    putOnlyUsedFonts: true,
  });
  for (const { family, weight, data } of fonts) {
    const file = `${family} ${weight}.ttf`;
    pdf.addFileToVFS(file, data);
    pdf.addFont(file, family, "normal", weight === "400" ? "normal" : "bold");
  }
  const letters = new Map(fonts.map(({ family, weight }) => {
    pdf.setFont(family, weight === "400" ? "normal" : "bold");
    return [family, pdf.getFont().metadata.cmap.unicode.codeMap];
  }));
  const experiment = svg.querySelector("metadata");
  experiment?.remove();
  pdf.setProperties({ title, creator: "Attention Atlas", keywords: experiment?.textContent ?? "" });
  // The SVG is attached to the web page so that it can be measured, but outside the visible area.
  const place = element("div", { style: "position: fixed; left: -99999px; top: 0" });
  document.body.append(place);
  place.append(svg);
  try {
    for (const text of [...svg.querySelectorAll("text")]) inEmbeddedFonts(text, letters);
    await pdf.svg(svg, { x: 0, y: 0, width, height });
  } finally {
    place.remove();
  }
  return pdf.output("arraybuffer");
}

/**
 * Assigns every letter a font that contains it. Right-to-left text, and text with a letter that is in neither font,
 * becomes an image drawn by the browser.
 * @param {SVGTextElement} text
 * @param {Map<string, Record<number, number>>} letters code points of each font
 */
function inEmbeddedFonts(text, letters) {
  const bold = Number(getComputedStyle(text).fontWeight) >= 600;
  text.removeAttribute("font-family");
  text.setAttribute("font-weight", bold ? "bold" : "normal");
  const string = text.textContent ?? "";
  /** @type {(family: string) => (letter: string) => boolean} */
  const has = (family) => (letter) => Boolean(letters.get(family)?.[letter.codePointAt(0) ?? 0]);
  const [inText, inOther] = [has(TEXT_FONT), has(OTHER_FONT)];
  const all = [...string];
  // The letters of right-to-left text must be joined and reordered, which only the browser can do.
  if (RIGHT_TO_LEFT.test(string) || !all.every((letter) => inText(letter) || inOther(letter))) {
    text.replaceWith(pictureOf(text));
    return;
  }
  text.setAttribute("font-family", TEXT_FONT);
  if (all.every(inText)) return;
  /** @type {{ family: string, run: string }[]} */
  const runs = [];
  for (const letter of all) {
    const family = inText(letter) ? TEXT_FONT : OTHER_FONT;
    const last = runs.at(-1);
    if (last?.family === family) last.run += letter;
    else runs.push({ family, run: letter });
  }
  text.replaceChildren(...runs.map(({ family, run }) => {
    const span = svgElement("tspan", { "font-family": family }, run);
    if (family === OTHER_FONT) span.setAttribute("font-weight", "normal");
    return span;
  }));
}

/**
 * Returns an image of an SVG text element, with the element's position and size.
 * @param {SVGTextElement} text
 */
function pictureOf(text) {
  const { x, y, width, height } = text.getBBox();
  const style = getComputedStyle(text);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * TEXT_DENSITY) || 1;
  canvas.height = Math.ceil(height * TEXT_DENSITY) || 1;
  const context = drawingContext(canvas);
  context.scale(TEXT_DENSITY, TEXT_DENSITY);
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.fill;
  context.direction = directionOf(text.textContent ?? "");
  context.textAlign = "left";
  context.fillText(text.textContent ?? "", 0, text.getStartPositionOfChar(0).y - y);
  const transform = text.getAttribute("transform");
  return svgElement("image", { x, y, width, height, href: canvas.toDataURL(), ...(transform ? { transform } : {}) });
}

export default mount(PdfWriter);
