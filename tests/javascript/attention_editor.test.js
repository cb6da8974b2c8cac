// Tests of the attention editor: the effect of an edit, and edits as text in the URL.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fixture } from "./page.js";
import { arrange } from "../../assets/attention_browser/arrangement.js";
import { ChangedAttention } from "../../assets/attention_browser/changed_attention.js";
import { AttentionEditor } from "../../assets/attention_browser/editor.js";
import {
  affects, editsText, parseEdits, preview, withEdit, withShare,
} from "../../assets/attention_browser/edits.js";
import { csvOf } from "../../assets/attention_browser/exports.js";
import { rankedHeads, cellSentence } from "../../assets/attention_browser/readout.js";

const { edits, lists, views } = JSON.parse(fixture("changed.json"));
const message = new Uint8Array(fixture("changed.bin"));
const near = (found, expected, tolerance) => {
  assert.equal(found.length, expected.length);
  found.forEach((value, at) => assert.ok(Math.abs(value - expected[at]) <= tolerance, `${at}: ${value} ${expected[at]}`));
};
const read = (version) => ChangedAttention.prototype.read.call(
  Object.assign(Object.create(ChangedAttention.prototype), { version }), message);

test("edits survive writing and parsing", () => {
  for (const text of lists) assert.equal(editsText(parseEdits(text)), text);
  assert.deepEqual(parseEdits("cross.2.all.3-4~6x25"), [
    { kind: "cross", layer: 1, head: null, rows: [2, 3], shares: [{ columns: [5, 5], percent: 25 }] }]);
});

test("the maps before and after an edit and their difference match the Python views", async () => {
  for (const words of [false, true]) {
    const { versions } = await read("after");
    const choice = { words, hide: false };
    const [before, after] = ["before", "after"].map((name) => views[`${name}-${words}`]);
    let largest = 0;
    for (let layer = 0; layer < before.length; layer++) {
      for (let head = 0; head < before[0].length; head++) {
        const [old, now] = [before, after].map((view) => view[layer][head].flat());
        // The tolerance for words is larger, because a word's weight is the sum of several rounded weights.
        near(arrange(versions.before, choice, layer, head).values, old, words ? 1e-4 : 2e-5);
        near(arrange(versions.after, choice, layer, head).values, now, words ? 1e-4 : 2e-5);
        const changes = now.map((value, at) => value - old[at]);
        near(arrange(versions.difference, choice, layer, head).values, changes, words ? 2e-4 : 4e-5);
        largest = Math.max(largest, ...changes.map(Math.abs));
      }
    }
    const { largest: shown, signed } = arrange(versions.difference, choice, 0, 0);
    assert.ok(signed && Math.abs(shown - largest) < 2e-4, "one scale for all heads");
  }
});

test("the map of the difference is labelled as such, and its numbers have a sign", async () => {
  const data = await read("difference");
  assert.equal(data.header.version, "what was changed, minus the model as trained");
  assert.equal(data.versions.before.header.version, "as trained");
  assert.equal(data.versions.after.header.edits, edits);
  const arranged = arrange(data, { words: false, hide: false }, 1, 2);
  const fallen = arranged.values.findIndex((value) => value < -0.001), width = arranged.columns.length;
  assert.match(cellSentence(arranged, { row: Math.floor(fallen / width), column: fallen % width }),
    /^The weight from .*\) changed by −0\.\d{4} compared with the model as trained$/);
  assert.match(cellSentence(arranged, { row: 2 }), / has the largest weight changes at /);
  const file = csvOf(arranged, { rows: new Set(), columns: new Set() });
  assert.match(file, /^row,from,column,to,change\n[^]*,-0\.\d{4}\n/);
  assert.ok(!file.includes("−"), "programs read the hyphen");
  const ranked = rankedHeads(data, { words: false, hide: false }, { row: 2, column: 1 });
  assert.deepEqual(ranked, ranked.toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value)));
});

