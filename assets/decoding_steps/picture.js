// A step of decoding as a picture that can be saved: the tokens written, the candidates, and the attention.

import { Sheet } from "../figures/sheet.js";
import { CHOSEN_COLOUR, css, inkOn, SHADES } from "../shared/colours.js";
import { shortened, textWidth } from "../shared/ruler.js";
import { rowsOfStep } from "./attention_rows.js";
import { candidatesOf, probabilityOf, sentenceOfStep } from "./translation.js";
/** @import { Colour, Theme } from "../shared/colours.js" */
/** @import { Step, StepsParams, Translation } from "./translation.js" */

// Sizes in CSS pixels: fonts, lines, token boxes, the spaces in and between them, and the candidates' columns and bars.
const STEP_PICTURE = { size: 14, small: 12, line: 20, box: 38, inside: 8, space: 5, gap: 14, bar: 16, name: 120, number: 56 };

/**
 * Returns a step as a picture: tokens, candidates and attention from top to bottom.
 * @param {Translation} translation
 * @param {StepsParams} params
 * @param {number} width
 * @param {Theme} theme
 * @param {Colour[]} shades
 */
export function stepPicture(translation, params, width, theme, shades) {
  const { step } = params;
  const { steps, read, languages } = translation;
  const sheet = new Sheet(width, theme, STEP_PICTURE);
  sheet.write("Tokens written, coloured by their probability", true);
  const written = { labels: steps.map(({ out }) => out), weights: steps.map(({ logProb }) => Math.exp(logProb)) };
  drawTokens(sheet, { ...written, direction: languages.target.direction }, shades, step);
  sheet.write(`Step ${step + 1} of ${steps.length}: in: ${read[translation.before + step]} → out: ${steps[step].out}`, true);
  sheet.write(sentenceOfStep(translation, step));
  sheet.y += STEP_PICTURE.gap;
  sheet.write("Candidates: probability of the next token", true);
  drawCandidates(sheet, steps[step]);
  for (const row of rowsOfStep(translation, params)) {
    sheet.write(row.title, true);
    drawTokens(sheet, row, shades);
  }
  return sheet.picture(`step-${step + 1}`);
}

/**
 * Draws each token in a box whose colour shows its weight, with the weight as a number below the label.
 * @param {Sheet} sheet
 * @param {{ labels: string[], weights: number[], direction: "ltr" | "rtl" }} row weights from 0 to 1
 * @param {Colour[]} shades
 * @param {number} [current] index of the current token; the tokens after it are hollow
 */
function drawTokens(sheet, { labels, weights, direction }, shades, current) {
  const { size, small, box, inside, space, gap } = STEP_PICTURE;
  sheet.y += space;
  sheet.row(weights.map((value, index) => {
    const label = shortened(labels[index], sheet.width - 2 * inside, size);
    const number = value.toFixed(2);
    const wide = Math.max(textWidth(label, size), textWidth(number, small)) + 2 * inside;
    const shade = shades[Math.round(Math.min(1, value) * (SHADES - 1))];
    const hollow = current !== undefined && index > current;
    const fill = hollow ? sheet.theme.text : inkOn(shade);
    return { wide, draw: (surface, left, top) => {
      if (!hollow) surface.rect(left, top, wide, box, css(shade));
      surface.frame(left + 1, top + 1, wide - 2, box - 2, index === current ? CHOSEN_COLOUR : css(shade), 2);
      surface.text(left + wide / 2, top + 13, label, { size, fill, anchor: "middle" });
      surface.text(left + wide / 2, top + 28, number, { size: small, fill, anchor: "middle" });
    } };
  }), box, space, direction);
  sheet.y += gap;
}

/**
 * Draws the candidates of a step, each with a bar for its probability.
 * @param {Sheet} sheet
 * @param {Step} step
 */
function drawCandidates(sheet, step) {
  const { size, line, bar, name, number, gap } = STEP_PICTURE;
  const room = Math.max(20, sheet.width - name - number);
  for (const [token, label, logProb] of candidatesOf(step)) {
    const top = sheet.y;
    const style = { size, fill: sheet.theme.text, bold: token === step.id };
    sheet.drawn.push((surface) => {
      surface.text(0, top + line / 2, shortened(label, name - 8, size, token === step.id), style);
      surface.rect(name, top + (line - bar) / 2, room, bar, sheet.theme.border);
      surface.rect(name, top + (line - bar) / 2, room * Math.exp(logProb), bar, sheet.theme.primary);
      surface.text(sheet.width, top + line / 2, probabilityOf(logProb), { ...style, anchor: "end" });
    });
    sheet.y += line + 2;
  }
  sheet.y += gap;
}
