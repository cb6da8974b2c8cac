// Registers the figure that a component draws, so that "Save as" (page_figure.js) finds it on the page.

import { themeOf } from "../shared/colours.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { Picture } from "./svg_file.js" */

/**
 * Makes an element a figure that can be saved.
 * @param {HTMLElement} root
 * @param {(width: number, theme: Theme) => Picture | Promise<Picture>} picture
 * @param {{ name?: string, widest?: number }} [options] `name` distinguishes several figures of a
 *   component; `widest` limits the width on the screen, in CSS pixels
 */
export function saveable(root, picture, { name = "", widest = Infinity } = {}) {
  root.dataset.figure = name;
  /**
   * Null means the width or the theme on the screen.
   * @type {(width: number | null, theme: Theme | null) => Picture | Promise<Picture>}
   */
  const asWanted = (width, theme) => picture(width ?? Math.min(root.clientWidth, widest), theme ?? themeOf(root));
  Object.assign(root, { picture: asWanted });
}
