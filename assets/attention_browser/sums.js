// Sums over the pinned rows and columns. The weights are added as displayed, with four decimals, so that users can
// check the sums.

/** @import { Arranged, Label, Pinned } from "./arrangement.js" */

/**
 * Returns sums over the pinned rows and columns. `rows` contains the sum over the pinned rows for every column; it is
 * null if no row is pinned. `columns` contains the sum over the pinned columns for every row; it is null if no column
 * is pinned. `all` is the sum of the cells where pinned rows and columns meet.
 * @param {Arranged} arranged
 * @param {Pinned} selected
 */
export function sumsOf(arranged, selected) {
  const { rows, columns } = arranged;
  /** @type {(row: number, column: number) => number} */
  const shown = (row, column) => Math.round(Number(arranged.values[row * columns.length + column].toFixed(4)) * 1e4);
  /** @type {(side: Set<number>, at: (index: number) => number) => number} */
  const sum = (side, at) => [...side].reduce((total, index) => total + at(index), 0) / 1e4;
  return {
    rows: selected.rows.size ? columns.map((_, column) => sum(selected.rows, (row) => shown(row, column))) : null,
    columns: selected.columns.size ? rows.map((_, row) => sum(selected.columns, (column) => shown(row, column))) : null,
    all: sum(selected.rows, (row) => 1e4 * sum(selected.columns, (column) => shown(row, column))),
  };
}

/**
 * Returns the numbers and the labels of the pinned rows, or of the pinned columns, in order. Numbers start at 1.
 * @param {Label[]} side
 * @param {Set<number>} indices
 */
export function summed(side, indices) {
  const ordered = [...indices].sort((a, b) => a - b);
  return { numbers: ordered.map((index) => index + 1), labels: ordered.map((index) => side[index].label) };
}
