// The geometry of a map, and the cell or label at a given point.

import { textWidth } from "../shared/ruler.js";
/** @import { Arranged, Label, Place } from "./arrangement.js" */

export const LABEL_SIZE = 13;
// Font size of column labels that are too close together for LABEL_SIZE.
export const CLOSE_LABEL_SIZE = 11;
// Matches the label of a decoder step and captures two tokens: the one that the step reads, and the one it predicts.
export const STEP_LABEL = /^in: (.+) → out: (.+)$/su;
// Font size of the legend.
export const SMALL_SIZE = 12;
// Width of the space to the left of the row labels, for the row-axis title.
const MARGIN = 30;
export const COLUMN_ANGLE = -Math.PI / 3;
// Room for the legend: its width beside the map, or its height below a narrow map.
const LEGEND = 74;
export const LEGEND_BELOW = 40;
// Length of the bars of pinned rows and columns, including their margins, as a share of the figure's width.
const PROFILE = 0.05;
const SHORTEST_PROFILE = 30;
const LONGEST_PROFILE = 40;
const SMALLEST_NUMBER = 11;

/** @typedef {ReturnType<typeof mapGeometry>} MapGeometry */

/**
 * Returns the geometry of the map for a figure of `width` CSS pixels. With `withProfiles`, it has room for bars even if
 * no row or column is pinned, so that pinning moves nothing under the pointer.
 * @param {Arranged} arranged
 * @param {number} width
 * @param {boolean} withProfiles
 * @param {Arranged[]} beside maps drawn side by side, including `arranged`; each has room for the longest of all labels
 */
export function mapGeometry(arranged, width, withProfiles, beside = [arranged]) {
  const { rows, columns } = arranged;
  const narrow = width < 560;
  const mostLeft = width * (narrow ? 0.34 : 0.3);
  const longestRow = longestLabel(namedRows(beside.flatMap((map) => map.rows), mostLeft - 8));
  const longestColumn = longestLabel(beside.flatMap((map) => map.columns));
  // Margins and row heights are whole pixels, so that edges are sharp, and an image with twice the pixel density has
  // exactly twice the height.
  const left = Math.round(MARGIN + Math.min(longestRow + 8, mostLeft));
  const columnBand = Math.min(longestColumn, 130);
  const profile = withProfiles
    ? Math.round(Math.min(LONGEST_PROFILE, Math.max(SHORTEST_PROFILE, PROFILE * width))) : 0;
  const leaning = columnBand * Math.cos(COLUMN_ANGLE) + 4;
  /**
   * Returns the width of a cell if the margin at the right is `right`. The lower limit is below one pixel, because a
   * map of audio has fifty columns per second.
   * @type {(right: number) => number}
   */
  const cellBeside = (right) => Math.max(Math.min((width - left - right) / columns.length, 84), 0.1);
  // The last slanted label needs space to the right of the map. On a phone, labels may be vertical instead, which
  // leaves this space to the cells, so that more columns can be labelled.
  const upright = narrow && cellBeside(leaning) < LABEL_SIZE + 3;
  const columnAngle = upright ? -Math.PI / 2 : COLUMN_ANGLE;
  const top = Math.round(24 + columnBand * Math.sin(-columnAngle) + 8);
  const cellWidth = cellBeside(Math.max((narrow ? 8 : LEGEND) + profile, upright ? 0 : leaning));
  // Cells are roughly square if a map of square cells fits on the screen below its controls. Rows are high enough for
  // their labels if there is room for all rows.
  const room = Math.max(480 / rows.length, Math.min(600 / rows.length, LABEL_SIZE + 2));
  const cellHeight = Math.max(Math.floor(Math.min(room, Math.max(cellWidth, 22), 50)), 4);
  const crowded = cellWidth < LABEL_SIZE + 3;
  const columnSize = crowded ? CLOSE_LABEL_SIZE : LABEL_SIZE;
  return {
    left, top, columnSize, cellWidth, cellHeight, columnBand, width, narrow, profile, margin: MARGIN, small: SMALL_SIZE,
    smallest: SMALLEST_NUMBER, rowSize: LABEL_SIZE, columnAngle,
    // Long labels are shortened rather than made smaller. Pointing at one shows the whole label below the map.
    least: LABEL_SIZE, leastMarked: LABEL_SIZE,
    right: left + cellWidth * columns.length,
    bottom: top + cellHeight * rows.length,
    height: top + cellHeight * rows.length + profile + 6 + (narrow ? LEGEND_BELOW : 0),
    // Only every n-th label is written if there is no room for all labels.
    rowStep: Math.ceil((LABEL_SIZE + 2) / cellHeight),
    columnStep: labelStep(columns, (columnSize + (crowded ? 1 : 3)) / cellWidth),
  };
}

/**
 * Returns n such that every n-th column has a label. If the labels are seconds of audio and do not all fit, the
 * labelled columns are a round number of seconds apart.
 * @param {Label[]} columns
 * @param {number} least
 */
function labelStep(columns, least) {
  const seconds = Number(columns[1]?.label) - Number(columns[0]?.label);
  if (!(least > 1 && seconds > 0)) return Math.ceil(least);
  const round = [0.1, 0.2, 0.5, 1, 2, 5, 10].map((each) => Math.round(each / seconds)).find((each) => each >= least);
  return round ?? Math.ceil(least);
}

/**
 * Returns the width of the longest label in bold, because a marked label is written in bold.
 * @param {Label[]} side
 */
export const longestLabel = (side) => Math.max(...side.map(({ label }) => textWidth(label, LABEL_SIZE, true)));

/**
 * Returns the row labels to draw. Decoder steps have full labels if the longest label fits. Otherwise, each label
 * contains only the step's two tokens, because a full label that is cut in the middle would hide both.
 * @param {Label[]} rows
 * @param {number} room
 * @param {number} size of the font
 * @returns {Label[]}
 */
export function namedRows(rows, room, size = LABEL_SIZE) {
  if ((longestLabel(rows) * size) / LABEL_SIZE <= room) return rows;
  return rows.map((row) => ({ ...row, label: row.label.replace(STEP_LABEL, "$1 → $2") }));
}

/**
 * Returns the cell, row label or column label at a point, or null outside of them.
 * @param {MapGeometry} geometry
 * @param {number} x
 * @param {number} y
 * @returns {Place | null}
 */
export function hitMap({ left, top, right, bottom, cellWidth, cellHeight, columnAngle }, x, y) {
  const row = Math.floor((y - top) / cellHeight);
  const column = Math.floor((x - left) / cellWidth);
  const inRows = y >= top && y < bottom;
  if (inRows && x >= left && x < right) return { row, column };
  if (inRows && x < left) return { row };
  // Column labels slant to the right, so the column is found by following the slant down to the top of the map.
  const leaning = Math.floor((x - left - Math.max(0, top - 8 - y) / Math.tan(-columnAngle)) / cellWidth);
  if (y < top && y > 24 && leaning >= 0 && leaning < Math.round((right - left) / cellWidth)) return { column: leaning };
  return null;
}
