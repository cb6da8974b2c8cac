// A translation from the server: its steps, and the attention of every head at each step.

import { quote } from "../shared/direction.js";
import { typeset, withMinus } from "../shared/numbers.js";
import { weightOf } from "../shared/wire.js";

/**
 * A token that could be written: ID, label and log-probability in nats.
 * @typedef {[number, string, number]} Candidate
 */
/**
 * One step, which wrote the token `id` with the label `out`. `layers` has the prediction of each layer alone, and the
 * log-probability that the layer gives to that token.
 * @typedef {{
 *   id: number, out: string, logProb: number, rank: number, entropy: number, forced: boolean, candidates: Candidate[],
 *   layers: { candidates: Candidate[], logProb: number }[],
 * }} Step
 */
/**
 * A node of the search tree; `parent` is an index, `penalised` the score with the length penalty.
 * @typedef {{
 *   parent: number | null, step: number, id: number, rank: number, label: string, logProb: number, score: number,
 *   penalised: number, fate: "alive" | "ended" | "pruned" | "unfinished",
 * }} TreeNode
 */
/**
 * The beam's search tree. `best` are the nodes of the translation, and `cutoffs` the last score of each step that
 * survived. `rows` is the attention of one node, and `left` the number of nodes that were not sent.
 * @typedef {{
 *   nodes: TreeNode[], best: number[], cutoffs: number[], left: number,
 *   rows: { node: number, whose: string, cross: number[], decoder: number[] } | null,
 * }} SearchTree
 */
/**
 * The settings of the decoding, as the server used them (pages/ui/params/decoding.py).
 * @typedef {{
 *   method: string, beam_size: number, length_penalty: number, temperature: number, top_k: number, top_p: number,
 *   seed: number, forced: number[], suppressed: number[],
 * }} Decoded
 */
/**
 * The decoding settings and the user's view; `node` is 1-based, and 0 stands for no node.
 * @typedef {Decoded & {
 *   step: number, show: string, node: number, search: boolean, layer: number, head: number,
 * }} StepsParams
 */
/**
 * A visited translation: the part that it shares with the first translation, and the part that differs.
 * @typedef {{
 *   common: string, own: string, current: boolean, read: boolean, how: string, logProb: number, count: number,
 *   params: Decoded, parts: number | null,
 * }} Visited
 */
/** @typedef {{ name: string, direction: "ltr" | "rtl" }} NamedLanguage */
/**
 * The header that the server sends for a translation, or for a continuation of a text with `before` tokens
 * (pages/ui/decoding/payload.py).
 * @typedef {{
 *   id: string, asked: { number: number, params: StepsParams }, lecture?: boolean, params: Decoded, layers: number, heads: number, before: number, noun: string,
 *   source: string[], read: string[], languages: Record<"source" | "target", NamedLanguage>, suppressed: [number, string][], readable: boolean, steps: Step[],
 *   forced: { text: string, count: number, given: boolean } | null, translations: Visited[], tree: SearchTree | null,
 * }} TranslationHeader
 */

/** @type {(value: number) => string} */
export const NATS = (value) => typeset(value, 2);

/**
 * Returns a probability with four decimals, or as a power of ten if these would all be 0, because no probability is 0.
 * @param {number} logProb
 */
export function probabilityOf(logProb) {
  const probability = Math.exp(logProb);
  return probability < 0.00005 ? withMinus(probability.toExponential(0)) : probability.toFixed(4);
}

/**
 * Returns a probability as a label, with the full number in the text that appears under the pointer.
 * @param {number} logProb
 */
export function roughProbability(logProb) {
  const probability = Math.exp(logProb);
  return probability < 0.005 ? "≈ 0" : probability.toFixed(2);
}

