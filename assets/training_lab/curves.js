// Plots the losses and one score per head against the training step, in panels that share the step axis.

import { LABEL_SIZE, SMALL_SIZE } from "../attention_browser/map_geometry.js";
import { CHOSEN_COLOUR } from "../shared/colours.js";
import { PALETTE } from "../shared/palette.js";
import { shortened, textWidth } from "../shared/ruler.js";
import { SCORE_NAMES } from "./film.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { Surface, TextStyle } from "../shared/surface.js" */
/** @import { Film, FilmHeader, FilmKind, FilmView } from "./film.js" */

const LOSS_COLOURS = { training: PALETTE.series[0], "held out": PALETTE.pair[0] };
/** @type {Record<FilmKind, { colour: string, name: string }>} */
export const KIND_LINES = {
  encoder: { colour: PALETTE.heads[0], name: "encoder" }, decoder: { colour: PALETTE.heads[2], name: "masked" },
  cross: { colour: PALETTE.heads[1], name: "cross" },
};
// Lengths in a figure whose labels are LABEL_SIZE high; lecture mode enlarges the whole figure.
export const CURVES_LEFT = 48;
export const CURVES_RIGHT = 92;
const CURVES_TOP = 36;
const PANEL = 100;
const LECTURE_PANEL = 44;
const PANEL_GAP = 26;
const CURVES_FOOT = 24;
const LABEL_LINE = 14;
// Losses below this value are drawn at this value.
const LOWEST_LOSS = 1e-4;
// Upper end of the entropy axis, as a multiple of the highest entropy.
const HEADROOM = 1.05;

/**
 * A line: its name, its style and its points. A point's second number is null if the value is missing.
 * @typedef {{ name: string, colour: string, thickness: number, opacity: number, points: [number, number | null][] }} Curve
 */
/** @typedef {{ title: string, log: boolean, low: number, high: number, curves: Curve[] }} CurvePanel */
/** @typedef {ReturnType<typeof curvesGeometry>} CurvesGeometry */

/**
 * Returns the geometry of the panels.
 * @param {number} width
 * @param {boolean} lecture whether only the losses are shown
 */
export function curvesGeometry(width, lecture) {
  const panel = lecture ? LECTURE_PANEL : PANEL;
  const tops = lecture ? [CURVES_TOP] : [CURVES_TOP, CURVES_TOP + panel + PANEL_GAP];
  return { left: CURVES_LEFT, right: width - CURVES_RIGHT, tops, panel, width,
    height: tops[tops.length - 1] + panel + (lecture ? 20 : CURVES_FOOT) };
}

/**
 * Returns the step at a point of the figure.
 * @param {CurvesGeometry} geometry
 * @param {number} x
 * @param {number} steps number of training steps
 */
export function stepAt({ left, right }, x, steps) {
  return Math.round(Math.min(1, Math.max(0, (x - left) / (right - left))) * steps);
}

/**
 * Returns two panels: the losses, and the scores of the heads.
 * @param {Film} film
 * @param {FilmView} view
 * @returns {CurvePanel[]}
 */
