// The pinned tokens: their rows and columns, and the effect of a click.

/** @import { Arranged, Choice, Label, Pinned, Place } from "./arrangement.js" */

/**
 * Returns the rows and columns of an arrangement that contain pinned tokens.
 * @param {Pick<Choice, "rows" | "columns">} choice
 * @param {Pick<Arranged, "rows" | "columns">} arranged
 * @returns {Pinned}
 */
export function pinnedIn(choice, arranged) {
  /** @type {(side: Label[], tokens: number[]) => Set<number>} */
  const indices = (side, tokens) => new Set(
    side.flatMap(({ positions }, index) => (positions.some((position) => tokens.includes(position)) ? [index] : [])));
  return { rows: indices(arranged.rows, choice.rows), columns: indices(arranged.columns, choice.columns) };
}

/**
 * Returns the pinned row and the pinned column. The row is undefined unless exactly one row is pinned; likewise the
 * column.
 * @param {Pinned} selected
 * @returns {Place}
 */
export function pinnedCell({ rows, columns }) {
  return { row: rows.size === 1 ? [...rows][0] : undefined, column: columns.size === 1 ? [...columns][0] : undefined };
}

/**
 * Returns the pinned tokens after a click. The click pins or unpins the tokens of the clicked row, column or cell. With
 * `add`, other tokens stay pinned.
 * @param {Pick<Choice, "rows" | "columns">} choice
 * @param {Pick<Arranged, "rows" | "columns">} arranged
 * @param {Place | null} hit
 * @param {boolean} add
 * @returns {Pick<Choice, "rows" | "columns">}
 */
export function withPin(choice, arranged, hit, add) {
  /** @type {(old: number[], side: Label[], index: number | undefined) => number[]} */
  const toggled = (old, side, index) => {
    if (index === undefined) return add ? old : [];
    const { positions } = side[index];
    const without = old.filter((position) => !positions.includes(position));
    if (without.length < old.length && (add || old.length === positions.length)) return without;
    return add ? [...old, ...positions] : [...positions];
  };
  return {
    rows: toggled(choice.rows, arranged.rows, hit?.row),
    columns: toggled(choice.columns, arranged.columns, hit?.column),
  };
}
