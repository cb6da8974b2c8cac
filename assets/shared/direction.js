// Finds the direction of a string, and keeps the order of its parts in right-to-left scripts.

// Letters of Hebrew, Arabic and other scripts that run from right to left.
export const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

export const ARROW = " → ";
// Matches a special symbol and any explanatory word after it. Both are in Latin letters, whatever the text's language.
export const SYMBOL = /<[^<>\s]+>( [a-z]+)?/g;

/**
 * Returns the direction of a string. The first letter decides, as in HTML's dir=auto. A string with an arrow
 * runs from left to right, like the arrow.
 * @param {string} string
 * @returns {"ltr" | "rtl"}
 */
export function directionOf(string) {
  const first = /\p{L}/u.exec(string)?.[0] ?? "";
  return RIGHT_TO_LEFT.test(first) && !string.includes(ARROW) ? "rtl" : "ltr";
}

/**
 * Prepares a string for drawing: isolates symbols and the two sides of an arrow, so that right-to-left letters do not
 * reorder them.
 * @param {string} string
 */
export function isolated(string) {
  if (!RIGHT_TO_LEFT.test(string)) return string;
  const parts = string.replace(SYMBOL, "\u2066$&\u2069").split(ARROW);
  return parts.length === 1 ? parts[0] : parts.map((part) => `\u2068${part}\u2069`).join(ARROW);
}

/**
 * Returns a string for use within a sentence. A right-to-left string is isolated, so that it does not reorder the
 * numbers after it.
 * @param {string} string
 */
export const isolatedIfMirrored = (string) => (RIGHT_TO_LEFT.test(string) ? `\u2068${string}\u2069` : string);

/**
 * Returns the string in quotation marks, isolated if it contains right-to-left letters.
 * @param {string} label
 */
export const quote = (label) => `“${isolatedIfMirrored(label)}”`;

// Text alignment at a point, whatever the reading direction. In canvas and SVG, the meaning of start and end depends on
// the reading direction.
/** @type {Record<"start" | "middle" | "end", CanvasTextAlign>} */
export const ALIGN = { start: "left", middle: "center", end: "right" };
export const MIRRORED = { start: "end", middle: "middle", end: "start" };
