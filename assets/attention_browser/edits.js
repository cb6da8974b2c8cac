// Edits to attention. For one head, one layer or the whole model, an edit sets where a row looks. The text form of an
// edit has 1-based numbers, as in the URL (pages/ui/params/change_attention.py). Examples: encoder.5.2.8~7x75,
// encoder.all.all.8-9~even.

/** @import { Arranged } from "./arrangement.js" */
/** @import { Head } from "./grid.js" */

/**
 * Neighbouring tokens, given as the zero-based positions of the first and the last.
 * @typedef {[number, number]} Span
 */
/**
 * `layer` and `head` are zero-based; null means all. Without shares, all visible tokens get equal weights.
 * @typedef {{ layer: number | null, head: number | null, rows: Span, shares: { columns: Span, percent: number }[] }} Given
 */
/** @typedef {Given & { kind: string }} Edit */

export const NO_EDITS = "none";
// The server accepts at most this many edits, so the oldest ones are dropped.
const MAX_EDITS = 60;

/** @type {(span: Span) => string} */
const spanText = ([first, last]) => (first === last ? `${first + 1}` : `${first + 1}-${last + 1}`);

/**
 * Parses a span such as 8-9.
 * @param {string} text
 * @returns {Span}
 */
function spanOf(text) {
  const [first, last = first] = text.split("-").map((number) => Number(number) - 1);
  return [first, last];
}

/**
 * Returns edits as they are written in the URL.
 * @param {Edit[]} edits
 */
export function editsText(edits) {
  return edits.map(({ kind, layer, head, rows, shares }) => {
    const place = [layer, head].map((number) => (number === null ? "all" : number + 1)).join(".");
    const given = shares.map(({ columns, percent }) => `${spanText(columns)}x${percent}`);
    return [`${kind}.${place}.${spanText(rows)}`, ...(given.length ? given : ["even"])].join("~");
  }).join("_") || NO_EDITS;
}

/**
 * Parses the text of edits.
 * @param {string} text as the server writes it
 * @returns {Edit[]}
 */
export function parseEdits(text) {
  if (text === NO_EDITS) return [];
  return text.split("_").map((one) => {
    const [place, ...given] = one.split("~");
    const [kind, layer, head, rows] = place.split(".");
    const [atLayer, atHead] = [layer, head].map((number) => (number === "all" ? null : Number(number) - 1));
    const shares = given[0] === "even" ? [] : given.map((share) => {
      const [columns, percent] = share.split("x");
      return { columns: spanOf(columns), percent: Number(percent) };
    });
    return { kind, layer: atLayer, head: atHead, rows: spanOf(rows), shares };
  });
}

/** @type {(one: Span, other: Span) => boolean} */
const overlap = (one, other) => one[0] <= other[1] && other[0] <= one[1];

/**
 * Returns whether an edit sets a row of a head.
 * @param {Edit} edit
 * @param {string} kind
 * @param {Head} head
 * @param {Span} [rows] if missing, any row
 */
export function affects(edit, kind, { layer, head }, rows) {
  return edit.kind === kind && (edit.layer ?? layer) === layer && (edit.head ?? head) === head
    && (!rows || overlap(edit.rows, rows));
}

/**
 * Returns the list with one more edit, which replaces an earlier edit to the same rows and heads.
 * @param {Edit[]} edits
 * @param {Edit} edit
 */
export function withEdit(edits, edit) {
  /** @type {(one: Edit) => string} */
  const place = ({ kind, layer, head, rows }) => JSON.stringify([kind, layer, head, rows]);
  return [...edits.filter((one) => place(one) !== place(edit)), edit].slice(-MAX_EDITS);
}

/**
 * Returns a row's shares after the share of some columns is set to a percentage. If the other shares then exceed the
 * rest, they shrink in proportion.
 * @param {Given["shares"]} shares
 * @param {Span} columns
 * @param {number} percent
 * @returns {Given["shares"]}
 */
export function withShare(shares, columns, percent) {
  const others = shares.filter((share) => !overlap(share.columns, columns));
  const total = others.reduce((sum, share) => sum + share.percent, 0);
  const scale = total > 100 - percent ? (100 - percent) / total : 1;
  const shrunk = others.map((share) => ({ ...share, percent: Math.floor(share.percent * scale) }));
  return [...(percent === 100 ? [] : shrunk), { columns, percent }];
}

/**
 * Predicts a head's weights after an edit. They are shown while the user drags a cell, and until the server answers.
 * @param {Arranged} arranged
 * @param {Given} given
 * @returns {Arranged}
 */
export function preview(arranged, { rows, shares }) {
  const { columns } = arranged;
  const values = arranged.values.slice();
  arranged.rows.forEach(({ positions }, row) => {
    if (!positions.some((position) => overlap(rows, [position, position]))) return;
    const at = row * columns.length;
    const visible = columns.map((_, column) => !arranged.masked[at + column]);
    /** @type {(column: number) => number | null} */
    const given = (column) => {
      if (!visible[column]) return null;
      const found = shares.filter((share) => columns[column].positions.some((position) => overlap(share.columns, [position, position])));
      return found.length ? found.reduce((sum, { percent }) => sum + percent / 100, 0) : null;
    };
    const wanted = columns.map((_, column) => given(column));
    const left = 1 - wanted.reduce((/** @type {number} */ sum, share) => sum + (share ?? 0), 0);
    const others = columns.reduce((sum, _, column) => sum + (wanted[column] === null ? values[at + column] : 0), 0);
    const tokens = columns.reduce((sum, { positions: each }, column) => sum + (visible[column] ? each.length : 0), 0);
    columns.forEach(({ positions: each }, column) => {
      if (!shares.length) values[at + column] = visible[column] ? each.length / tokens : 0;
      else values[at + column] = wanted[column] ?? (others > 0 ? values[at + column] * Math.max(0, left) / others : 0);
    });
  });
  return { ...arranged, values, largest: values.reduce((most, value) => Math.max(most, value), 0) };
}
