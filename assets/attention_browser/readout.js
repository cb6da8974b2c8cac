// Writes sentences about a cell, a row or a column, and about the sum of several rows or columns.

import { SCALES } from "../shared/colours.js";
import { quote } from "../shared/direction.js";
import { arrange, entryName, shownWeight, formatValue } from "./arrangement.js";
import { MIN_OPACITY } from "./lines.js";
import { pinnedCell } from "./pins.js";
import { summed, sumsOf } from "./sums.js";
/** @import { InputKind } from "../shared/input.js" */
/** @import { Arranged, Choice, KindData, KindHeader, Label, Pinned, Place } from "./arrangement.js" */
/** @import { Head } from "./grid.js" */

/** @type {Record<InputKind, string>} advice on using a large figure */
export const READING_HINTS = {
  mouse: "Hover over a cell to read it; click to keep it selected.",
  touch: "Tap a cell to read it and keep it selected.",
  keys: "In the large figure, press arrow keys to read cells and Enter to keep one selected.",
};
/** @type {Record<InputKind, string>} advice on using the line view */
export const LINE_HINTS = {
  ...READING_HINTS, mouse: "Hover over a word to see only its lines; click to keep it selected.", touch: "Tap a word to see only its lines.",
};
/** @type {Record<InputKind, string>} advice if only the grid is shown */
export const OVERVIEW_HINTS = {
  mouse: "Hover over a head to read its name and one of its weights.",
  touch: "Tap a head to open it.",
  keys: "Arrow keys in the grid choose a head; Enter opens it.",
};

/**
 * Returns a sentence about the cell, row or column under the pointer. If the pointer is on none of these, the sentence
 * is about what is pinned.
 * @param {Arranged} arranged
 * @param {Place | null} at the cell, row or column under the pointer
 * @param {Pinned} selected
 * @param {string} [invitation] text to return if nothing is under the pointer or pinned
 */
export function description(arranged, at, selected, invitation) {
  const several = selected.rows.size > 1 || selected.columns.size > 1;
  return !at && several ? sumSentence(arranged, selected) : cellSentence(arranged, at ?? pinnedCell(selected), invitation);
}

/**
 * Returns one sentence about a cell, a row or a column of a head.
 * @param {Arranged} arranged
 * @param {Place} at
 * @param {string} invitation
 */
export function cellSentence(arranged, at, invitation = "") {
  const { rows, columns, values } = arranged;
  const { row = -1, column = -1 } = at;
  const from = rows[row];
  const to = columns[column];
  if (from && to) {
    const weight = shownWeight(arranged, row, column);
    if (weight === "masked") return `${quote(from.label)} (row ${row + 1}) cannot look at ${quote(to.label)}: masked`;
    const [start, end] = [`${quote(from.label)} (row ${row + 1})`, `${quote(to.label)} (column ${column + 1})`];
    return arranged.signed
      ? `The weight from ${start} to ${end} changed by ${weight} compared with the model as trained`
      : `${start} looks at ${end} with weight ${weight}`;
  }
  // A masked cell has no weight to report.
  /** @type {(cell: number) => number | null} */
  const seen = (cell) => (arranged.masked[cell] ? null : values[cell]);
  if (from) {
    const looks = arranged.signed ? "has the largest weight changes at" : "looks most at";
    return `${entryName(rows, row, "row")} ${looks} ${strongestPlace(arranged, "column", (c) => seen(row * columns.length + c))}`;
  }
  if (to) {
    const looked = arranged.signed ? "has the largest weight changes from" : "is looked at most by";
    return `${entryName(columns, column, "column")} ${looked} ${strongestPlace(arranged, "row", (r) => seen(r * columns.length + column))}`;
  }
  return invitation;
}

/**
 * Returns one sentence about several rows, several columns, or the cells where the pinned rows and columns meet.
 * @param {Arranged} arranged
 * @param {Pinned} selected
 */
function sumSentence(arranged, selected) {
  const { rows, columns } = arranged;
  const sums = sumsOf(arranged, selected);
  /** @type {(side: Label[], indices: Set<number>, name: string) => string} */
  const many = (side, indices, name) => {
    const { numbers, labels } = summed(side, indices);
    return `${labels.map(quote).join(" and ")} (${name}${numbers.length > 1 ? "s" : ""} ${numbers.join(", ")})`;
  };
  const { rows: ofRows, columns: ofColumns } = sums;
  if (ofRows && !ofColumns) {
    return `${many(rows, selected.rows, "row")} together look most at ${strongestPlace(arranged, "column", (c) => ofRows[c])}`;
  }
  if (ofColumns && !ofRows) {
    return `${many(columns, selected.columns, "column")} together are looked at most by ${strongestPlace(arranged, "row", (r) => ofColumns[r])}`;
  }
  return `${many(rows, selected.rows, "row")} ${selected.rows.size > 1 ? "look" : "looks"} at `
    + `${many(columns, selected.columns, "column")} with a total weight of ${sums.all.toFixed(4)}`;
}