export function panelsOf(film, view) {
  const { header } = film;
  /** @type {(values: (number | null)[]) => [number, number | null][]} */
  const overSnapshots = (values) => values.map((value, index) => [header.at[index], value]);
  const score = film.scoreOf(view);
  const entropy = score === "entropy";
  /** @type {Curve[]} */
  const heads = header.maps.flatMap(({ kind }) => {
    const { colour, name } = KIND_LINES[kind];
    const chosen = film.headOf(kind, view);
    return Array.from({ length: film.headCount }, (_, head) => ({
      name: film.headCount > 1 ? `${name} ${head + 1}` : name, colour,
      thickness: head === chosen ? 2.5 : 1.2, opacity: head === chosen ? 1 : 0.7,
      points: overSnapshots(header.scores[score][kind].map((values) => values[head])),
    }));
  }).filter(({ points }) => points.some(([, value]) => value !== null));
  /** @type {(loss: number) => number} */
  const drawn = (loss) => Math.max(loss, LOWEST_LOSS);
  const heldOut = header.heldOut.map(drawn);
  const training = header.losses.map(([, loss]) => drawn(loss));
  const losses = [...training, ...heldOut];
  const highest = Math.max(...heads.flatMap(({ points }) => points.map(([, value]) => value ?? 0)), 0.1);
  return [
    {
      title: "loss (nats per token, log scale)", log: true, low: Math.min(...losses) / 1.15, high: Math.max(...losses) * 1.15,
      curves: [
        { name: "training", colour: LOSS_COLOURS.training, thickness: 1.2, opacity: 1,
          points: header.losses.map(([step], index) => [step, training[index]]) },
        { name: "held out", colour: LOSS_COLOURS["held out"], thickness: 2.5, opacity: 1,
          points: overSnapshots(heldOut) },
      ],
    },
    {
      title: entropy ? "entropy of every head, nats" : `${SCORE_NAMES[score]} score of every head, and share of correct answers`,
      log: false, low: 0, high: entropy ? highest * HEADROOM : 1,
      curves: entropy ? heads : [
        ...heads,
        ...(header.learned ? [{ name: "training items", colour: LOSS_COLOURS.training, thickness: 2.5, opacity: 1,
          points: overSnapshots(header.learned) }] : []),
        { name: "right answers", colour: "", thickness: 2.5, opacity: 1, points: overSnapshots(header.exact) },
      ],
    },
  ];
}

/**
 * Returns the numbers to mark on an axis.
 * @param {CurvePanel} panel
 */
export function marksOf({ log, low, high }) {
  if (!log) return high === 1 ? [0, 0.5, 1] : roundMarks(high, 4);
  const factors = high / low > 300 ? [1] : high / low > 12 ? [1, 3] : [1, 2, 5];
  const marks = [-4, -3, -2, -1, 0, 1].flatMap((power) => factors.map((factor) => factor * 10 ** power));
  return marks.filter((mark) => mark >= low && mark <= high);
}

/**
 * Returns equally spaced round numbers from 0 up to `highest`.
 * @param {number} highest
 * @param {number} most maximum number of marks, not counting 0
 */
export function roundMarks(highest, most) {
  const rough = highest / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const by = [1, 2, 5].map((factor) => factor * power).find((each) => each >= rough) ?? 10 * power;
  return Array.from({ length: Math.floor(highest / by) + 1 }, (_, number) => number * by);
}

/**
 * Returns 0 and at most five more round step numbers.
 * @param {number} steps
 */
export const stepMarks = (steps) => roundMarks(steps, Math.min(5, steps));

/**
 * Returns label positions close to `places`, in the same order and, if there is room, at least `apart` from each other.
 * @param {number[]} places
 * @param {number} top
 * @param {number} bottom
 * @param {number} apart
 */
export function spreadLabels(places, top, bottom, apart) {
  const order = places.map((_, index) => index).sort((a, b) => places[a] - places[b]);
  const fitting = Math.min(apart, (bottom - top) / Math.max(1, places.length - 1));
  /** @type {number[]} */
  const spreadOut = [];
  order.forEach((index, rank) => {
    spreadOut[index] = Math.max(places[index], rank ? spreadOut[order[rank - 1]] + fitting : top);
  });
  let most = bottom;
  for (const index of order.reverse()) {
    spreadOut[index] = Math.min(spreadOut[index], most);
    most = spreadOut[index] - fitting;
  }
  return spreadOut;
}

/**
 * Draws the panels, with a line at the training step that is shown.
 * @param {Surface} surface
 * @param {CurvesGeometry} geometry
 * @param {{ film: Film, view: FilmView, theme: Theme }} figure
 */
