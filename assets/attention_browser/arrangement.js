// Arranges a head's weights for display, in the rows and columns that the user chose.

import { quote } from "../shared/direction.js";
import { typeset } from "../shared/numbers.js";
import { MASKED_CODE, weightOf } from "../shared/wire.js";

/**
 * A row or a column: its label, and the positions of its tokens.
 * @typedef {{ label: string, positions: number[] }} Label
 */
/** @typedef {{ rows: Label[], columns: Label[], scaled: boolean }} Arrangement */
/** @typedef {{ from: string, to: string }} AxisTitles */
/**
 * A measurement with a value for each head, layer by layer. A value is null if the measurement does not apply to the
 * head. `most` is the value at which the bar below a head is full.
 * @typedef {{ key: string, name: string, unit: string, most: number, values: (number | null)[] }} Metric
 */
/**
 * The header that the server sends for one kind of attention (attention_atlas/browser/payload.py).
 * @typedef {{
 *   kind: "encoder" | "decoder" | "cross", title: string, id: string, glance: boolean, quiet: boolean, beside: boolean, lecture?: boolean,
 *   layers: number, heads: number, queries: number, keys: number,
 *   arrangements: Record<string, Arrangement>, special: number[], doublings: string,
 *   axes: { tokens: AxisTitles, words: AxisTitles }, texts: { source: string, target: string },
 *   shown: { source: string, target: string },
 *   metrics: Metric[], names: string[], asked: { number: number, choice: Omit<Choice, "heads"> },
 *   version?: string, edits?: string | null, written?: string, experiment?: string,
 * }} KindHeader
 */
/**
 * The data of one kind of attention: the header, the encoded weights [layers, heads, queries, keys], and the heads that
 * have been arranged so far. `difference` has the data of the two runs that are compared. For a changed run, `versions`
 * has the data after the change, the data before it, and their difference.
 * @typedef {{
 *   header: KindHeader, codes: Uint16Array, arranged: Map<string, Arranged>, difference?: { after: KindData, before: KindData },
 *   versions?: Record<string, KindData>,
 * }} KindData
 */
/**
 * The user's choice (pages/ui/params/attention.py). The lines of `heads` are drawn in addition to those of the
 * chosen head. `rows` and `columns` are the positions of the pinned tokens. `threshold` is a weight, in hundredths.
 * @typedef {{
 *   layer: number, head: number, words: boolean, hide: boolean, scale: string, palette: string, look: string,
 *   threshold: number, metric: string, rows: number[], columns: number[], heads: number[],
 * }} Choice
 */
/**
 * One head's map with the rows and columns that the user chose: R rows, C columns, weights [R * C], masked cells
 * [R * C], and the largest weight. If `signed` is true, the values are differences, and `largest` is the largest absolute value over all heads.
 * @typedef {{
 *   rows: Label[], columns: Label[], values: Float32Array, masked: Uint8Array, largest: number, signed?: boolean,
 * }} Arranged
 */
/**
 * A selection in the map: a cell (both indices), a row or a column (one index), or nothing (no index).
 * @typedef {{ row?: number, column?: number }} Place
 */
/**
 * The pinned rows and columns, as indices.
 * @typedef {{ rows: Set<number>, columns: Set<number> }} Pinned
 */

/**
 * Returns the name of the arrangement that the user chose: tokens or words, with or without start and end symbols.
 * @param {Pick<Choice, "words" | "hide">} choice
 */
export function arrangementName(choice) {
  return (choice.words ? "words" : "tokens") + (choice.hide ? "-hidden" : "");
}

/**
 * Returns one head's map of tokens or words, with or without start and end symbols, as the user chose. Attention to a
 * word is the sum over its tokens; attention from a word is the mean over its tokens. If start and end symbols are
 * hidden, each row is rescaled to sum to 1.
 * @param {KindData} data
 * @param {Pick<Choice, "words" | "hide">} choice
 * @param {number} layer
 * @param {number} head
 * @returns {Arranged}
 */
