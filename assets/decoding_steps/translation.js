// A translation from the server: its steps, and the attention of every head at each step.

import { quote } from "../shared/direction.js";
import { typeset, withMinus } from "../shared/numbers.js";
import { weightOf } from "../shared/wire.js";

/**
 * A token that could be written: ID, label and log-probability in nats.
 * @typedef {[number, string, number]} Candidate
 */
/**
 * One decoding step. It wrote the token `id`, whose label is `out`. `layers` contains each layer's own candidates, and
 * the log-probability that the layer gives to the written token.
 * @typedef {{
 *   id: number, out: string, logProb: number, rank: number, entropy: number, forced: boolean, candidates: Candidate[],
 *   layers: { candidates: Candidate[], logProb: number }[],
 * }} Step
 */
/**
 * A node of the search tree. `parent` is the index of its parent, and `penalised` is its score with the length penalty.
 * @typedef {{
 *   parent: number | null, step: number, id: number, rank: number, label: string, logProb: number, score: number,
 *   penalised: number, fate: "alive" | "ended" | "pruned" | "unfinished",
 * }} TreeNode
 */
/**
 * The search tree of beam search. `best` contains the indices of the translation's nodes. `cutoffs` contains the lowest
 * surviving score of each step. `rows` is the attention of the chosen node. `left` is the number of nodes that were not
 * sent.
 * @typedef {{
 *   nodes: TreeNode[], best: number[], cutoffs: number[], left: number,
 *   rows: { node: number, whose: string, cross: number[], decoder: number[] } | null,
 * }} SearchTree
 */
/**
 * The decoding settings that the server used (pages/ui/params/decoding.py).
 * @typedef {{
 *   method: string, beam_size: number, length_penalty: number, temperature: number, top_k: number, top_p: number,
 *   seed: number, forced: number[], suppressed: number[],
 * }} Decoded
 */
/**
 * The decoding settings and the user's view. `node` is 1-based; 0 means no node.
 * @typedef {Decoded & {
 *   step: number, show: string, node: number, search: boolean, layer: number, head: number,
 * }} StepsParams
 */
/**
 * A visited translation. `common` is the beginning that it shares with the first translation; `own` is the rest.
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
 * Returns a probability with four decimals. If all digits would be 0, it is in scientific notation, because no
 * probability is exactly 0.
 * @param {number} logProb
 */
export function probabilityOf(logProb) {
  const probability = Math.exp(logProb);
  return probability < 0.00005 ? withMinus(probability.toExponential(0)) : probability.toFixed(4);
}

/**
 * Returns a probability with two decimals, for labels whose tooltip shows more decimals.
 * @param {number} logProb
 */
export function roughProbability(logProb) {
  const probability = Math.exp(logProb);
  return probability < 0.005 ? "≈ 0" : probability.toFixed(2);
}

export class Translation {
  /**
   * @param {{ header: TranslationHeader, codes: Uint16Array }} message `codes` contains masked attention, then cross
   *   attention; each has one plane of weights per head, and then one for the mean of all heads
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
   * Returns the weights of masked attention at a step.
   * @param {number} plane layer * heads + head; the last plane is the mean of all heads
   * @param {number} step
   */
  decoderRow(plane, step) {
    const width = this.before + this.count;
    const start = (plane * this.count + step) * width;
    return Array.from(this.codes.subarray(start, start + this.before + step + 1), weightOf);
  }

  /**
   * Returns the weights of cross attention at a step.
   * @param {number} plane as in `decoderRow`
   * @param {number} step
   */
  crossRow(plane, step) {
    const width = this.source.length;
    const start = this.planes * this.count * (this.before + this.count) + (plane * this.count + step) * width;
    return Array.from(this.codes.subarray(start, start + width), weightOf);
  }

  /**
   * Returns the tokens that the decoder has read up to a step, including the one that it reads at this step.
   * @param {number} step
   */
  readUpTo(step) {
    return this.read.slice(0, this.before + step + 1);
  }

  /**
   * Returns the index of the attention plane to show: the chosen head's if one head is shown, otherwise the plane of the
   * mean of all heads.
   * @param {Pick<StepsParams, "show" | "layer" | "head">} params
   */
  plane({ show, layer, head }) {
    return show === "head" ? layer * this.heads + head : this.planes - 1;
  }

  // The step at which the two most likely tokens have the most similar probabilities.
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
 * Returns the most likely tokens of a step, followed by the written token if it is not one of them. A sampled or forced
 * token may have a much lower rank.
 * @param {Step} step
 * @returns {Candidate[]}
 */
export function candidatesOf({ candidates: likeliest, id, out, logProb }) {
  return likeliest.some(([token]) => token === id) ? likeliest : [...likeliest, [id, out, logProb]];
}

/**
 * Returns a sentence that says how certain the model was at a step.
 * @param {Translation} translation
 * @param {number} step
 */
export function sentenceOfStep(translation, step) {
  const { candidates: [first, second], entropy, rank, forced, out, logProb } = translation.steps[step];
  /** @type {(candidate: Candidate) => string} */
  const named = ([, label, logProb]) => `${quote(label)} (${roughProbability(logProb)})`;
  const [most, next] = [Math.exp(first[2]), Math.exp(second?.[2] ?? -99)];
  if (forced && rank > 1) return `You chose this token; the model preferred ${named(first)}.`;
  if (rank > 1) return `The model took ${quote(out)} (${probabilityOf(logProb)}); ${named(first)} was more likely.`;
  const torn = (most - next < 0.2 && most < 0.6) || (step === translation.hesitation && most < 0.9);
  if (torn) return `The model hesitates between ${named(first)} and ${named(second)}.`;
  // The limit is not 0.9, because 0.895 is already displayed as 0.90.
  if (most >= 0.895) return `The model is sure: ${named(first)}.`;
  if (entropy > 2) {
    return `The model prefers ${named(first)}, but the rest of the probability is spread over many alternatives (entropy ${entropy.toFixed(2)} nats).`;
  }
  return `The model prefers ${named(first)} to ${named(second)}.`;
}
