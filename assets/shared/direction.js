// Scripts that run from right to left: which way a string runs, and what keeps its parts in order.

// Of Hebrew, Arabic and other scripts that run from right to left.
export const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

export const ARROW = " → ";
// A symbol with what it stands for: its letters are Latin in any text.
export const SYMBOL = /<[^<>\s]+>( [a-z]+)?/g;

/**
 * Which way a string runs: its first letter decides, as in HTML's dir=auto; what leads from one thing to another runs as
 * its arrow does.
 * @param {string} string
 * @returns {"ltr" | "rtl"}
 */
export function directionOf(string) {
  const first = /\p{L}/u.exec(string)?.[0] ?? "";
  return RIGHT_TO_LEFT.test(first) && !string.includes(ARROW) ? "rtl" : "ltr";
}

/**
 * A string to be drawn, in which what runs from right to left stands by itself and reorders nothing around it.
 * @param {string} string
 */
export function isolated(string) {
  if (!RIGHT_TO_LEFT.test(string)) return string;
  const parts = string.replace(SYMBOL, "\u2066$&\u2069").split(ARROW);
  return parts.length === 1 ? parts[0] : parts.map((part) => `\u2068${part}\u2069`).join(ARROW);
}

/**
 * A string within a sentence; one that runs from right to left does not reorder the numbers behind it.
 * @param {string} string
 */
export const apart = (string) => (RIGHT_TO_LEFT.test(string) ? `\u2068${string}\u2069` : string);

/**
 * The same between quotation marks.
 * @param {string} label
 */
export const quote = (label) => `“${apart(label)}”`;

// Where a string lies beside its point, whichever way it runs: what canvas and SVG call start and end depends on that.
/** @type {Record<"start" | "middle" | "end", CanvasTextAlign>} */
export const ALIGN = { start: "left", middle: "center", end: "right" };
export const MIRRORED = { start: "end", middle: "middle", end: "start" };
