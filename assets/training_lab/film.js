// The unpacked data of a training run: the measurements and the attention weights of every snapshot.

import { MASKED_CODE, weightOf } from "../shared/wire.js";
/** @import { AxisTitles } from "../attention_browser/arrangement.js" */
/** @import { SideMessage } from "../attention_browser/side_by_side.js" */

/** @typedef {"encoder" | "decoder" | "cross"} FilmKind */
/** @typedef {{ step: number, text: string, score: string, kind: FilmKind | "", head: number }} FilmEvent */
/**
 * The user's view (pages/ui/params/training_lab.py). If `moment` is -1, the view shows the newest snapshot.
 * `encoder`, `decoder` and `cross` are 1-based head numbers, counted across all layers; 0 means the head in the first
 * event of this attention kind. The score "auto" is the score of the first event that has one.
 * @typedef {{ moment: number, score: string, encoder: number, decoder: number, cross: number }} FilmView
 */
/**
 * The header from the server (pages/ui/training_lab/payload.py). `learned` holds, per snapshot, the share of repeated
 * training items that the model gets right; it is null if no items repeat. `spectra` is null unless the task is addition
 * modulo a number.
 * @typedef {{
 *   id: string, steps: number, layers: number, heads: number, losses: [number, number][], at: number[], heldOut: number[],
 *   exact: number[], learned: number[] | null, spectra: number[][] | null, scores: Record<string, Record<FilmKind, (number | null)[][]>>, events: FilmEvent[],
 *   maps: { kind: FilmKind, title: string, rows: string[], columns: string[] }[], axes: AxisTitles,
 *   asked: { number: number, view: FilmView }, lecture?: boolean, running: boolean,
 * }} FilmHeader
 */

/** @type {Record<string, string>} */
export const SCORE_NAMES = { diagonal: "diagonal", mirror: "mirror", prefix_match: "prefix match", entropy: "entropy" };

export class Film {
  /** @param {{ header: FilmHeader, codes: Uint16Array }} message */
  constructor({ header, codes }) {
    this.header = header;
    this.codes = codes;
    this.count = header.at.length;
    this.headCount = header.layers * header.heads;
  }

  /**
   * Returns the index of the last snapshot at or before step `moment`; a negative `moment` selects the newest snapshot.
   * @param {FilmView} view
   */
  indexOf({ moment }) {
    if (moment < 0) return this.count - 1;
    const later = this.header.at.findIndex((step) => step > moment);
    return later < 0 ? this.count - 1 : Math.max(0, later - 1);
  }

  /**
   * Returns the head displayed for an attention kind, as a zero-based index counted across all layers.
   * @param {FilmKind} kind
   * @param {FilmView} view
   */
  headOf(kind, view) {
    if (view[kind] > 0) return Math.min(view[kind], this.headCount) - 1;
    return this.header.events.find((event) => event.kind === kind)?.head ?? 0;
  }

  /**
   * Returns the name of the score that is drawn.
   * @param {FilmView} view
   */
  scoreOf({ score }) {
    return score === "auto" ? this.header.events.find((event) => event.score)?.score ?? "diagonal" : score;
  }

  /**
   * Returns a head's name, in words.
   * @param {number} head zero-based number over all layers
   */
  headName(head) {
    const { heads, layers } = this.header;
    const number = `head ${(head % heads) + 1}`;
    return layers > 1 ? `layer ${Math.floor(head / heads) + 1}, ${number}` : number;
  }

  /**
   * Returns the maps of all attention kinds at one snapshot.
   * @param {number} index of the snapshot
   * @param {FilmView} view
   * @returns {SideMessage[]}
   */
  sides(index, view) {
    const { maps, axes } = this.header;
    const size = maps.reduce((sum, { rows, columns }) => sum + rows.length * columns.length, 0) * this.headCount;
    let start = index * size;
    return maps.map(({ kind, title, rows, columns }) => {
      const cells = rows.length * columns.length;
      const head = this.headOf(kind, view);
      const codes = this.codes.subarray(start + head * cells, start + (head + 1) * cells);
      start += cells * this.headCount;
      return {
        title: this.headCount > 1 ? `${title}, ${this.headName(head)}` : title, axes, rows, columns, scale: "fixed",
        measure: "weight", values: Float32Array.from(codes, weightOf),
        masked: Uint8Array.from(codes, (code) => Number(code === MASKED_CODE)),
      };
    });
  }

  /**
   * Returns a sentence that states a snapshot's step, held-out loss and share of right answers.
   * @param {number} index
   */
  described(index) {
    const { at, steps, heldOut, exact } = this.header;
    return `Step ${at[index]} of ${steps}: loss on held-out items ${heldOut[index].toFixed(3)}, `
      + `${(exact[index] * 100).toFixed(1)}% of them right.`;
  }
}
