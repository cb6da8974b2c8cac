// Formats numbers. On the screen, they have the mathematical minus sign; in files, a hyphen, because programs expect
// it.

/**
 * Replaces the hyphens of a number by minus signs.
 * @param {string} number
 */
export const withMinus = (number) => number.replaceAll("-", "−");

/**
 * Returns a number with this many decimals. A number that is rounded to 0 has no sign.
 * @param {number} value
 * @param {number} digits
 */
export const typeset = (value, digits) => withMinus(value.toFixed(digits).replace(/^-(?=[0.]*$)/, ""));
