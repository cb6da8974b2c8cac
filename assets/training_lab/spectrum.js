// Draws the Fourier spectrum of the number embeddings at a step of a training run, with a bar for each frequency.

import { LABEL_SIZE, SMALL_SIZE } from "../attention_browser/map_geometry.js";
import { PALETTE } from "../shared/palette.js";
import { shortened, textWidth } from "../shared/ruler.js";
import { CURVES_LEFT, CURVES_RIGHT, drawMarks, roundMarks } from "./curves.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { Surface, TextStyle } from "../shared/surface.js" */

const SPECTRUM_TOP = 30;
const SPECTRUM_BARS = 84;
const SPECTRUM_FOOT = 24;
export const SPECTRUM_TITLE = "Fourier spectrum of the number embeddings: norm of each frequency";
// The width of a bar as a share of the distance between bars.
const BAR_SHARE = 0.7;
// Number of frequencies that the description lists.
const NAMED_FREQUENCIES = 5;

/** @typedef {ReturnType<typeof spectrumGeometry>} SpectrumGeometry */

/**
 * Returns the geometry of the spectrum. Its bars begin and end where the curves do.
 * @param {number} width
 */
export function spectrumGeometry(width) {
  return { left: CURVES_LEFT, right: width - CURVES_RIGHT, top: SPECTRUM_TOP, bars: SPECTRUM_BARS, width,
    height: SPECTRUM_TOP + SPECTRUM_BARS + SPECTRUM_FOOT };
}

/**
 * Returns a string that lists the frequencies with the largest norms, each with its norm.
 * @param {number[]} spectrum a snapshot's norms, from frequency 1
 */
export function largestFrequencies(spectrum) {
  const order = spectrum.map((_, index) => index).sort((a, b) => spectrum[b] - spectrum[a]);
  return order.slice(0, NAMED_FREQUENCIES).map((index) => `${index + 1} (${spectrum[index].toFixed(2)})`).join(", ");
}

/**
 * Draws the spectrum of a snapshot.
 * @param {Surface} surface
 * @param {SpectrumGeometry} geometry
 * @param {{ spectra: number[][], index: number, theme: Theme }} figure spectra of all snapshots, and the shown index
 */
export function drawSpectrum(surface, { left, right, top, bars, width }, { spectra, index, theme }) {
  /** @type {TextStyle} */
  const ink = { size: SMALL_SIZE, fill: theme.text };
  // All snapshots share one scale, so that users see frequencies grow and shrink.
  const highest = Math.max(...spectra.flat());
  const spectrum = spectra[index];
  const room = (right - left) / spectrum.length;
  const every = Math.max(1, Math.ceil((1.2 * textWidth(String(spectrum.length), SMALL_SIZE)) / room));
  /** @type {(norm: number) => number} */
  const place = (norm) => top + (1 - norm / highest) * bars;
  surface.text(left, top - 12, shortened(SPECTRUM_TITLE, width - left, LABEL_SIZE), { size: LABEL_SIZE, fill: theme.text });
  drawMarks(surface, roundMarks(highest, 4), place, { left, right }, theme);
  spectrum.forEach((norm, at) => {
    const middle = left + (at + 0.5) * room;
    surface.rect(middle - (BAR_SHARE * room) / 2, place(norm), BAR_SHARE * room, top + bars - place(norm), PALETTE.series[1]);
    if ((at + 1) % every === 0) surface.text(middle, top + bars + 12, String(at + 1), { ...ink, anchor: "middle" });
  });
  surface.text(right + 8, top + bars + 12, "frequency", ink);
}
