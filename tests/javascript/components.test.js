// Tests of the behaviour that all components share, and of sorting in the head table.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fixture } from "./page.js";
import { AttentionBrowser } from "../../assets/attention_browser/attention_browser.js";
import { SmallMaps } from "../../assets/attention_browser/small_maps.js";
import { HeadTable } from "../../assets/head_table/head_table.js";
import { keepingFocus } from "../../assets/shared/controls.js";
import { mount } from "../../assets/shared/mount.js";
import { leaveSlide } from "../../assets/shared/clicker.js";
import { SyncedState } from "../../assets/shared/synced_state.js";
import { TextBox } from "../../assets/text_box/text_box.js";

test("a component is created once per parent element, updated with new data, and closed on removal", () => {
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

test("each new state is sent once, after a delay, and the last sent state is not repeated", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const server = { setStateValue: (name, value) => sent.push([name, value]) };
  const component = { server };
  const synced = new SyncedState(component, "params", () => ({ ...component.params }));
  const change = (step, request = null) => {
    if (request) {
      synced.take(request, { step });
    } else {
      component.params.step = step;
      synced.send();
    }
  };
  const sentNext = () => {
    context.mock.timers.tick(250);
    return sent.splice(0).map(([name, { step }]) => [name, step]);
  };
  change(1, 10);
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
  change(4);
  leaveSlide();
  assert.deepEqual(sentNext(), [], "what the next slide replaces");
  change(3);
  change(1, 11);
  change(3);
  context.mock.timers.tick(250);
  assert.notDeepEqual(sent[0][1], first, "the server asked for another one in between");
  assert.deepEqual(sentNext(), [["params", 3]]);
  change(4);
  synced.cancel();
  assert.deepEqual(sentNext(), []);
});

test("a rebuilt component restores the last choice and sends it if it was not sent", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const build = () => {
    const component = { server: { setStateValue: (name, { step }) => sent.push(step) } };
    component.synced = new SyncedState(component, "params", () => ({ ...component.params }));
    return component;
  };
  const taken = (component, request) => {
    component.synced.take(request, { step: 1 });
    context.mock.timers.tick(250);
    return component.params.step;
  };
  const first = build();
  assert.equal(taken(first, 1), 1);
  first.params.step = 2;
  first.synced.send();
  context.mock.timers.tick(250);
  first.synced.leave();
  const second = build();
  assert.equal(taken(second, 1), 2, "chosen and sent");
  assert.deepEqual(sent.splice(0), [2], "the server knows it");
  second.params.step = 3;
  second.synced.send();
  second.synced.leave();
  const third = build();
  assert.equal(taken(third, 1), 3, "chosen, and not sent");
  assert.deepEqual(sent.splice(0), [3]);
  assert.equal(taken(build(), 2), 1, "another request");
  assert.equal(taken(build(), 2), 1, "another component of the page");
  assert.deepEqual(sent, []);
});

test("a choice is not sent if the server asked for it or its sentence has changed", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [];
  const build = () => {
    const made = Object.assign(Object.create(AttentionBrowser.prototype), { draw() {}, description: { say() {} }, smallMaps: new SmallMaps(),
      root: { classList: { toggle() {} } }, server: { setStateValue: (name, { layer, rows, id }) => sent.push([layer, rows, id]) } });
    made.synced = new SyncedState(made, "choice", () => ({ ...made.choice, id: made.data.header.id }));
    return made;
  };
  let browser = build();
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
  browser.synced.leave();
  browser = build();
  await answered("first");
  assert.deepEqual([browser.choice.rows, sentAfter({})], [[2], []], "built anew");
  browser.synced.leave();
  browser = build();
  await answered("second");
  assert.deepEqual([browser.choice.rows, sentAfter({})], [[], []], "built anew, for another sentence");
});

test("the head table sorts numbers and words, with missing values last", () => {
  const rows = [["a", 0.2, "previous"], ["b", null, "first"], ["c", 0.9, ""], ["d", -1, "next"]]
    .map(([name, ...values], number) => ({ number, name, values: [number, ...values] }));
  const order = (sorted) => HeadTable.prototype.order.call({ rows, sorted })
    .map(({ name }) => name).join("");
  assert.equal(order(null), "abcd");
  assert.equal(order({ column: 0, upwards: false }), "dcba");
  assert.equal(order({ column: 1, upwards: false }), "cadb");
  assert.equal(order({ column: 1, upwards: true }), "dacb");
  assert.equal(order({ column: 2, upwards: true }), "bdac");
  assert.equal(order({ column: 2, upwards: false }), "adbc");
});

test("a rebuilt list keeps the focus on the same index, or else on the last item", () => {
  class Page {}
  class Button {
    focus() { page.activeElement = this; }
  }
  Object.assign(globalThis, { Document: Page, ShadowRoot: class {}, HTMLElement: Button });
  const page = new Page();
  const made = (count) => Array.from({ length: count }, () => new Button());
  const list = { children: made(3), getRootNode: () => page, querySelectorAll() { return this.children; } };
  const refill = (count) => keepingFocus(list, "button", () => { list.children = made(count); });
  const place = () => list.children.indexOf(page.activeElement);
  refill(3);
  assert.equal(place(), -1, "the focus was elsewhere");
  list.children[2].focus();
  refill(4);
  assert.equal(place(), 2);
  refill(1);
  assert.equal(place(), 0);
});

test("characters typed in a text box do not trigger page shortcuts", () => {
  globalThis.document = { createElement: () => ({ append() {}, setAttribute() {} }) };
  const box = new TextBox({ append() {} });
  const kept = (key) => {
    let calls = 0;
    box.root.onkeydown({ key, stopPropagation() { calls += 1; } });
    return calls;
  };
  assert.deepEqual(["r", "?", "Escape", "F5"].map(kept), [1, 1, 0, 0]);
});
