// Tests of the snapshot, the heads and the curves that the training film shows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fixture, Recorder } from "./page.js";
import { unpack } from "../../assets/shared/wire.js";
import {
  curvesGeometry, drawCurves, marksOf, panelsOf, spreadLabels, stepAt, stepMarks,
} from "../../assets/training_lab/curves.js";
import { Film } from "../../assets/training_lab/film.js";
import { drawSpectrum, largestFrequencies, spectrumGeometry } from "../../assets/training_lab/spectrum.js";

const film = new Film(await unpack(fixture("training.bin")));
const expected = JSON.parse(fixture("training.json"));
const modular = new Film(await unpack(fixture("modular.bin")));
const modularExpected = JSON.parse(fixture("modular.json"));
const NEWEST = { moment: -1, score: "auto", encoder: 0, decoder: 0, cross: 0 };

test("every map of every snapshot has the weights from Python", () => {
  assert.deepEqual(film.header.at, expected.steps);
  expected.attention.forEach((kinds, index) => {
    for (let head = 0; head < 4; head++) {
      const sides = film.sides(index, { ...NEWEST, encoder: head + 1, decoder: head + 1, cross: head + 1 });
      Object.values(kinds).forEach((heads, kind) => {
        heads[head].forEach((weight, cell) => {
          if (!sides[kind].masked[cell]) assert.ok(Math.abs(sides[kind].values[cell] - weight) < 1e-4);
          else assert.equal(weight, 0);
        });
        assert.equal(sides[kind].masked.some(Boolean), kind === 1, "only masked attention is masked");
      });
    }
  });
});

test("each step shows the latest snapshot up to that step, and -1 shows the newest", () => {
  const at = (moment) => film.header.at[film.indexOf({ ...NEWEST, moment })];
  assert.deepEqual([-1, 0, 1, 2, 3, 4, 5, 6, 99].map(at), [4, 0, 0, 2, 2, 4, 4, 4, 4]);
});

test("heads and score are the chosen ones, or else those of the first training event", () => {
  for (const [kind, head] of Object.entries(expected.shown)) assert.equal(film.headOf(kind, NEWEST), head);
  assert.equal(film.headOf("cross", { ...NEWEST, cross: 2 }), 1);
  assert.equal(film.headOf("cross", { ...NEWEST, cross: 8 }), 3);
  assert.equal(film.scoreOf(NEWEST), "mirror");
  assert.equal(film.scoreOf({ ...NEWEST, score: "entropy" }), "entropy");
  assert.equal(film.headName(2), "layer 2, head 1");
  assert.match(film.described(2), /^Step 4 of 6: loss on held-out items \d+\.\d{3}, \d+\.\d% of them right\.$/);
});

test("the score panel has one line per head, and the loss panel has a logarithmic axis", () => {
  const [losses, heads] = panelsOf(film, NEWEST);
  assert.ok(losses.log && losses.curves[0].points.every(([, loss]) => loss > losses.low && loss < losses.high));
  assert.deepEqual(heads.curves.map(({ name }) => name), ["encoder 1", "encoder 2", "encoder 3", "encoder 4",
    "cross 1", "cross 2", "cross 3", "cross 4", "right answers"], "masked attention has no mirror");
  assert.deepEqual(heads.curves.at(-1).points.map(([, share]) => share), expected.exact);
  assert.deepEqual(heads.curves.filter(({ thickness }) => thickness > 2).map(({ name }) => name),
    ["encoder 1", "cross 3", "right answers"]);
  const [, entropies] = panelsOf(film, { ...NEWEST, score: "entropy" });
  assert.equal(entropies.curves.length, 12);
  assert.ok(entropies.curves.every(({ points }) => points.every(([, value]) => value <= entropies.high)));
});

