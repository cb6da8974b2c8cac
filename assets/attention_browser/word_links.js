// Finds the links from and to a word in all heads of one kind of attention. The links are sorted by how far
// their weight exceeds the usual weight in the head.

import { quote } from "../shared/direction.js";
import { arrange, arrangementName, entryName, shownWeight } from "./arrangement.js";
import { GRID_GAP } from "./grid.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { CanvasSurface } from "../shared/surface.js" */
/** @import { Arranged, Choice, KindData, Label, Place } from "./arrangement.js" */
/** @import { GridGeometry, Head } from "./grid.js" */

// Matches the names of positional heads, which look at a relative position regardless of its token.
const POSITIONAL = /\b(previous|same|next) token\b/;
const HAS_LETTER = /[\p{L}\p{N}]/u;
// An excess over the usual weight must be larger than the rounding error of the totals.
const LEAST_EXCESS = 1e-9;
/** @type {WeakMap<Arranged, { onColumn: Total[], atDistance: Total[] }>} */
const TOTALS = new WeakMap();

/** @typedef {{ sum: number, count: number }} Total the sum of some weights, and their number */
/**
 * A link from or to a word, in the head in which the link's weight exceeds its usual weight the most.
 * @typedef {Head & { row: number, column: number, weight: string, usual: number, excess: number }} WordLink
 */
/**
 * `strongest` has at most one link to or from any other word. `lit` has, for each head, the largest excess over the
 * usual weight.
 * @typedef {{ strongest: WordLink[], lit: number[] }} WordLinks
 */

/**
 * Returns the links of a word, which is a hovered or pinned row or column. The result is null for a cell, and for
 * differences. Links to the word itself, its neighbours, punctuation, and start and end symbols are left out, as are
 * positional heads. The usual weight of a link is the mean weight in the same column of the head's other rows. If rows
 * and columns are the same text, it is this mean or the mean at the same distance in other rows, whichever is larger.
 * @param {KindData} data
 * @param {Choice} choice
 * @param {Place} word
 * @returns {WordLinks | null}
 */
export function wordLinks(data, choice, word) {
  if ((word.row === undefined) === (word.column === undefined)) return null;
  const { layers, heads, kind, special, names } = data.header;
  const same = kind !== "cross";
  // In the decoder, the step at a position writes the token that is read at the next position.
  const shift = kind === "decoder" ? 1 : 0;
  /** @type {Map<number, WordLink>} */
  const best = new Map();
  const lit = Array.from({ length: layers * heads }, () => 0);
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      if (POSITIONAL.test(names[layer * heads + head])) continue;
      const arranged = arrange(data, choice, layer, head);
      if (arranged.signed) return null;
      const { rows, columns, masked } = arranged;
      const others = word.row === undefined ? rows : columns;
      others.forEach(({ label }, other) => {
        const [row, column] = word.row === undefined ? [other, word.column ?? 0] : [word.row, other];
        const symbols = columns[column].positions.some((position) => special.includes(position))
          || (same && rows[row].positions.some((position) => special.includes(position)));
        const near = same && Math.abs(column - row - shift) <= 1;
        if (symbols || near || masked[row * columns.length + column] || !HAS_LETTER.test(label)) return;
        const usual = usualWeight(arranged, row, column, same, shift);
        const excess = arranged.values[row * columns.length + column] - usual;
        lit[layer * heads + head] = Math.max(lit[layer * heads + head], excess);
        if (excess <= (best.get(other)?.excess ?? LEAST_EXCESS)) return;
        best.set(other, { layer, head, row, column, weight: shownWeight(arranged, row, column), usual, excess });
      });
    }
  }
  return { strongest: [...best.values()].sort((a, b) => b.excess - a.excess), lit };
}

/**
 * Returns how far the links from and to a word stand out in each head: `lit` is the largest excess over the usual
 * weight, and `strongest` is empty. Returns null if `word` is null or has no positions.
 * @param {KindData} data
 * @param {Choice} choice
 * @param {{ rows: number[], columns: number[] } | null} word positions of the word's rows and columns
 * @returns {WordLinks | null}
 */
export function linksOfWord(data, choice, word) {
  if (!word || !(word.rows.length + word.columns.length)) return null;
  const { rows, columns } = data.header.arrangements[arrangementName(choice)];
  /** @type {(side: Label[], positions: number[]) => number} */
  const at = (side, positions) => side.findIndex((one) => one.positions.some((position) => positions.includes(position)));
  const found = [{ row: at(rows, word.rows) }, { column: at(columns, word.columns) }]
    .filter((place) => Object.values(place)[0] >= 0).map((place) => wordLinks(data, choice, place));
  const lit = Array.from({ length: data.header.layers * data.header.heads }, (_, head) => (
    Math.max(0, ...found.map((links) => links?.lit[head] ?? 0))));
  return { strongest: [], lit };
}

