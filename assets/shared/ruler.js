// Measures text in the page's font, and shortens it to fit.

import { ARROW, SYMBOL } from "./direction.js";

export const FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif';

/**
 * Returns a canvas's 2D context, for measuring and drawing.
 * @template {HTMLCanvasElement | OffscreenCanvas} Canvas
 * @param {Canvas} canvas
 * @param {CanvasRenderingContext2DSettings} [settings]
 * @returns {Canvas extends HTMLCanvasElement ? CanvasRenderingContext2D : OffscreenCanvasRenderingContext2D}
 */
export function drawingContext(canvas, settings) {
  const context = canvas.getContext("2d", settings);
  if (!context) throw new Error("This browser cannot draw on a canvas; use a current Chrome, Firefox or Safari.");
  return /** @type {any} */ (context);
}

const ruler = drawingContext(new OffscreenCanvas(1, 1));

/**
 * Returns the width of a text in CSS pixels.
 * @param {string} string
 * @param {number} size
 * @param {boolean} bold
 */
export function textWidth(string, size, bold = false) {
  ruler.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  return ruler.measureText(string).width;
}

/**
 * Returns the distance from a text's middle down to its baseline, in CSS pixels. SVG has an attribute for centring
 * text, dominant-baseline, but few programs support it, while all support dy.
 * @param {number} size
 * @param {boolean} bold
 */
export function middleShift(size, bold) {
  ruler.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  const [above, below] = /** @type {CanvasTextBaseline[]} */ (["alphabetic", "middle"]).map((baseline) => {
    ruler.textBaseline = baseline;
    return ruler.measureText("x").actualBoundingBoxAscent;
  });
  return above - below;
}

/**
 * Returns the string, cut in the middle if it is wider than `width` pixels. The two sides of an arrow are cut
 * separately.
 * @param {string} string
 * @param {number} width
 * @param {number} size
 * @param {boolean} bold
 * @returns {string}
 */
export function shortened(string, width, size, bold = false) {
  if (textWidth(string, size, bold) <= width) return string;
  const [from, to] = string.split(ARROW);
  if (to) {
    const room = width - textWidth(ARROW, size, bold);
    const [first, second] = [from, to].map((part) => textWidth(part, size, bold));
    // The side with priority gets the room that it needs, up to a limit; the other side gets the rest. A side with a
    // symbol has priority, because part of a symbol means nothing; otherwise, the shorter side does. The limit is 3/4
    // of the room for a side with a symbol, and 1/2 for a side without.
    const [fromMost, toMost] = [from, to].map((part) => (part.search(SYMBOL) < 0 ? room / 2 : 0.75 * room));
    const fromRoom = fromMost > toMost || (fromMost === toMost && first < second)
      ? Math.min(first, fromMost) : room - Math.min(second, toMost);
    return `${shortened(from, fromRoom, size, bold)}${ARROW}${shortened(to, room - fromRoom, size, bold)}`;
  }
  const words = string.split(" ");
  // In a text of more than four words, whole words are left out.
  for (let remaining = words.length - 1; words.length > 4 && remaining > 1; remaining--) {
    const front = Math.ceil(remaining / 2);
    const cut = [...words.slice(0, front), "…", ...words.slice(words.length - (remaining - front))].join(" ");
    if (textWidth(cut, size, bold) <= width) return cut;
  }
  const characters = Array.from(string);
  for (let remaining = characters.length - 1; remaining > 1; remaining--) {
    const front = Math.ceil(remaining / 2);
    const cut = characters.slice(0, front).join("") + "…" + characters.slice(characters.length - (remaining - front)).join("");
    if (textWidth(cut, size, bold) <= width) return cut;
  }
  return "…";
}

/**
 * Returns the string as lines of at most `width` pixels. Lines are broken between words, or within a word that is wider
 * than a line.
 * @param {string} string
 * @param {number} width
 * @param {number} size
 * @param {boolean} bold
 */
export function wrapped(string, width, size, bold = false) {
  const lines = [];
  let line = "";
  for (const word of string.split(/\s+/)) {
    const longer = `${line} ${word}`.trim();
    if (textWidth(longer, size, bold) <= width) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    line = "";
    for (const character of word) {
      if (textWidth(line + character, size, bold) > width) {
        lines.push(line);
        line = "";
      }
      line += character;
    }
  }
  return [...lines, line];
}