test("the preview of an edited row matches the model", async () => {
  const { versions } = await read("after");
  const choice = { words: false, hide: false };
  const [shares, even] = parseEdits(edits);
  // The preview in layer 1 is compared with the model's weights. The edit there changes the model's input to layer 2.
  // Therefore, the preview in layer 2 is compared with a row computed by hand.
  const before = arrange(versions.before, choice, 0, 1);
  near(preview(before, even).values, views["after-false"][0][1].flat(), 2e-5);
  const { columns } = before;
  const row = preview(before, shares).values.slice(2 * columns.length, 3 * columns.length);
  const old = views["before-false"][0][1][2];
  const left = old.reduce((sum, value, at) => sum + ([1, 3].includes(at) ? 0 : value), 0);
  near(row, old.map((value, at) => ({ 1: 0.6, 3: 0.15 }[at] ?? (value * 0.25) / left)), 1e-4);
});

test("previewed rows add up to 1 and give masked cells no weight", () => {
  const label = (position) => ({ label: String(position), positions: [position] });
  const arranged = { rows: [label(0), label(1)], columns: [label(0), label(1)], values: Float32Array.of(1, 0, 0.5, 0.5),
    masked: Uint8Array.of(0, 1, 0, 0), largest: 1 };
  const even = { rows: [0, 1], shares: [] };
  assert.deepEqual([...preview(arranged, even).values], [1, 0, 0.5, 0.5]);
  const all = { rows: [1, 1], shares: [{ columns: [1, 1], percent: 100 }] };
  assert.deepEqual([...preview(arranged, all).values], [1, 0, 0, 1]);
});

test("a new share scales the other shares down", () => {
  const share = (column, percent) => ({ columns: [column, column], percent });
  assert.deepEqual(withShare([], [3, 3], 40), [share(3, 40)]);
  assert.deepEqual(withShare([share(1, 50), share(3, 20)], [3, 3], 40), [share(1, 50), share(3, 40)]);
  assert.deepEqual(withShare([share(1, 50), share(2, 30)], [3, 3], 60), [share(1, 25), share(2, 15), share(3, 60)]);
  assert.deepEqual(withShare([share(1, 50)], [3, 3], 100), [share(3, 100)]);
  assert.deepEqual(withShare([share(1, 50)], [1, 2], 10), [{ columns: [1, 2], percent: 10 }]);
});

test("an edit replaces the edit at the same place and applies only to its heads", () => {
  const [one, every] = parseEdits("cross.2.3.4~5x60_cross.all.all.4~5x60");
  const again = { ...one, shares: [] };
  assert.deepEqual(withEdit([one, every], again), [every, again]);
  assert.equal(withEdit(Array.from({ length: 60 }, (_, row) => ({ ...one, rows: [row + 10, row + 10] })), one).length, 60);
  const head = { layer: 1, head: 2 };
  assert.ok(affects(one, "cross", head, [3, 3]) && affects(one, "cross", head) && affects(every, "cross", { layer: 0, head: 0 }));
  assert.ok(!affects(one, "cross", { layer: 1, head: 1 }) && !affects(one, "encoder", head) && !affects(one, "cross", head, [4, 5]));
});

test("the last edit survives if edits arrive faster than server responses", async () => {
  const editor = Object.assign(Object.create(AttentionEditor.prototype), { version: "after", edits: [], pending: {},
    sent: [edits, "cross.1.1.1~even"], panel: { follow() {} } });
  await editor.read(message);
  assert.deepEqual([editor.sent, editor.edits, editor.pending], [["cross.1.1.1~even"], [], {}]);
  const sent = [];
  editor.server = { setTriggerValue: (name, value) => sent.push([name, value.split(" ")[0]]) };
  editor.undo();
  assert.deepEqual(sent, [], "an undo waits for the response to the edit that it undoes");
  editor.sent = [edits];
  await editor.read(message);
  assert.deepEqual([editsText(editor.edits), editor.pending, sent], [edits, null, [["edited", "undo"]]]);
});
