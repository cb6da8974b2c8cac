// Draws one head as a large map: each row is a query, and each column is a key.

import { CHOSEN_COLOUR, inkOn, MASKED_COLOUR, onScale, SHADES } from "../shared/colours.js";
import { typeset } from "../shared/numbers.js";
import { shortened, textWidth } from "../shared/ruler.js";
import { namedRows, STEP_LABEL } from "./map_geometry.js";
import { drawLegend, scaleOf } from "./map_legend.js";
import { sumsOf } from "./sums.js";
/** @import { Colour, Theme } from "../shared/colours.js" */
/** @import { CellColour, Surface, TextStyle } from "../shared/surface.js" */
/** @import { Arranged, AxisTitles, Choice, Pinned, Place } from "./arrangement.js" */
/** @import { MapGeometry } from "./map_geometry.js" */

export const TITLE_SIZE = 14;
// Smallest width and height of cells that get lines around them. Around smaller cells, lines would hide the colours.
const SMALLEST_LINED = 12;
// Smallest distance at which labels do not overlap, as a multiple of their font size.
const CLOSEST_NAMES = 0.9;

/**
 * The data from which a map is drawn. `measure` says what the numbers are: weights or changes.
 * @typedef {{
 *   arranged: Arranged, choice: Pick<Choice, "scale" | "threshold">, shades: Colour[], theme: Theme, hover: Place | null,
 *   selected: Pinned, axes: AxisTitles, measure: string,
 * }} Figure
 */

/**
 * Draws the map with its labels, bars and legend.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Figure} figure
 */
export function drawMap(surface, geometry, figure) {
  const { arranged, theme, hover, selected } = figure;
  const { rows, columns } = arranged;
  const { left, top, right, bottom, cellWidth, cellHeight } = geometry;
  const colour = mapColour(figure);
  surface.cells(left, top, cellWidth, cellHeight, rows.length, columns.length, colour);
  hatch(surface, geometry, arranged);
  if (cellWidth >= SMALLEST_LINED && cellHeight >= SMALLEST_LINED) {
    for (let row = 0; row <= rows.length; row++) {
      surface.line(left, top + row * cellHeight, right, top + row * cellHeight, theme.background, 1, 0.55);
    }
    for (let column = 0; column <= columns.length; column++) {
      surface.line(left + column * cellWidth, top, left + column * cellWidth, bottom, theme.background, 1, 0.55);
    }
  }
  if (numbersFit(geometry, arranged)) drawNumbers(surface, geometry, arranged, colour);
  drawLabels(surface, geometry, figure);
  drawLegend(surface, geometry, figure);
  if (geometry.profile) drawProfiles(surface, geometry, figure);
  for (const row of selected.rows) {
    surface.frame(left, top + row * cellHeight, right - left, cellHeight, CHOSEN_COLOUR, 2);
  }
  for (const column of selected.columns) {
    surface.frame(left + column * cellWidth, top, cellWidth, bottom - top, CHOSEN_COLOUR, 2);
  }
  if (hover?.row !== undefined && hover.row < rows.length) {
    surface.frame(left, top + hover.row * cellHeight, right - left, cellHeight, theme.text, 1);
  }
  if (hover?.column !== undefined && hover.column < columns.length) {
    surface.frame(left + hover.column * cellWidth, top, cellWidth, bottom - top, theme.text, 1);
  }
}

/**
 * Returns a function that gives the colour of a cell, or null for a cell whose weight is below the user's threshold.
 * @param {Pick<Figure, "arranged" | "choice" | "shades" | "theme">} figure
 * @returns {CellColour}
 */
export function mapColour({ arranged, choice, shades, theme }) {
  return (row, column) => {
    const at = row * arranged.columns.length + column;
    if (arranged.masked[at]) return theme.masked;
    const value = arranged.values[at];
    if (Math.abs(value) < choice.threshold / 100) return null;
    return shades[Math.round(onScale(value, scaleOf(arranged, choice), arranged.largest) * (SHADES - 1))];
  };
}

