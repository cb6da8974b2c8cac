// Draws one head as lines, from the query tokens on the left to the key tokens on the right.

import { onScale } from "../shared/colours.js";
import { shortened, textWidth } from "../shared/ruler.js";
import { LABEL_SIZE, longestLabel } from "./map_geometry.js";
import { TITLE_SIZE } from "./map.js";
/** @import { Surface, TextStyle } from "../shared/surface.js" */
/** @import { Arranged, Pinned, Place } from "./arrangement.js" */
/** @import { Figure } from "./map.js" */

// Smallest weight that is drawn as a line. Lines for smaller weights would be too numerous and too faint. A note near
// the figure tells the user this limit.
export const MIN_OPACITY = 0.02;
const MAX_THICKNESS = 9;
// The y coordinate of the heads' names, which are drawn below the titles if there are several heads.
const HEADS_AT = 32;
const HEADS_APART = 12;

/** @typedef {ReturnType<typeof linesGeometry>} LinesGeometry */

// Maximum height of the line view in CSS pixels, unless its labels need more.
const LINES_HEIGHT = 668;

/**
 * Returns the geometry of the line view.
 * @param {Arranged} arranged
 * @param {number} width in CSS pixels
 * @param {number} height maximum, unless the labels need more
 */
export function linesGeometry(arranged, width, height = LINES_HEIGHT) {
  const { rows, columns } = arranged;
  const left = Math.min(longestLabel(rows), width * 0.36) + 34;
  const right = width - Math.min(longestLabel(columns), width * 0.26) - 34;
  const most = Math.max(rows.length, columns.length);
  const pitch = Math.max(LABEL_SIZE + 3, Math.min(30, (height - 48) / most));
  const top = 40;
  // The shorter column of labels is centred beside the longer one.
  /** @type {(count: number) => number} */
  const start = (count) => top + ((most - count) * pitch) / 2;
  return {
    left, right, pitch, top, width, height: Math.ceil(top + most * pitch + 8),
    /** @type {(row: number) => number} */
    rowY: (row) => start(rows.length) + (row + 0.5) * pitch,
    /** @type {(column: number) => number} */
    columnY: (column) => start(columns.length) + (column + 0.5) * pitch,
  };
}

/**
 * Draws the line view: the lines of each head in `heads`, the labels and the titles.
 * @param {Surface} surface
 * @param {LinesGeometry} geometry
 * @param {Figure & { heads: { head: number, arranged: Arranged, colour: string }[] }} figure
 */
export function drawLines(surface, geometry, { arranged, heads, choice, theme, hover, selected, axes }) {
  const { rows, columns } = arranged;
  const { left, right } = geometry;
  const least = Math.max(MIN_OPACITY, choice.threshold / 100);
  const shown = shownLines(hover, selected);
  for (const { arranged: one, colour } of heads) {
    for (let row = 0, at = 0; row < rows.length; row++) {
      for (let column = 0; column < columns.length; column++, at++) {
        const value = one.values[at];
        if (value < least || one.masked[at] || !shown(row, column)) continue;
        const strength = onScale(value, choice.scale, one.largest);
        surface.line(left + 6, geometry.rowY(row), right - 6, geometry.columnY(column), colour,
          0.5 + strength * (MAX_THICKNESS - 0.5), 0.25 + 0.6 * strength);
      }
    }
  }
  /** @type {(marked: boolean) => TextStyle} */
  const ink = (marked) => ({ size: LABEL_SIZE, fill: marked ? theme.chosen : theme.text, bold: marked });
  rows.forEach((row, index) => {
    const marked = index === hover?.row || selected.rows.has(index);
    surface.text(left - 2, geometry.rowY(index), shortened(row.label, left - 12, LABEL_SIZE, marked),
      { ...ink(marked), anchor: "end" });
  });
  columns.forEach((column, index) => {
    const marked = index === hover?.column || selected.columns.has(index);
    surface.text(right + 2, geometry.columnY(index),
      shortened(column.label, geometry.width - right - 8, LABEL_SIZE, marked), ink(marked));
  });
  if (heads.length > 1) drawHeads(surface, (left + right) / 2, heads);
  const title = { size: TITLE_SIZE, fill: theme.text };
  surface.text(left, 14, axes.from, { ...title, anchor: left > geometry.width / 3 ? "end" : "middle" });
  surface.text(right, 14, axes.to, { ...title, anchor: "middle" });
}

/**
 * Draws the legend: the heads' names in their colours, starting with the head chosen in the grid.
 * @param {Surface} surface
 * @param {number} middle
 * @param {{ head: number, colour: string }[]} heads
 */
function drawHeads(surface, middle, heads) {
  const names = heads.map(({ head, colour }) => ({ name: `head ${head + 1}`, colour }));
  const widths = names.map(({ name }) => textWidth(name, LABEL_SIZE, true) + HEADS_APART);
  let x = middle - (widths.reduce((total, width) => total + width, 0) - HEADS_APART) / 2;
  names.forEach(({ name, colour }, index) => {
    surface.text(x, HEADS_AT, name, { size: LABEL_SIZE, fill: colour, bold: true });
    x += widths[index];
  });
}

/**
 * Returns a function that decides whether a line is drawn. If the pointer is on a token, only that token's lines are
 * drawn. Otherwise, only the selected tokens' lines are drawn. If no token is selected, all lines are drawn.
 * @param {Place | null} hover
 * @param {Pinned} selected
 * @returns {(row: number, column: number) => boolean}
 */
function shownLines(hover, selected) {
  if (hover?.row !== undefined) return (row) => row === hover.row;
  if (hover?.column !== undefined) return (_, column) => column === hover.column;
  if (!selected.rows.size && !selected.columns.size) return () => true;
  return (row, column) => selected.rows.has(row) || selected.columns.has(column);
}

/**
 * Returns the token under the pointer: a row on the left, a column on the right.
 * @param {LinesGeometry} geometry
 * @param {Arranged} arranged
 * @param {number} x
 * @param {number} y
 * @returns {Place | null}
 */
export function hitLines(geometry, arranged, x, y) {
  /** @type {(count: number, yOf: (index: number) => number) => number | undefined} */
  const nearest = (count, yOf) => {
    const index = Math.floor((y - yOf(0)) / geometry.pitch + 0.5);
    return index >= 0 && index < count ? index : undefined;
  };
  if (x < geometry.left + 12) {
    const row = nearest(arranged.rows.length, geometry.rowY);
    return row === undefined ? null : { row };
  }
  if (x > geometry.right - 12) {
    const column = nearest(arranged.columns.length, geometry.columnY);
    return column === undefined ? null : { column };
  }
  return null;
}
