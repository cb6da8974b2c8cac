// Formats numbers. On the screen, they have the mathematical minus sign; in files, they have a hyphen, because
// programs expect one.

/**
 * Replaces the hyphens in a number with minus signs.
 * @param {string} number
 */
export const withMinus = (number) => number.replaceAll("-", "−");

/**
 * Formats a number with `digits` decimals. A number that is rounded to 0 has no sign.
 * @param {number} value
 * @param {number} digits
 */
export const typeset = (value, digits) => withMinus(value.toFixed(digits).replace(/^-(?=[0.]*$)/, ""));