export function drawCurves(surface, geometry, { film, view, theme }) {
  const { header } = film;
  const { left, right, tops, panel: high } = geometry;
  /** @type {(step: number) => number} */
  const across = (step) => left + (step / header.steps) * (right - left);
  /** @type {(panel: CurvePanel, top: number) => (value: number) => number} */
  const down = ({ log, low, high: most }, top) => (value) => {
    const share = log ? Math.log(value / low) / Math.log(most / low) : (value - low) / (most - low);
    return top + (1 - share) * high;
  };
  const stepsMarked = stepMarks(header.steps);
  const cursor = across(header.at[film.indexOf(view)]);
  /** @type {TextStyle} */
  const ink = { size: SMALL_SIZE, fill: theme.text };
  panelsOf(film, view).slice(0, tops.length).forEach((panel, index) => {
    const top = tops[index];
    const place = down(panel, top);
    surface.text(left, top - 12, shortened(panel.title, right - left, LABEL_SIZE), { size: LABEL_SIZE, fill: theme.text });
    drawMarks(surface, marksOf(panel), place, geometry, theme);
    for (const step of stepsMarked) surface.line(across(step), top, across(step), top + high, theme.border, 1, 0.5);
    for (const { step } of header.events) surface.line(across(step), top, across(step), top + high, theme.text, 1, 0.45);
    for (const { points, colour, thickness, opacity } of panel.curves) {
      for (let at = 1; at < points.length; at++) {
        const [[from, before], [to, now]] = [points[at - 1], points[at]];
        if (before === null || now === null) continue;
        surface.line(across(from), place(before), across(to), place(now), colour || theme.text, thickness, opacity);
      }
    }
    drawCurveNames(surface, panel.curves, place, { top, bottom: top + high, x: right + 6 }, theme);
    surface.line(cursor, top - 4, cursor, top + high + 4, CHOSEN_COLOUR, 2);
  });
  const bottom = tops[tops.length - 1] + high;
  for (const step of stepsMarked) surface.text(across(step), bottom + 12, String(step), { ...ink, anchor: "middle" });
  surface.text(right + 20, bottom + 12, "step", ink);
  drawEventNumbers(surface, header, across, tops[0] - 28, theme);
}

/**
 * Draws a line across a panel at each of the marked numbers, with the number on its left.
 * @param {Surface} surface
 * @param {number[]} marks
 * @param {(value: number) => number} place
 * @param {{ left: number, right: number }} room
 * @param {Theme} theme
 */
export function drawMarks(surface, marks, place, { left, right }, theme) {
  for (const mark of marks) {
    surface.line(left, place(mark), right, place(mark), theme.border, 1, 0.8);
    surface.text(left - 6, place(mark), String(+mark.toPrecision(2)), { size: SMALL_SIZE, fill: theme.text, anchor: "end" });
  }
}

/**
 * Writes each line's name next to the line's last point.
 * @param {Surface} surface
 * @param {Curve[]} curves
 * @param {(value: number) => number} place
 * @param {{ top: number, bottom: number, x: number }} room
 * @param {Theme} theme
 */
function drawCurveNames(surface, curves, place, { top, bottom, x }, theme) {
  const named = curves.flatMap((curve) => {
    const last = curve.points.findLast(([, value]) => value !== null);
    return last ? [{ curve, y: place(/** @type {number} */ (last[1])) }] : [];
  });
  // If there is no room for all names, only thick lines are named.
  const crowded = named.length > (bottom - top) / LABEL_LINE + 1;
  const shown = crowded ? named.filter(({ curve }) => curve.thickness > 2) : named;
  const places = spreadLabels(shown.map(({ y }) => y), top, bottom, LABEL_LINE);
  shown.forEach(({ curve: { name, colour, thickness } }, index) => {
    surface.rect(x, places[index] - 1.5, 10, 3, colour || theme.text);
    surface.text(x + 14, places[index], name, { size: SMALL_SIZE, fill: theme.text, bold: thickness > 2 });
  });
}

/**
 * Draws each event's number, as in the list of events.
 * @param {Surface} surface
 * @param {FilmHeader} header
 * @param {(step: number) => number} across
 * @param {number} y
 * @param {Theme} theme
 */
function drawEventNumbers(surface, { events }, across, y, theme) {
  let end = -Infinity;
  events.forEach(({ step }, index) => {
    const text = String(index + 1);
    const half = textWidth(text, SMALL_SIZE, true) / 2;
    const x = Math.max(across(step), end + half + 3);
    end = x + half;
    surface.text(x, y, text, { size: SMALL_SIZE, fill: theme.text, anchor: "middle", bold: true });
  });
}