/**
 * Returns the usual weight of a link: the head's mean weight in other rows at the same distance or in the same column,
 * whichever is larger.
 * @param {Arranged} arranged
 * @param {number} row
 * @param {number} column
 * @param {boolean} same whether rows and columns are the same text
 * @param {number} shift distance from a row to the column of the row's own word
 */
function usualWeight(arranged, row, column, same, shift) {
  const { rows, columns, values } = arranged;
  const { onColumn, atDistance } = totalsOf(arranged, same, shift);
  /** @type {(total: Total) => number} */
  const others = ({ sum, count }) => (count > 1 ? (sum - values[row * columns.length + column]) / (count - 1) : 0);
  const usual = others(onColumn[column]);
  return same ? Math.max(usual, others(atDistance[column - row + rows.length - 1])) : usual;
}

/**
 * Returns the total of the unmasked weights in each column. If rows and columns are the same text, also returns the
 * total at each distance from a row to a column. In that case, the column totals leave out the weight of a row on its
 * own word. The totals are cached, because they are needed again for each word that the user points at.
 * @param {Arranged} arranged
 * @param {boolean} same whether rows and columns are the same text
 * @param {number} shift distance from a row to the column of the row's own word
 */
function totalsOf(arranged, same, shift) {
  const known = TOTALS.get(arranged);
  if (known) return known;
  const { rows, columns, values, masked } = arranged;
  const empty = () => ({ sum: 0, count: 0 });
  const onColumn = columns.map(empty);
  const atDistance = Array.from({ length: same ? rows.length + columns.length - 1 : 0 }, empty);
  values.forEach((value, at) => {
    if (masked[at]) return;
    const [row, column] = [Math.floor(at / columns.length), at % columns.length];
    const totals = same ? [atDistance[column - row + rows.length - 1]] : [];
    if (!same || row + shift !== column) totals.push(onColumn[column]);
    for (const total of totals) {
      total.sum += value;
      total.count++;
    }
  });
  const totals = { onColumn, atDistance };
  TOTALS.set(arranged, totals);
  return totals;
}

/**
 * Returns links in descending order of their weight.
 * @param {WordLink[]} links
 */
export const byWeight = (links) => [...links].sort((a, b) => Number(b.weight) - Number(a.weight));

/**
 * Returns the links that a word's description names: those that stand out most, in descending order of their weight.
 * @param {WordLinks} links
 */
export const namedLinks = ({ strongest }) => byWeight(strongest.slice(0, 3));

/**
 * Returns a sentence that names the links that stand out most.
 * @param {Arranged} arranged
 * @param {Place} word
 * @param {WordLinks} links
 */
export function sentenceOfLinks({ rows, columns }, { row }, links) {
  const named = namedLinks(links);
  if (!named.length) return "";
  const found = named.map((link) => {
    const { label } = row === undefined ? rows[link.row] : columns[link.column];
    return `${quote(label)} ${Number(link.weight).toFixed(2)} (layer ${link.layer + 1}, head ${link.head + 1})`;
  });
  const word = quote(row === undefined ? columns[named[0].column].label : rows[row].label);
  return `Links that stand out in single heads: ${word} ${row === undefined ? "is looked at by" : "looks at"} ${found.join(", ")}.`;
}

/**
 * Returns the heading of the list of links. The list contains at most one link to or from any other word.
 * @param {Arranged} arranged
 * @param {Place} word a row or a column
 */
export function titleOfLinks({ rows, columns }, { row, column }) {
  const question = row === undefined ? `What looks at ${entryName(columns, column ?? 0, "column")}?`
    : `What does ${entryName(rows, row, "row")} look at?`;
  return `${question} Largest weight first`;
}

/**
 * Fades the small maps. The further a word's weights in a head exceed the usual weight, the less that head's map
 * is faded.
 * @param {CanvasSurface} surface
 * @param {GridGeometry} geometry
 * @param {WordLinks} links
 * @param {Theme} theme
 */
export function lightGrid({ context }, { left, top, cellWidth, cellHeight, heads, strip }, { lit }, theme) {
  const most = Math.max(...lit);
  context.fillStyle = theme.background;
  lit.forEach((value, at) => {
    context.globalAlpha = most > 0 ? 0.8 * (1 - value / most) : 0.8;
    context.fillRect(left + (at % heads) * cellWidth + GRID_GAP / 2, top + Math.floor(at / heads) * cellHeight + GRID_GAP / 2,
      cellWidth - GRID_GAP, cellHeight - GRID_GAP - strip);
  });
  context.globalAlpha = 1;
}