/**
 * Returns the names and values of the three rows or columns with the largest absolute values, as text. Null values are
 * left out.
 * @param {Arranged} arranged
 * @param {"row" | "column"} name
 * @param {(index: number) => number | null} valueAt
 */
function strongestPlace(arranged, name, valueAt) {
  const side = name === "row" ? arranged.rows : arranged.columns;
  const known = side.flatMap((_, index) => {
    const value = valueAt(index);
    return value === null ? [] : [{ index, value }];
  });
  return known.sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 3)
    .map(({ index, value }) => `${entryName(side, index, name)} ${formatValue(arranged, value)}`).join(", ");
}

/**
 * Returns sentences that say how the numbers were processed before they were drawn.
 * @param {Choice} choice
 * @param {Pinned} selected
 */
export function notesOf(choice, selected) {
  const least = choice.look === "lines" ? Math.max(MIN_OPACITY, choice.threshold / 100) : choice.threshold / 100;
  return [
    least > 0 && `Weights below ${least.toFixed(2)} are hidden.`,
    choice.look === "map" && selected.rows.size > 1 && `The bars below show the sum of the ${selected.rows.size} selected rows.`,
    choice.look === "map" && selected.columns.size > 1 && `The bars on the right show the sum of the ${selected.columns.size} selected columns.`,
    choice.scale !== SCALES[0] && `Colours: ${choice.scale}.`,
  ].filter(Boolean);
}

/**
 * Returns all heads of all layers, sorted by the absolute value of their weight in a cell, the largest first. The list
 * is empty if `at` is not a cell, or if the cell is masked.
 * @param {KindData} data
 * @param {Choice} choice
 * @param {Place} at
 * @returns {(Head & { value: number, weight: string })[]}
 */
export function rankedHeads(data, choice, at) {
  const { row, column } = at;
  if (row === undefined || column === undefined) return [];
  const { layers, heads } = data.header;
  const found = [];
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const arranged = arrange(data, choice, layer, head);
      const cell = row * arranged.columns.length + column;
      if (arranged.masked[cell]) return [];
      found.push({ layer, head, value: arranged.values[cell], weight: shownWeight(arranged, row, column) });
    }
  }
  return found.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

/**
 * Returns the caption of a saved figure. It contains the title, the source sentence, the target sentence or both, and
 * any experiment saved with the figure. Notes state the scale and how the numbers were processed.
 * @param {KindHeader} header
 * @param {Choice} choice
 * @param {Arranged} arranged
 * @param {Pinned} selected
 */
export function captionOf(header, choice, arranged, selected) {
  const { source, target } = header.shown;
  const lines = choice.look === "lines" && !arranged.signed;
  const others = lines ? choice.heads.filter((head) => head < header.heads) : [];
  const heads = [choice.head, ...others].map((head) => head + 1);
  const colours = arranged.signed ? `weight after the change minus weight in the model as trained, ±${arranged.largest.toFixed(4)}` : {
    [SCALES[0]]: "weight, from 0 to 1",
    [SCALES[1]]: `weight, from 0 to this head's largest (${arranged.largest.toFixed(4)})`,
    [SCALES[2]]: "square root of the weight, from 0 to 1",
  }[choice.scale];
  return {
    title: `${header.title}${header.version ? ` (${header.version})` : ""}, layer ${choice.layer + 1}, head${heads.length > 1 ? "s" : ""} ${heads.join(", ")}`,
    sentence: { encoder: source, decoder: target, cross: `${source} → ${target}` }[header.kind],
    notes: [
      lines ? `Width of a line: ${colours}.` : `Colour: ${colours}.`,
      !lines && arranged.masked.some(Boolean) && "Hatched grey cells are masked.",
      choice.words && "Tokens are merged into words.",
      choice.hide && "Start and end symbols are hidden, and every row is scaled to a sum of 1.",
      ...notesOf({ ...choice, scale: SCALES[0] }, selected),
    ].filter(Boolean).join(" "),
    experiment: header.experiment,
  };
}