export function arrange(data, choice, layer, head) {
  const name = arrangementName(choice);
  const key = `${name}/${layer}/${head}`;
  const known = data.arranged.get(key);
  if (known) return known;
  if (data.difference) return arrangeDifferences(data, data.difference, choice)[layer * data.header.heads + head];
  const { heads, queries, keys, arrangements, special, doublings } = data.header;
  const { rows, columns, scaled } = arrangements[name];
  const first = (layer * heads + head) * queries;
  const values = new Float32Array(rows.length * columns.length);
  const masked = new Uint8Array(values.length);
  let largest = 0;
  rows.forEach((row, r) => {
    let total = 0;
    columns.forEach((column, c) => {
      let sum = 0;
      let visible = false;
      for (const i of row.positions) {
        const doubled = 2 ** parseInt(doublings[first + i], 16);
        for (const j of column.positions) {
          const code = data.codes[(first + i) * keys + j];
          if (code !== MASKED_CODE) visible = true;
          sum += weightOf(code) / (special.includes(j) ? 1 : doubled);
        }
      }
      const value = sum / row.positions.length;
      total += value;
      values[r * columns.length + c] = value;
      masked[r * columns.length + c] = visible ? 0 : 1;
    });
    for (let c = 0; c < columns.length; c++) {
      const at = r * columns.length + c;
      if (scaled) values[at] = total > 0 ? values[at] / total : 0;
      values[at] = Math.min(1, values[at]);
      largest = Math.max(largest, values[at]);
    }
  });
  const arranged = { rows, columns, values, masked, largest };
  data.arranged.set(key, arranged);
  return arranged;
}

/**
 * Returns the differences between two runs for all heads, on one shared colour scale. With separate scales, a head that
 * hardly changed would look like one that changed a lot.
 * @param {KindData} data
 * @param {{ after: KindData, before: KindData }} sides
 * @param {Pick<Choice, "words" | "hide">} choice
 */
function arrangeDifferences(data, { after, before }, choice) {
  const { layers, heads } = data.header;
  /** @type {Arranged[]} */
  const all = [];
  for (let at = 0; at < layers * heads; at++) {
    const [layer, head] = [Math.floor(at / heads), at % heads];
    const [now, then] = [after, before].map((side) => arrange(side, choice, layer, head));
    all.push({
      rows: now.rows, columns: now.columns, values: now.values.map((value, cell) => value - then.values[cell]),
      masked: now.masked.map((masked, cell) => masked & then.masked[cell]), largest: 0, signed: true,
    });
  }
  const largest = Math.max(...all.map(({ values }) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)));
  all.forEach((arranged, at) => {
    arranged.largest = largest;
    data.arranged.set(`${arrangementName(choice)}/${Math.floor(at / heads)}/${at % heads}`, arranged);
  });
  return all;
}

/**
 * Returns the label of a row or column for use within a sentence. If several rows (or columns) have this label, the
 * position is added.
 * @param {Label[]} side
 * @param {number} at
 * @param {"row" | "column"} name the word before the position
 */
export function entryName(side, at, name) {
  const { label } = side[at];
  return side.some((other, place) => place !== at && other.label === label) ? `${quote(label)} (${name} ${at + 1})` : quote(label);
}

/**
 * Returns the weight of a cell as the readout shows it.
 * @param {Arranged} arranged
 * @param {number} row
 * @param {number} column
 */
export function shownWeight(arranged, row, column) {
  const at = row * arranged.columns.length + column;
  return arranged.masked[at] ? "masked" : formatValue(arranged, arranged.values[at]);
}

/**
 * Returns a weight or a difference as text. A positive difference gets a plus sign.
 * @param {Arranged} arranged
 * @param {number} value
 */
export function formatValue({ signed }, value) {
  return `${signed && value > 0 ? "+" : ""}${typeset(value, 4)}`;
}