/**
 * Draws a diagonal through every masked cell, so that it looks different from a cell with a small weight.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Arranged} arranged
 */
function hatch(surface, { left, top, cellWidth, cellHeight }, arranged) {
  if (cellWidth < 5 || cellHeight < 5) return;
  const { rows, columns } = arranged;
  for (let row = 0, at = 0; row < rows.length; row++) {
    for (let column = 0; column < columns.length; column++, at++) {
      if (!arranged.masked[at]) continue;
      const x = left + column * cellWidth;
      const y = top + row * cellHeight;
      surface.line(x, y + cellHeight, x + cellWidth, y, MASKED_COLOUR, 1);
    }
  }
}

/**
 * Returns whether a cell has room for its number.
 * @param {MapGeometry} geometry
 * @param {Arranged} arranged
 */
function numbersFit({ cellWidth, cellHeight, smallest }, { values }) {
  const widest = values.some((value) => value < 0) ? "−0.00" : "0.00";
  return cellWidth >= textWidth(widest, smallest) + 4 && cellHeight >= smallest + 4;
}

/**
 * Writes the weight into each cell.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Arranged} arranged
 * @param {CellColour} colour
 */
function drawNumbers(surface, { left, top, cellWidth, cellHeight, smallest }, arranged, colour) {
  const size = Math.max(smallest, Math.min(16, cellWidth / 3, cellHeight / 2));
  const { rows, columns } = arranged;
  for (let row = 0, at = 0; row < rows.length; row++) {
    for (let column = 0; column < columns.length; column++, at++) {
      const shade = colour(row, column);
      // Numbers that round to 0.00 are not written; the colour is enough.
      if (arranged.masked[at] || !shade || Math.abs(arranged.values[at]) < 0.005) continue;
      surface.text(left + (column + 0.5) * cellWidth, top + (row + 0.5) * cellHeight,
        typeset(arranged.values[at], 2), { size, fill: inkOn(shade), anchor: "middle" });
    }
  }
}

/**
 * Writes the labels of rows and columns, and the titles of the axes.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Figure} figure
 */
function drawLabels(surface, geometry, { arranged, axes, theme, hover, selected }) {
  const { left, top, right, bottom, cellWidth, cellHeight, columnBand, rowSize, columnSize, columnAngle } = geometry;
  const { rows, columns } = arranged;
  /** @type {(label: string, room: number, size: number, marked: boolean) => [string, TextStyle]} */
  const name = (label, room, size, marked) => {
    const fitting = sizeWithin(label, room, size, marked ? geometry.leastMarked : geometry.least, marked);
    return [shortened(label, room, fitting, marked), { size: fitting, fill: marked ? theme.chosen : theme.text, bold: marked }];
  };
  const room = left - geometry.margin - 6;
  const markedRows = withPointed(selected.rows, hover?.row);
  const hasRow = namesWritten(markedRows, geometry.rowStep, cellHeight, rowSize);
  const called = namedRows(rows, room, rowSize);
  called.forEach(({ label }, index) => {
    if (!hasRow(index)) return;
    const [shown, style] = name(label, room, rowSize, markedRows.has(index));
    surface.text(left - 6, top + (index + 0.5) * cellHeight, shown, { ...style, anchor: "end" });
  });
  const markedColumns = withPointed(selected.columns, hover?.column);
  const hasColumn = namesWritten(markedColumns, geometry.columnStep, cellWidth * Math.sin(-columnAngle), columnSize);
  columns.forEach(({ label }, index) => {
    if (!hasColumn(index)) return;
    const [shown, style] = name(label, columnBand, columnSize, markedColumns.has(index));
    // A slanted name begins a little to the right of the middle of its column, so that most of it is above that column.
    surface.text(left + (index + 0.5) * cellWidth + 4 * Math.cos(columnAngle), top - 8, shown, { ...style, angle: columnAngle });
  });
  /** @type {TextStyle} */
  const title = { size: TITLE_SIZE, fill: theme.text, anchor: "middle" };
  const [to, across] = titleWithin(axes.to, (left + right) / 2, geometry.width);
  // If the step names had to be shortened, the title says once that they consist of an input and an output token.
  const steps = axes.from && called !== rows && rows.some(({ label }) => STEP_LABEL.test(label)) ? ", in → out" : "";
  const [from, down] = titleWithin(axes.from + steps, (top + bottom) / 2, geometry.height);
  surface.text(across, 12, to, title);
  surface.text(12, down, from, { ...title, angle: -Math.PI / 2 });
}

