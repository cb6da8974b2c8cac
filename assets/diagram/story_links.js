// The attention links between words of a sentence and its translation: the text of each link, and the URL parameters of
// the page that shows the link.

import { quote } from "../shared/direction.js";

/**
 * The words of a sentence. Every list has an entry for each word. `words` contains the labels. `spoken` says whether
 * the word has a letter or a digit. `rows` and `columns` are the positions of the word's tokens in token maps. `alone`
 * says whether the word has its own row in a word map. `looks` contains the indices of the links from the word, and
 * `looked` those of the links to the word. Both lists begin with the most prominent link. `across` is the index of the
 * other sentence's word with the most cross-attention, averaged over all heads, or -1 without such a word.
 * @typedef {{
 *   language: string, words: string[], spoken: boolean[], rows: number[][], columns: number[][], alone: boolean[],
 *   looks: number[][], looked: number[][], across: number[],
 * }} StorySentence
 */
/** @typedef {"source" | "target"} SideName */
/** @typedef {"encoder" | "decoder" | "cross"} Kind */
/**
 * @typedef {[kind: Kind, row: number, column: number, layer: number, head: number, weight: number]} Link row, column, layer and head are zero-based */
/**
 * The sentences and their links. `first` is how many links from a word are shown until the user asks for the others.
 * @typedef {{ source: StorySentence, target: StorySentence, links: Link[], opens: number, first: number }} StoryMessage */
/** @typedef {{ side: SideName, at: number }} Word */

/** @type {Record<Kind, { name: string, page: string, rows: SideName, columns: SideName }>} */
export const KINDS = {
  encoder: { name: "encoder", page: "encoder_attention", rows: "source", columns: "source" },
  decoder: { name: "masked", page: "masked_attention", rows: "target", columns: "target" },
  cross: { name: "cross", page: "cross_attention", rows: "target", columns: "source" },
};

/** @param {number} weight */
export const percent = (weight) => `${Math.round(100 * weight)}%`;

/**
 * Returns the text of a link: the other word, the weight as a percentage, and the head.
 * @param {StoryMessage} story
 * @param {Link} link
 * @param {boolean} looks whether the link is from the described word, rather than to it
 */
export function linkSentence(story, [kind, row, column, layer, head, weight], looks) {
  const { name, rows, columns } = KINDS[kind];
  const other = looks ? story[columns].words[column] : story[rows].words[row];
  return `${quote(other)} ${percent(weight)}: ${name} layer ${layer + 1}, head ${head + 1}`;
}

/**
 * Returns the rows and columns of a word in each kind of attention. Where it has none, the lists are empty.
 * @param {StoryMessage} story
 * @param {Word} word
 * @returns {Record<string, { rows: number[], columns: number[] }>}
 */
export function placesOf(story, { side, at }) {
  return Object.fromEntries(Object.entries(KINDS).map(([kind, { rows, columns }]) => [kind, {
    rows: rows === side ? story[side].rows[at] : [], columns: columns === side ? story[side].columns[at] : [],
  }]));
}

/**
 * Returns the URL parameter that selects a target word on *What mattered*: the 1-based position of the word's first
 * token. A source word is replaced by the target word to which cross-attention links it most strongly.
 * @param {StoryMessage} story
 * @param {Word} word
 * @returns {Record<string, string>}
 */
export function explanationOf({ source, target }, { side, at }) {
  const [step] = target.rows[side === "target" ? at : source.across[at]] ?? [];
  return step === undefined ? {} : { mattered_explained: String(step + 1) };
}

/**
 * Returns the part of a text before one of its words, or "nothing yet" for the first word.
 * @param {string} text
 * @param {string[]} words
 * @param {number} at
 */
export function before(text, words, at) {
  let end = 0;
  for (const word of words.slice(0, at)) end = Math.max(end, text.indexOf(word, end) + word.length);
  return text.slice(0, end) || "nothing yet";
}

/**
 * Returns the links from a word, largest weight first: all, or those that stand out most (at most `story.first`).
 * @param {StoryMessage} story
 * @param {Word} word
 * @param {boolean} all
 */
export function linksFrom(story, { side, at }, all) {
  const looks = story[side].looks[at];
  return looks.slice(0, all ? looks.length : story.first).map((number) => story.links[number]).sort((a, b) => b[5] - a[5]);
}

/**
 * Returns the URL parameters that open a link's head with the link's row pinned. The page shows tokens instead of words
 * if the word from which the link starts would share its row with another word.
 * @param {StoryMessage} story
 * @param {Link} link
 * @returns {Record<string, string>}
 */
export function addressOf(story, [kind, row, column, layer, head]) {
  const { rows, alone } = story[KINDS[kind].rows];
  const words = kind === "encoder" || alone[row];
  return { layer: String(layer + 1), head: String(head + 1), words: String(words), hide: "false",
    [`${kind}_rows`]: rows[row].join("."),
    [`${kind}_columns`]: words ? "" : story[KINDS[kind].columns].columns[column].join(".") };
}
