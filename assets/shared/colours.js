// Colour scales, the colours of the theme, and readable text colours.

import { element } from "./element.js";
import { PALETTE } from "./palette.js";
import { drawingContext } from "./ruler.js";

/**
 * Red, green and blue, 0 to 255.
 * @typedef {number[]} Colour
 */

/** @type {Record<string, string[]>} */
export const PALETTES = PALETTE.sequential;
export const HEAD_COLOURS = PALETTE.heads;
export const MASKED_COLOUR = PALETTE.masked;
// Frames in CHOSEN_COLOUR have a contrast of at least 3 : 1 in both themes, and text in CHOSEN_TEXT has at least
// 4.5 : 1 in its own theme (WCAG 2.2, 1.4.11 and 1.4.3).
export const CHOSEN_COLOUR = "#ea580c";
const CHOSEN_TEXT = { onLight: "#c2410c", onDark: "#f97316" };
export const SHADES = 256;
// The colour scales that users can choose. Differences have their own scale.
export const SCALES = ["0 to 1", "each head its own", "square root"];

/** @type {(colour: string) => Colour} */
const channels = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

/**
 * Returns the 256 colours of a sequential palette, or of the diverging palette for any other name, such as
 * "difference".
 * @param {string} palette
 * @returns {Colour[]}
 */
export function shadesOf(palette) {
  const stops = (PALETTES[palette] ?? PALETTE.diverging).map(channels);
  return Array.from({ length: SHADES }, (_, shade) => {
    const at = (shade / (SHADES - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((value, i) => Math.round(value + (stops[low + 1][i] - value) * (at - low)));
  });
}

/**
 * Returns the position of a weight on the colour scale, 0 to 1.
 * @param {number} value
 * @param {string} scale
 * @param {number} largest the head's largest weight
 */
export function onScale(value, scale, largest) {
  if (scale === "square root") return Math.sqrt(value);
  if (scale === "each head its own") return largest > 0 ? value / largest : 0;
  if (scale === "difference") return largest > 0 ? (value / largest + 1) / 2 : 0.5;
  return value;
}

/**
 * Returns the weight at a position on the colour scale: the inverse of `onScale`.
 * @param {number} place
 * @param {string} scale
 * @param {number} largest the head's largest weight
 */
export function fromScale(place, scale, largest) {
  if (scale === "square root") return place * place;
  if (scale === "each head its own") return place * largest;
  if (scale === "difference") return (place * 2 - 1) * largest;
  return place;
}

/** @type {(colour: Colour) => string} */
export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;

/**
 * Returns the text colour that is easier to read on a background: dark or light.
 * @param {Colour} colour
 */
export function inkOn(colour) {
  return isLight(colour) ? PALETTE.dark : PALETTE.light;
}

/**
 * Returns whether a colour is light, by its relative luminance (WCAG 2).
 * @param {Colour | Uint8ClampedArray} colour
 */
export function isLight([r, g, b]) {
  const linear = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18;
}

/**
 * Returns the red, green, blue and opacity of any CSS colour.
 * @param {string} colour
 */
export function canvasColour(colour) {
  const probe = drawingContext(new OffscreenCanvas(1, 1), { willReadFrequently: true });
  probe.fillStyle = colour;
  probe.fillRect(0, 0, 1, 1);
  return probe.getImageData(0, 0, 1, 1).data;
}

/**
 * Creates an element with two CSS properties: --shade, the colour of a value from 0 to 1, and --ink, a text colour that
 * is readable on it.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, any>} attributes
 * @param {Colour[]} shades
 * @param {number} value
 * @param {(Node | string)[]} children
 */
export function tintedElement(name, attributes, shades, value, ...children) {
  const shade = shades[Math.round(Math.min(1, Math.max(0, value)) * (SHADES - 1))];
  const made = element(name, attributes, ...children);
  made.style.setProperty("--shade", css(shade));
  made.style.setProperty("--ink", inkOn(shade));
  return made;
}

/** @typedef {ReturnType<typeof themeNamed>} Theme */

// The colours of the light theme (.streamlit/config.toml), under the names that Streamlit gives them in a page.
export const LIGHT_THEME = {
  "--st-background-color": "#ffffff", "--st-secondary-background-color": "#f1f4f9", "--st-text-color": "#0f172a",
  "--st-border-color": "#cbd5e1", "--st-code-text-color": "#0f172a", "--st-primary-color": "#1d4ed8",
};

export const lightTheme = () => themeNamed((name) => LIGHT_THEME[name]);

/**
 * Returns the page's current colours, light or dark.
 * @param {Element} root
 */
export function themeOf(root) {
  const style = getComputedStyle(root);
  return themeNamed((name) => style.getPropertyValue(name).trim() || LIGHT_THEME[name]);
}

/**
 * Returns a theme whose colours are looked up by name.
 * @param {(name: keyof typeof LIGHT_THEME) => string} named returns the colour with the given name
 */
function themeNamed(named) {
  const background = named("--st-background-color");
  const probe = drawingContext(new OffscreenCanvas(1, 1), { willReadFrequently: true });
  probe.fillStyle = background;
  probe.fillRect(0, 0, 1, 1);
  const chosen = isLight(probe.getImageData(0, 0, 1, 1).data) ? CHOSEN_TEXT.onLight : CHOSEN_TEXT.onDark;
  probe.globalAlpha = 0.3;
  probe.fillStyle = MASKED_COLOUR;
  probe.fillRect(0, 0, 1, 1);
  return {
    background,
    chosen,
    text: named("--st-text-color"),
    primary: named("--st-primary-color"),
    border: named("--st-border-color"),
    /** @type {Colour} */
    masked: Array.from(probe.getImageData(0, 0, 1, 1).data.slice(0, 3)),
  };
}