test("axis ticks are round numbers within the axis", () => {
  assert.deepEqual(stepMarks(400), [0, 100, 200, 300, 400]);
  assert.deepEqual(stepMarks(6), [0, 2, 4, 6]);
  assert.deepEqual(stepMarks(1), [0, 1]);
  assert.deepEqual(stepMarks(3000), [0, 1000, 2000, 3000]);
  assert.deepEqual(marksOf({ log: true, low: 0.004, high: 5 }).map((mark) => +mark.toPrecision(1)), [0.01, 0.1, 1]);
  assert.deepEqual(marksOf({ log: false, low: 0, high: 1 }), [0, 0.5, 1]);
  assert.deepEqual(marksOf({ log: false, low: 0, high: 3.49 }), [0, 1, 2, 3]);
  assert.deepEqual(marksOf({ log: false, low: 0, high: 0.105 }).map((mark) => +mark.toPrecision(2)), [0, 0.05, 0.1]);
});

test("overlapping labels move apart, keep their order and stay within the panel", () => {
  assert.deepEqual(spreadLabels([10, 50], 0, 100, 14), [10, 50]);
  const found = spreadLabels([98, 97, 99, 40], 0, 100, 14);
  assert.deepEqual(found, [86, 72, 100, 40]);
  const crowded = spreadLabels(Array.from({ length: 20 }, () => 50), 0, 100, 14);
  assert.ok(Math.min(...crowded) > -1e-9 && Math.max(...crowded) <= 100);
});

test("a click on the cursor gives its step, and clicks outside the panel give the first or last step", () => {
  const geometry = curvesGeometry(800, false);
  const surface = new Recorder();
  drawCurves(surface, geometry, { film, view: NEWEST, theme: { text: "#000000", border: "#cccccc" } });
  const cursors = surface.of("line").filter(({ stroke }) => stroke === "#ea580c");
  assert.equal(cursors.length, 2, "one a panel");
  assert.equal(stepAt(geometry, cursors[0].x1, 6), 4);
  assert.deepEqual([-50, 5000].map((x) => stepAt(geometry, x, 6)), [0, 6]);
  const written = surface.of("text").map(({ string }) => string);
  assert.ok(["1", "2", "3", "held out", "training", "right answers", "step"].every((each) => written.includes(each)));
  assert.ok(surface.of("text").every(({ y }) => y > 0 && y < geometry.height));
  assert.equal(curvesGeometry(800, true).tops.length, 1, "a lecture has the losses alone");
});

test("a modular task shows its spectra and the accuracy on training items", async () => {
  assert.deepEqual([film.header.learned, film.header.spectra], [null, null]);
  const { header } = modular;
  assert.equal(header.spectra.length, header.at.length);
  modularExpected.spectra.forEach((norms, index) => norms.forEach((norm, at) => (
    assert.ok(Math.abs(header.spectra[index][at] - norm) < 1e-3))));
  const learned = panelsOf(modular, NEWEST)[1].curves.find(({ name }) => name === "training items");
  learned.points.forEach(([, share], index) => assert.ok(Math.abs(share - modularExpected.learned[index]) < 1e-4));
});

test("a spectrum has one bar per frequency, with the same scale at all steps", () => {
  const { spectra } = modular.header;
  const highest = Math.max(...spectra.flat());
  const geometry = spectrumGeometry(800);
  spectra.forEach((spectrum, index) => {
    const surface = new Recorder();
    drawSpectrum(surface, geometry, { spectra, index, theme: { text: "#000000", border: "#cccccc" } });
    const bars = surface.of("rect");
    assert.equal(bars.length, spectrum.length);
    bars.forEach(({ y, height }, at) => {
      assert.ok(Math.abs(y + height - (geometry.top + geometry.bars)) < 1e-9, "all stand on one line");
      assert.ok(Math.abs(height / geometry.bars - spectrum[at] / highest) < 1e-9);
    });
    assert.ok(bars.every(({ x }, at) => !at || x > bars[at - 1].x + bars[at - 1].width));
    assert.ok(surface.of("text").every(({ y }) => y > 0 && y < geometry.height));
  });
  assert.equal(largestFrequencies([0.5, 3, 1, 2.004]), "2 (3.00), 4 (2.00), 3 (1.00), 1 (0.50)");
});
