// Saves a picture as a file that the browser writes without the server.

import { element } from "../shared/element.js";
import { page } from "../shared/page.js";
import { pngFile } from "./png_file.js";
import { svgFile } from "./svg_file.js";
/** @import { SaveOptions } from "./save_menu.js" */
/** @import { Caption, Picture } from "./svg_file.js" */

/**
 * Saves a picture with its caption in the chosen format.
 * @param {string} format one of PICTURES (save_menu.js)
 * @param {string} name the file's name without its extension
 * @param {Picture} picture
 * @param {Caption} caption
 * @param {SaveOptions} options
 */
export async function savePicture(format, name, picture, caption, options) {
  if (format === "SVG") {
    const text = new XMLSerializer().serializeToString(svgFile(picture, caption, options));
    saveFile(`${name}.svg`, "image/svg+xml", text);
  } else if (format === "PDF") {
    if (!page.writePdf) throw new Error("The PDF writer has not arrived from the server yet; try again in a moment.");
    const pdf = await page.writePdf(svgFile(picture, caption, options), caption.title);
    saveFile(`${name}.pdf`, "application/pdf", pdf);
  } else {
    const density = Number(format.match(/\d/)?.[0] ?? 1);
    saveFile(`${name}.png`, "image/png", await pngFile(picture, caption, options, density));
  }
}

/**
 * Downloads the content as a file.
 * @param {string} name
 * @param {string} type
 * @param {BlobPart} content
 */
export function saveFile(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