export class Translation {
  /**
   * @param {{ header: TranslationHeader, codes: Uint16Array }} message `codes` has the rows of every head and then of
   *   the mean of all heads, first for the decoder and then for the source
   */
  constructor({ header, codes }) {
    this.id = header.id;
    this.asked = header.asked;
    this.lecture = Boolean(header.lecture);
    this.params = header.params;
    this.layers = header.layers;
    this.heads = header.heads;
    this.before = header.before;
    this.noun = header.noun;
    this.source = header.source;
    this.read = header.read;
    this.languages = header.languages;
    this.suppressed = header.suppressed;
    this.forced = header.forced;
    this.readable = header.readable;
    this.steps = header.steps;
    this.translations = header.translations;
    this.tree = header.tree;
    this.codes = codes;
    this.count = header.steps.length;
    this.planes = header.layers * header.heads + 1;
  }

  /**
   * Returns weights of the decoder at a step.
   * @param {number} plane layer * heads + head; the last is the mean
   * @param {number} step
   */
  decoderRow(plane, step) {
    const width = this.before + this.count;
    const start = (plane * this.count + step) * width;
    return Array.from(this.codes.subarray(start, start + this.before + step + 1), weightOf);
  }

  /**
   * Returns weights of the cross-attention at a step.
   * @param {number} plane as for the decoder
   * @param {number} step
   */
  crossRow(plane, step) {
    const width = this.source.length;
    const start = this.planes * this.count * (this.before + this.count) + (plane * this.count + step) * width;
    return Array.from(this.codes.subarray(start, start + width), weightOf);
  }

  /**
   * Returns the tokens that the decoder has read at a step.
   * @param {number} step
   */
  readUpTo(step) {
    return this.read.slice(0, this.before + step + 1);
  }

  /**
   * Returns the index of the plane to show; the mean if all heads are shown.
   * @param {Pick<StepsParams, "show" | "layer" | "head">} params
   */
  plane({ show, layer, head }) {
    return show === "head" ? layer * this.heads + head : this.planes - 1;
  }

  // The step at which the two most likely tokens are closest to each other.
  get hesitation() {
    const gaps = this.steps.map(({ candidates: [first, second] }) => Math.exp(first[2]) - Math.exp(second?.[2] ?? -99));
    return gaps.indexOf(Math.min(...gaps));
  }

  /**
   * Returns the sum of the log-probabilities up to and including a step.
   * @param {number} step
   */
  scoreAt(step) {
    return this.steps.slice(0, step + 1).reduce((sum, { logProb }) => sum + logProb, 0);
  }
}

/**
 * Returns the most likely tokens of a step, followed by the token it took, if that is not one of them. A token that was
 * sampled or forced may have a much lower rank.
 * @param {Step} step
 * @returns {Candidate[]}
 */
export function candidatesOf({ candidates: likeliest, id, out, logProb }) {
  return likeliest.some(([token]) => token === id) ? likeliest : [...likeliest, [id, out, logProb]];
}

/**
 * Returns a sentence about a step, composed from its numbers.
 * @param {Translation} translation
 * @param {number} step
 */
export function sentenceOfStep(translation, step) {
  const { candidates: [first, second], entropy, rank, forced, out, logProb } = translation.steps[step];
  /** @type {(candidate: Candidate) => string} */
  const named = ([, label, logProb]) => `${quote(label)} (${roughProbability(logProb)})`;
  const [most, next] = [Math.exp(first[2]), Math.exp(second?.[2] ?? -99)];
  if (forced && rank > 1) return `You chose this token; the model preferred ${named(first)}.`;
  if (rank > 1) return `It took ${quote(out)} (${probabilityOf(logProb)}); ${named(first)} was more likely.`;
  const torn = (most - next < 0.2 && most < 0.6) || (step === translation.hesitation && most < 0.9);
  if (torn) return `It hesitates between ${named(first)} and ${named(second)}.`;
  // The probability as written, with two decimals.
  if (most >= 0.895) return `It is sure: ${named(first)}.`;
  if (entropy > 2) {
    return `It prefers ${named(first)}, but the rest is spread over many alternatives (entropy ${entropy.toFixed(2)} nats).`;
  }
  return `It prefers ${named(first)} to ${named(second)}.`;
}
