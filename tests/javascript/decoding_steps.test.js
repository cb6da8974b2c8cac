// Tests that compare decoding steps in the browser with the trace.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Recorder, fixture } from "./page.js";
import { rowsOfStep } from "../../assets/decoding_steps/attention_rows.js";
import { stepPicture } from "../../assets/decoding_steps/picture.js";
import {
  probabilityOf, roughProbability, sentenceOfStep, Translation,
} from "../../assets/decoding_steps/translation.js";
import { nextNode, NODE, pathTo, treePlaces } from "../../assets/decoding_steps/tree.js";
import { shadesOf } from "../../assets/shared/colours.js";
import { PICTURE_EDGE } from "../../assets/shared/surface.js";
import { unpack } from "../../assets/shared/wire.js";

const translation = new Translation(await unpack(fixture("decoding.bin")));
const expected = JSON.parse(fixture("decoding.json"));

function near(actual, wanted, tolerance) {
  assert.equal(actual.length, wanted.length);
  actual.forEach((value, index) => assert.ok(Math.abs(value - wanted[index]) <= tolerance, `${value}, ${wanted[index]}`));
}

test("attention rows of every head and of the mean match the trace", () => {
  const { layers, heads, count } = translation;
  for (let step = 0; step < count; step++) {
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        const plane = translation.plane({ show: "head", layer, head });
        near(translation.decoderRow(plane, step), expected.decoder[layer][head][step].slice(0, step + 1), 2e-5);
        near(translation.crossRow(plane, step), expected.cross[layer][head][step], 2e-5);
      }
    }
    const mean = translation.plane({ show: "mean", layer: 1, head: 1 });
    near(translation.decoderRow(mean, step), expected.decoder_mean[step].slice(0, step + 1), 2e-5);
    near(translation.crossRow(mean, step), expected.cross_mean[step], 2e-5);
  }
});

test("log-probabilities add up to the score, and the least certain step has the closest candidates", () => {
  near(translation.steps.map((_, step) => translation.scoreAt(step)), expected.scores, 1e-4);
  assert.equal(translation.hesitation, expected.hesitation);
});

test("cross-attention and masked attention of a head are titled differently", () => {
  const languages = { source: { name: "English", direction: "ltr" }, target: { name: "German", direction: "ltr" } };
  const translation = { layers: 6, heads: 8, languages, source: ["a"], read: ["b"], plane: () => 0, crossRow: () => [1], decoderRow: () => [1] };
  const titles = (show) => rowsOfStep(translation, { step: 0, show, layer: 3, head: 3 }).map(({ title }) => title);
  assert.deepEqual(titles("head"), ["Cross attention, layer 4, head 4 (one of 48): looks at the English sentence",
    "Masked attention, layer 4, head 4 (one of 48): looks back at the German tokens read so far"]);
  assert.match(titles("mean")[1], /^Masked attention, mean of all heads/);
});

test("a probability label has two decimal places, or ≈ 0 for tiny values", () => {
  assert.deepEqual([0.78104, 0.005, 0.0049, 2e-27].map((p) => roughProbability(Math.log(p))), ["0.78", "0.01", "≈ 0", "≈ 0"]);
});

test("a tiny probability is shown in scientific notation, not as 0", () => {
  assert.equal(probabilityOf(Math.log(0.5)), "0.5000");
  assert.equal(probabilityOf(-20), "2e−9");
  assert.equal(probabilityOf(Math.log(0.00005)), "0.0001");
});

test("a sentence states how certain the model is at a step", () => {
  const step = (probabilities, rest = {}) => sentenceOfStep({
    hesitation: -1, steps: [{ candidates: probabilities.map((p, id) => [id, "abc"[id], Math.log(p)]), entropy: 0.5, rank: 1,
      forced: false, out: "a", logProb: Math.log(probabilities[0]), ...rest }],
  }, 0);
  assert.equal(step([0.95, 0.03]), "The model is sure: “a” (0.95).");
  assert.equal(step([0.45, 0.4]), "The model hesitates between “a” (0.45) and “b” (0.40).");
  assert.equal(step([0.7, 0.2]), "The model prefers “a” (0.70) to “b” (0.20).");
  assert.match(step([0.7, 0.01], { entropy: 2.5 }), /the rest of the probability is spread over many alternatives \(entropy 2.50 nats\)/);
  assert.match(step([0.7, 0.2], { rank: 2, forced: true }), /^You chose this token; the model preferred/);
  assert.equal(step([0.7, 0.2], { rank: 2, out: "b", logProb: Math.log(0.2) }), "The model took “b” (0.2000); “a” (0.70) was more likely.");
});

