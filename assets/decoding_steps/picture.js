// A step of decoding as a picture that can be saved: what was written, what else it could have been, where it looked.

import { CHOSEN_COLOUR, css, inkOn, SHADES } from "../shared/colours.js";
import { shortened, textWidth, wrapped } from "../shared/ruler.js";
import { PICTURE_EDGE } from "../shared/surface.js";
import { rowsOfStep } from "./attention_rows.js";
import { candidatesOf, probabilityOf, sentenceOfStep } from "./translation.js";
/** @import { Picture } from "../figures/svg_file.js" */
/** @import { Colour, Theme } from "../shared/colours.js" */
/** @import { Surface } from "../shared/surface.js" */
/** @import { Step, StepsParams, Translation } from "./translation.js" */

// In CSS pixels: type, lines, and the boxes of pieces with what is inside and between them.
const STEP_PICTURE = { size: 14, small: 12, line: 20, box: 38, inside: 8, space: 5, gap: 14, bar: 16, name: 120, number: 56 };

/**
 * What is drawn, each below what came before.
 * @typedef {{ y: number, width: number, theme: Theme, shades: Colour[], drawn: ((surface: Surface) => void)[] }} Sheet
 */

/**
 * @param {Translation} translation
 * @param {StepsParams} params
 * @param {number} width
 * @param {Theme} theme
 * @param {Colour[]} shades
 * @returns {Picture}
 */
export function stepPicture(translation, params, width, theme, shades) {
  const { step } = params;
  const { steps, read, languages } = translation;
  /** @type {Sheet} */
  const sheet = { y: STEP_PICTURE.gap, width: width - 2 * PICTURE_EDGE, theme, shades, drawn: [] };
  writeLines(sheet, "Pieces written, coloured by their probability", true);
  const written = { labels: steps.map(({ out }) => out), weights: steps.map(({ logProb }) => Math.exp(logProb)) };
  drawPieces(sheet, { ...written, direction: languages.target.direction }, step);
  writeLines(sheet, `Step ${step + 1} of ${steps.length}: in: ${read[translation.before + step]} → out: ${steps[step].out}`, true);
  writeLines(sheet, sentenceOfStep(translation, step));
  sheet.y += STEP_PICTURE.gap;
  writeLines(sheet, "What else it could have been: probability of the next piece", true);
  drawCandidates(sheet, steps[step]);
  for (const row of rowsOfStep(translation, params)) {
    writeLines(sheet, row.title, true);
    drawPieces(sheet, row);
  }
  const { drawn, y } = sheet;
  return {
    geometry: { width: Math.round(width) }, theme, end: y, name: `step-${step + 1}`,
    draw: (surface) => surface.moved(PICTURE_EDGE, 0, () => drawn.forEach((draw) => draw(surface))),
  };
}

/**
 * @param {Sheet} sheet
 * @param {string} text
 */
function writeLines(sheet, text, bold = false) {
  const { size, line } = STEP_PICTURE;
  for (const each of wrapped(text, sheet.width, size, bold)) {
    const middle = sheet.y + line / 2;
    sheet.drawn.push((surface) => surface.text(0, middle, each, { size, fill: sheet.theme.text, bold }));
    sheet.y += line;
  }
}

/**
 * Pieces on the colours of their numbers, which stand below them; they run as they are read.
 * @param {Sheet} sheet
 * @param {{ labels: string[], weights: number[], direction: "ltr" | "rtl" }} row weights from 0 to 1
 * @param {number} [current] that is framed; those after it are hollow
 */
function drawPieces(sheet, { labels, weights, direction }, current) {
  const { size, small, box, inside, space, gap } = STEP_PICTURE;
  const most = sheet.width - 2 * inside;
  let x = 0;
  sheet.y += space;
  weights.forEach((value, index) => {
    const label = shortened(labels[index], most, size);
    const number = value.toFixed(2);
    const wide = Math.max(textWidth(label, size), textWidth(number, small)) + 2 * inside;
    if (x && x + wide > sheet.width) [x, sheet.y] = [0, sheet.y + box + space];
    const [left, top] = [direction === "rtl" ? sheet.width - x - wide : x, sheet.y];
    const shade = sheet.shades[Math.round(Math.min(1, value) * (SHADES - 1))];
    const hollow = current !== undefined && index > current;
    const fill = hollow ? sheet.theme.text : inkOn(shade);
    sheet.drawn.push((surface) => {
      if (!hollow) surface.rect(left, top, wide, box, css(shade));
      surface.frame(left + 1, top + 1, wide - 2, box - 2, index === current ? CHOSEN_COLOUR : css(shade), 2);
      surface.text(left + wide / 2, top + 13, label, { size, fill, anchor: "middle" });
      surface.text(left + wide / 2, top + 28, number, { size: small, fill, anchor: "middle" });
    });
    x += wide + space;
  });
  sheet.y += box + gap;
}

/**
 * @param {Sheet} sheet
 * @param {Step} step
 */
function drawCandidates(sheet, step) {
  const { size, line, bar, name, number, gap } = STEP_PICTURE;
  const room = Math.max(20, sheet.width - name - number);
  for (const [piece, label, logProb] of candidatesOf(step)) {
    const top = sheet.y;
    const style = { size, fill: sheet.theme.text, bold: piece === step.id };
    sheet.drawn.push((surface) => {
      surface.text(0, top + line / 2, shortened(label, name - 8, size, piece === step.id), style);
      surface.rect(name, top + (line - bar) / 2, room, bar, sheet.theme.border);
      surface.rect(name, top + (line - bar) / 2, room * Math.exp(logProb), bar, sheet.theme.primary);
      surface.text(sheet.width, top + line / 2, probabilityOf(logProb), { ...style, anchor: "end" });
    });
    sheet.y += line + 2;
  }
  sheet.y += gap;
}