/**
 * Returns the pinned indices and the one under the pointer.
 * @param {Set<number>} pinned
 * @param {number | undefined} pointed
 */
const withPointed = (pinned, pointed) => new Set(pointed === undefined ? pinned : [...pinned, pointed]);

/**
 * Returns a function that decides whether a row or column gets a label. Marked rows and columns always get one. Every
 * `step`-th row or column gets one too, unless a marked row or column is too close.
 * @param {Set<number>} marked
 * @param {number} step
 * @param {number} pitch distance between neighbouring labels
 * @param {number} size
 * @returns {(index: number) => boolean}
 */
function namesWritten(marked, step, pitch, size) {
  const covered = (/** @type {number} */ index) => (
    [...marked].some((other) => Math.abs(other - index) * pitch < CLOSEST_NAMES * size));
  return (index) => marked.has(index) || (index % step === 0 && !covered(index));
}

/**
 * Returns the largest font size, up to `size`, at which the whole label fits. The result is at least `least`, even
 * if the label must then be cut.
 * @param {string} label
 * @param {number} room available width
 * @param {number} size maximum font size
 * @param {number} least minimum font size
 * @param {boolean} bold
 */
function sizeWithin(label, room, size, least, bold) {
  const width = textWidth(label, size, bold);
  if (width <= room) return size;
  // One pixel is subtracted, because letter widths do not scale exactly.
  return Math.max(Math.min(size, least), (size * (room - 1)) / width);
}

/**
 * Returns an axis title, shortened if necessary, and its position, which is as close to the map's middle as possible.
 * @param {string} title
 * @param {number} middle
 * @param {number} length
 * @returns {[string, number]}
 */
function titleWithin(title, middle, length) {
  const shown = shortened(title, length - 4, TITLE_SIZE);
  const half = textWidth(shown, TITLE_SIZE) / 2 + 2;
  return [shown, Math.max(half, Math.min(middle, length - half))];
}

/**
 * Draws bars below the map for the pinned rows, and to its right for the pinned columns.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Figure} figure
 */
function drawProfiles(surface, geometry, { arranged, selected, theme }) {
  const { left, top, right, bottom, cellWidth, cellHeight, width, profile } = geometry;
  // Bars show sums of weights. Differences have no bars, because sums of differences mean little.
  if (arranged.signed) return;
  const { rows, columns } = sumsOf(arranged, selected);
  const longest = profile - 14;
  if (rows) {
    const full = Math.max(1, ...rows);
    rows.forEach((value, column) => surface.rect(
      left + column * cellWidth + 1, bottom + 8, Math.max(1, cellWidth - 2), (value / full) * longest, theme.primary));
    const label = selected.rows.size > 1 ? `sum of ${selected.rows.size} rows` : "selected row";
    surface.text(left - 6, bottom + 16, label, { size: 12, fill: theme.text, anchor: "end" });
  }
  if (columns) {
    const full = Math.max(1, ...columns);
    columns.forEach((value, row) => surface.rect(
      right + 8, top + row * cellHeight + 1, (value / full) * longest, Math.max(1, cellHeight - 2), theme.primary));
    const label = selected.columns.size > 1 ? `sum of ${selected.columns.size} columns` : "selected column";
    const end = Math.min(right + 8 + textWidth(label, 12), width - 2);
    surface.text(end, bottom + 16, label, { size: 12, fill: theme.text, anchor: "end" });
  }
}
