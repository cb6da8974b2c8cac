// Numbers on the screen, with the minus sign of mathematics; files have the hyphen, which programs read.

/**
 * @param {string} number
 */
export const withMinus = (number) => number.replaceAll("-", "−");

/**
 * A number with so many decimals; what they do not tell from 0 has no sign.
 * @param {number} value
 * @param {number} digits
 */
export const typeset = (value, digits) => withMinus(value.toFixed(digits).replace(/^-(?=[0.]*$)/, ""));
