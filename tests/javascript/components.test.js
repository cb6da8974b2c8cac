// What all components have in common, and the table of heads.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fixture, load } from "./bundles.js";

const { HeadTable, mount } = load("head_table", ["HeadTable", "mount"]);
const { AttentionBrowser, SyncedState } = load("attention_browser", ["AttentionBrowser", "SyncedState"]);

test("a component is made once for its place, shown with new data, and closed when it leaves", () => {
  const calls = [];
  class Listed {
    constructor(parent) { calls.push(["made", parent.name]); }
    show(data) { calls.push(["shown", data]); }
    close() { calls.push(["closed"]); }
    tell(value) { this.server.setStateValue("choice", value); }
  }
  const component = mount(Listed);
  const [first, second] = [{ name: "first" }, { name: "second" }];
  const server = { setStateValue() {}, setTriggerValue() {} };
  component({ data: 1, parentElement: first, ...server });
  const leave = component({ data: 2, parentElement: first, ...server });
  component({ data: 3, parentElement: second, ...server });
  leave();
  component({ data: 4, parentElement: first, ...server });
  assert.deepEqual(calls, [["made", "first"], ["shown", 1], ["shown", 2], ["made", "second"], ["shown", 3], ["closed"],
    ["made", "first"], ["shown", 4]]);
});

test("a state is sent where the server does not know it, once, and never as one that was sent before", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const component = { step: 1, server: { setStateValue: (name, value) => sent.push([name, value]) } };
  const synced = new SyncedState(component, "params", () => ({ step: component.step }));
  const change = (step, asked = false) => {
    component.step = step;
    if (asked) synced.accept();
    else synced.send();
  };
  const sentNext = () => {
    context.mock.timers.tick(250);
    return sent.splice(0).map(([name, { step }]) => [name, step]);
  };
  change(1, true);
  change(1);
  assert.deepEqual(sentNext(), [], "what the server asked for");
  change(2);
  change(3);
  context.mock.timers.tick(249);
  assert.deepEqual(sent, []);
  context.mock.timers.tick(1);
  const [[, first]] = sent;
  assert.deepEqual(sentNext(), [["params", 3]]);
  change(3);
  assert.deepEqual(sentNext(), [], "what was sent");
  change(1, true);
  change(3);
  context.mock.timers.tick(250);
  assert.notDeepEqual(sent[0][1], first, "the server asked for another one in between");
  assert.deepEqual(sentNext(), [["params", 3]]);
  change(4);
  synced.cancel();
  assert.deepEqual(sentNext(), []);
});

test("a choice that the server asked for, or that belongs to a sentence that is gone, is known to it", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [];
  const browser = Object.assign(Object.create(AttentionBrowser.prototype), { asked: null, draw() {}, description: { say() {} },
    root: { classList: { toggle() {} } }, server: { setStateValue: (name, { layer, rows, id }) => sent.push([layer, rows, id]) } });
  browser.synced = new SyncedState(browser, "choice", () => ({ ...browser.choice, id: browser.data.header.id }));
  const answered = (id) => {
    browser.read = async () => ({ header: { ...header, id } });
    return browser.show({});
  };
  const sentAfter = (part) => {
    browser.change(part);
    context.mock.timers.tick(250);
    return sent.splice(0);
  };
  const { header } = await AttentionBrowser.prototype.read(fixture("encoder.bin"));
  await answered("first");
  assert.deepEqual(sentAfter({ layer: header.asked.choice.layer }), []);
  assert.deepEqual(sentAfter({ rows: [2] }), [[1, [2], "first"]]);
  await answered("second");
  assert.deepEqual(sentAfter({ rows: [] }), []);
  await answered("first");
  assert.deepEqual(sentAfter({ rows: [2] }), [[1, [2], "first"]], "pinned once more, in the same sentence");
});

test("a column of heads is sorted by numbers or words, and what is missing stays last", () => {
  const rows = [["a", 0.2, "previous"], ["b", null, "first"], ["c", 0.9, ""], ["d", -1, "next"]]
    .map(([name, ...values], number) => ({ number, name, values: [number, ...values] }));
  const order = (sorted) => HeadTable.prototype.order.call({ columns: ["head", "entropy", "pattern"], rows, sorted })
    .map(({ name }) => name).join("");
  assert.equal(order(null), "abcd");
  assert.equal(order({ column: "head", upwards: false }), "dcba");
  assert.equal(order({ column: "entropy", upwards: false }), "cadb");
  assert.equal(order({ column: "entropy", upwards: true }), "dacb");
  assert.equal(order({ column: "pattern", upwards: true }), "bdac");
  assert.equal(order({ column: "pattern", upwards: false }), "adbc");
});
