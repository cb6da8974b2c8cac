// Tests of the clickable words of a sentence: the text and URL of each word's link, and the word's rows and columns.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import "./page.js";
import { addressOf, before, explanationOf, linkSentence, linksFrom, placesOf } from "../../assets/diagram/story_links.js";

const hostile = "<img src=x onerror=alert(1)>";
const STORY = {
  opens: 0, first: 3,
  source: { language: "English", words: ["the", hostile, "it"], spoken: [true, true, true], rows: [[0], [1, 2], [3]],
    columns: [[0], [1, 2], [3]], alone: [false, false, false], looks: [[], [], [0]], looked: [[], [], [1]], across: [-1, -1, 0] },
  target: { language: "German", words: ["es", "da"], spoken: [true, true], rows: [[0], [1, 2]], columns: [[1], [2, 3]],
    alone: [true, false], looks: [[1], [2]], looked: [[], []], across: [2, 1] },
  links: [["encoder", 2, 1, 5, 0, 0.6242], ["cross", 0, 2, 2, 3, 0.9951], ["cross", 1, 1, 0, 7, 0.5]],
};

describe("a link", () => {
  test("is described by the other word, the share of attention, and the layer and head counted from 1", () => {
    assert.equal(linkSentence(STORY, STORY.links[0], true), `“${hostile}” 62%: encoder layer 6, head 1`);
    assert.equal(linkSentence(STORY, STORY.links[1], false), "“es” 100%: cross layer 3, head 4");
    assert.equal(linkSentence(STORY, ["decoder", 1, 0, 1, 1, 0.5], true), "“es” 50%: masked layer 2, head 2");
  });

  test("opens its head with its row pinned", () => {
    assert.deepEqual(addressOf(STORY, STORY.links[0]),
      { layer: "6", head: "1", words: "true", hide: "false", encoder_rows: "3", encoder_columns: "" });
    assert.deepEqual(addressOf(STORY, STORY.links[1]),
      { layer: "3", head: "4", words: "true", hide: "false", cross_rows: "0", cross_columns: "" });
  });

  test("opens the token map if a row of the word map would include other steps", () => {
    assert.deepEqual(addressOf(STORY, STORY.links[2]),
      { layer: "1", head: "8", words: "false", hide: "false", cross_rows: "1.2", cross_columns: "1.2" });
  });
});

test("of the links from a word, those that stand out most are shown first, the largest weight first", () => {
  const weights = [0.6, 0.3, 0.8, 0.9, 0.4];
  const story = { ...STORY, links: weights.map((weight) => ["encoder", 0, 2, 0, 0, weight]),
    source: { ...STORY.source, looks: [[...weights.keys()], [1], []] } };
  /** @type {(at: number, all: boolean) => number[]} */
  const shown = (at, all) => linksFrom(story, { side: "source", at }, all).map((link) => link[5]);
  assert.deepEqual(shown(0, false), [0.8, 0.6, 0.3]);
  assert.deepEqual(shown(0, true), [0.9, 0.8, 0.6, 0.4, 0.3]);
  assert.deepEqual([shown(1, false), shown(2, true)], [[0.3], []]);
});

test("a word has rows where it attends and columns where it is attended to", () => {
  const none = { rows: [], columns: [] };
  assert.deepEqual(placesOf(STORY, { side: "source", at: 1 }),
    { encoder: { rows: [1, 2], columns: [1, 2] }, decoder: none, cross: { rows: [], columns: [1, 2] } });
  assert.deepEqual(placesOf(STORY, { side: "target", at: 1 }),
    { encoder: none, decoder: { rows: [1, 2], columns: [2, 3] }, cross: { rows: [1, 2], columns: [] } });
});

test("a word is explained by the first token of its target word, if it has one", () => {
  assert.deepEqual(explanationOf(STORY, { side: "target", at: 1 }), { mattered_explained: "2" });
  assert.deepEqual(explanationOf(STORY, { side: "source", at: 2 }), { mattered_explained: "1" });
  assert.deepEqual(explanationOf(STORY, { side: "source", at: 0 }), {});
});

test("the text read by the decoder is the part of the translation before the word", () => {
  const words = ["nicht", ",", "weil", "nicht"];
  assert.deepEqual([0, 1, 2, 3].map((at) => before("nicht, weil nicht", words, at)), ["nothing yet", "nicht", "nicht,", "nicht, weil"]);
});