test("boxes of the search tree do not overlap, and each step has its own column", () => {
  const { nodes } = translation.tree;
  for (const pruned of [true, false]) {
    const places = treePlaces(nodes, pruned);
    const shown = places.filter(Boolean);
    assert.equal(shown.length, nodes.filter(({ fate }) => pruned || fate !== "pruned").length);
    assert.equal(new Set(shown.map(({ x, y }) => `${x} ${y}`)).size, shown.length);
    nodes.forEach(({ step }, index) => {
      if (places[index]) assert.equal(places[index].x, step * NODE.across);
    });
    // The boxes of a column follow one another without gaps, in the order of the server's message.
    for (const step of new Set(nodes.map((node) => node.step))) {
      const column = places.filter((place, index) => place && nodes[index].step === step);
      assert.deepEqual(column.map(({ y }) => y), column.map((_, place) => NODE.top + place * NODE.down));
    }
  }
});

test("the best path of the search tree is the translation", () => {
  const { nodes, best } = translation.tree;
  assert.deepEqual(pathTo(nodes, best.at(-1)), best.map((index) => nodes[index]));
  assert.deepEqual(best.map((index) => nodes[index].id), translation.steps.map(({ id }) => id));
});

test("arrow keys follow the best path, return to the parent, and move within a step", () => {
  const { tree } = translation;
  const { nodes, best } = tree;
  assert.equal(nextNode(tree, 0, "ArrowRight", true), best[0] + 1);
  best.slice(1).forEach((index, at) => {
    assert.equal(nextNode(tree, best[at] + 1, "ArrowRight", true), index + 1);
    assert.equal(nextNode(tree, index + 1, "ArrowLeft", true), best[at] + 1);
  });
  assert.equal(nextNode(tree, best[0] + 1, "ArrowLeft", true), best[0] + 1, "there is nothing before the first step");
  nodes.forEach((node, index) => {
    const up = nextNode(tree, index + 1, "ArrowUp", true);
    assert.equal(nodes[up - 1].step, node.step);
    if (up !== index + 1) assert.equal(nextNode(tree, up, "ArrowDown", true), index + 1);
    const shown = nodes[nextNode(tree, index + 1, "ArrowDown", false) - 1];
    if (shown !== node) assert.notEqual(shown.fate, "pruned", "what is not shown is not chosen");
  });
});

test("the saved figure of a step follows the writing direction and keeps its margins", () => {
  const params = { step: 1, show: "mean", layer: 0, head: 0 };
  const theme = { text: "#000000", border: "#cccccc", primary: "#0000ff" };
  const width = 700;
  for (const direction of ["ltr", "rtl"]) {
    const languages = { ...translation.languages, target: { name: "…", direction } };
    const shown = Object.assign(Object.create(Translation.prototype), translation, { languages });
    const picture = stepPicture(shown, params, width, theme, shadesOf("viridis"));
    assert.equal(picture.name, "step-2");
    const surface = new Recorder();
    picture.draw(surface);
    const frames = surface.of("frame");
    const written = frames.slice(0, translation.count).filter(({ y }) => y === frames[0].y).map(({ x }) => x);
    assert.ok(written.length > 2);
    assert.deepEqual(written, written.toSorted((a, b) => (direction === "rtl" ? b - a : a - b)), direction);
    const source = frames.slice(translation.count, translation.count + 3).map(({ x }) => x);
    assert.deepEqual(source, source.toSorted((a, b) => a - b), "the source is English in both");
    for (const { x, width: wide } of [...frames, ...surface.of("rect")]) {
      assert.ok(x >= PICTURE_EDGE && x + wide <= width - PICTURE_EDGE, `${x} ${wide}`);
    }
  }
});
