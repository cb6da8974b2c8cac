// Builds a picture from text and boxes, which are added from top to bottom.

import { wrapped } from "../shared/ruler.js";
import { PICTURE_EDGE } from "../shared/surface.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { Surface } from "../shared/surface.js" */
/** @import { Picture } from "./svg_file.js" */

export class Sheet {
  /** @type {((surface: Surface) => void)[]} */
  drawn = [];

  /**
   * @param {number} outer width, including the edges, in CSS pixels
   * @param {Theme} theme
   * @param {{ size: number, line: number, gap: number }} sizes font size, line height, and the gap above the first line
   */
  constructor(outer, theme, { size, line, gap }) {
    this.outer = outer;
    this.theme = theme;
    this.width = outer - 2 * PICTURE_EDGE;
    this.size = size;
    this.line = line;
    this.y = gap;
  }

  /**
   * Adds text, wrapped into lines.
   * @param {string} text
   */
  write(text, bold = false) {
    for (const each of wrapped(text, this.width, this.size, bold)) {
      const middle = this.y + this.line / 2;
      this.drawn.push((surface) => surface.text(0, middle, each, { size: this.size, fill: this.theme.text, bold }));
      this.y += this.line;
    }
  }

  /**
   * Adds boxes in reading order, in as many rows as they need.
   * @param {{ wide: number, draw: (surface: Surface, left: number, top: number) => void }[]} boxes
   * @param {number} high
   * @param {number} space between boxes, and between rows
   * @param {"ltr" | "rtl"} direction
   */
  row(boxes, high, space, direction) {
    let x = 0;
    for (const { wide, draw } of boxes) {
      if (x && x + wide > this.width) [x, this.y] = [0, this.y + high + space];
      const [left, top] = [direction === "rtl" ? this.width - x - wide : x, this.y];
      this.drawn.push((surface) => draw(surface, left, top));
      x += wide + space;
    }
    this.y += high;
  }

  /**
   * Returns a picture of everything added so far.
   * @returns {Picture}
   */
  picture(name = "") {
    return {
      geometry: { width: Math.round(this.outer) }, theme: this.theme, end: this.y, name,
      draw: (surface) => surface.moved(PICTURE_EDGE, 0, () => this.drawn.forEach((draw) => draw(surface))),
    };
  }
}
