// A translation that the server sent: its steps, and every head's attention at each.

/**
 * A piece that could be written: id, label and log-probability in nats.
 * @typedef {[number, string, number]} Candidate
 */
/**
 * One step: the piece `id` was written, whose label is `out`; `layers` has what each layer alone would predict, and the
 * log-probability that it gives to that piece.
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
 * The beam's search tree: `best` are the nodes of the translation, `cutoffs` the last score of each step that survived,
 * `rows` the attention of one node, `left` how many nodes were not sent.
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
 * Those settings, and what is looked at; `node` counts from 1, 0 is none.
 * @typedef {Decoded & {
 *   step: number, show: string, node: number, search: boolean, layer: number, head: number,
 * }} StepsParams
 */
/**
 * A translation that was visited: what it has in common with the first one, and its own.
 * @typedef {{
 *   common: string, own: string, current: boolean, read: boolean, how: string, logProb: number, count: number,
 *   params: Decoded, parts: number | null,
 * }} Visited
 */
/** @typedef {{ name: string, direction: "ltr" | "rtl" }} NamedLanguage */
/**
 * What the server sends of a translation, or of a continuation, whose beginning has `before` pieces
 * (pages/ui/decoding/payload.py).
 * @typedef {{
 *   id: string, asked: { number: number, params: StepsParams }, lecture?: boolean, params: Decoded, layers: number, heads: number, before: number, noun: string,
 *   source: string[], read: string[], languages: Record<"source" | "target", NamedLanguage>, suppressed: [number, string][], readable: boolean, steps: Step[],
 *   forced: { text: string, count: number, given: boolean } | null, translations: Visited[], tree: SearchTree | null,
 * }} TranslationHeader
 */

/** @type {(value: number) => string} */
const NATS = (value) => typeset(value, 2);

/**
 * Four decimals, or the power of ten where they would all be 0: no piece has a probability of exactly 0.
 * @param {number} logProb
 */
function probabilityOf(logProb) {
  const probability = Math.exp(logProb);
  return probability < 0.00005 ? withMinus(probability.toExponential(0)) : probability.toFixed(4);
}

/**
 * A probability as a label, whose whole number is in the text that comes by pointing at it.
 * @param {number} logProb
 */
function roughProbability(logProb) {
  const probability = Math.exp(logProb);
  return probability < 0.005 ? "≈ 0" : probability.toFixed(2);
}

class Translation {
  /**
   * @param {{ header: TranslationHeader, codes: Uint16Array }} message the codes are, for the decoder and then for the
   *   source, every head's rows and last the mean of all heads
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
   * Weights of the decoder at a step.
   * @param {number} plane layer * heads + head; the last is the mean
   * @param {number} step
   */
  decoderRow(plane, step) {
    const width = this.before + this.count;
    const start = (plane * this.count + step) * width;
    return Array.from(this.codes.subarray(start, start + this.before + step + 1), weightOf);
  }

  /**
   * Weights of the cross attention at a step.
   * @param {number} plane as for the decoder
   * @param {number} step
   */
  crossRow(plane, step) {
    const width = this.source.length;
    const start = this.planes * this.count * (this.before + this.count) + (plane * this.count + step) * width;
    return Array.from(this.codes.subarray(start, start + width), weightOf);
  }

  /**
   * What has been read at a step.
   * @param {number} step
   */
  readUpTo(step) {
    return this.read.slice(0, this.before + step + 1);
  }

  /**
   * The plane that is looked at; the mean, too, where all heads are.
   * @param {Pick<StepsParams, "show" | "layer" | "head">} params
   */
  plane({ show, layer, head }) {
    return show === "head" ? layer * this.heads + head : this.planes - 1;
  }

  // The step at which the two likeliest pieces are closest to each other.
  get hesitation() {
    const gaps = this.steps.map(({ candidates: [first, second] }) => Math.exp(first[2]) - Math.exp(second?.[2] ?? -99));
    return gaps.indexOf(Math.min(...gaps));
  }

  /**
   * The sum of the log-probabilities up to a step, that step included.
   * @param {number} step
   */
  scoreAt(step) {
    return this.steps.slice(0, step + 1).reduce((sum, { logProb }) => sum + logProb, 0);
  }
}

/**
 * The likeliest pieces of a step, and behind them the one it took, if it is none of them: a piece that was sampled or forced
 * may have a much lower rank.
 * @param {Step} step
 * @returns {Candidate[]}
 */
function candidatesOf({ candidates: likeliest, id, out, logProb }) {
  return likeliest.some(([piece]) => piece === id) ? likeliest : [...likeliest, [id, out, logProb]];
}

/**
 * One sentence about a step, made from its numbers.
 * @param {Translation} translation
 * @param {number} step
 */
function sentenceOfStep(translation, step) {
  const { candidates: [first, second], entropy, rank, forced, out, logProb } = translation.steps[step];
  /** @type {(candidate: Candidate) => string} */
  const named = ([, label, logProb]) => `${quote(label)} (${Math.exp(logProb).toFixed(2)})`;
  const [most, next] = [Math.exp(first[2]), Math.exp(second?.[2] ?? -99)];
  if (forced && rank > 1) return `This piece was chosen for the model; it would rather have said ${named(first)}.`;
  if (rank > 1) return `It took ${quote(out)} (${probabilityOf(logProb)}); ${named(first)} was likelier.`;
  const torn = (most - next < 0.2 && most < 0.6) || (step === translation.hesitation && most < 0.9);
  if (torn) return `Here it hesitates between ${named(first)} and ${named(second)}.`;
  if (most >= 0.9) return `Here it is sure: ${named(first)}.`;
  if (entropy > 2) {
    return `Here it prefers ${named(first)}, but much else is possible: the entropy is ${entropy.toFixed(2)} nats.`;
  }
  return `Here it prefers ${named(first)} to ${named(second)}.`;
}
