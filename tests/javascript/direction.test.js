// Tests of right-to-left scripts: text direction, isolation and shortening of labels.

import assert from "node:assert/strict";
import { test } from "node:test";

import "./page.js";
import { directionOf, isolated } from "../../assets/shared/direction.js";
import { shortened } from "../../assets/shared/ruler.js";
import { CanvasSurface } from "../../assets/shared/surface.js";

test("the first letter decides the direction of a label, but a label with an arrow is left to right", () => {
  for (const string of ["dog", "", "12 !", "in: שלום", "…dog שלום", "我"]) {
    assert.equal(directionOf(string), "ltr", string);
  }
  for (const string of ["שלום", "␣الكلب.", "12 عربي", "…ون dog"]) assert.equal(directionOf(string), "rtl", string);
  assert.equal(directionOf("الكلب → كلب"), "ltr");
});

test("both sides of an arrow, and special tokens, are isolated in right-to-left text", () => {
  assert.equal(isolated("dog → Hund </s> end"), "dog → Hund </s> end");
  assert.equal(isolated("שלום"), "שלום");
  assert.equal(isolated("in: مع → out: ال"), "\u2068in: مع\u2069 → \u2068out: ال\u2069");
  assert.equal(isolated("كلب </s> end"), "كلب \u2066</s> end\u2069");
});

test("a label is aligned to its anchor in either text direction", () => {
  const drawn = [];
  const context = new Proxy({}, {
    get: (own, name) => own[name] ?? (name === "fillText"
      ? (string) => drawn.push([string, own.direction, own.textAlign]) : () => {}),
    set: (own, name, value) => { own[name] = value; return true; },
  });
  const surface = new CanvasSurface({ style: {}, getContext: () => context }, 10, 10, 1);
  for (const anchor of ["start", "middle", "end"]) surface.text(0, 0, "שלום", { fill: "red", anchor });
  surface.text(0, 0, "dog", { fill: "red", anchor: "end" });
  assert.deepEqual(drawn, [["שלום", "rtl", "left"], ["שלום", "rtl", "center"], ["שלום", "rtl", "right"],
    ["dog", "ltr", "right"]]);
});

test("a shortened label keeps its arrow and the text on both sides", () => {
  // At font size 10, every character is 5 units wide.
  assert.equal(shortened("Knochen. → </s> end", 200, 10), "Knochen. → </s> end");
  assert.equal(shortened("Knochen. → </s> end", 80, 10), "Kn…n. → </s> end");
  assert.equal(shortened("es → Donaudampfschiff", 60, 10), "es → Don…iff");
  assert.equal(shortened("<s> start → Donaudampfschiff", 90, 10), "<s> start → Don…ff");
  assert.ok(shortened("Donaudampfschiff → Donaudampfschiff", 70, 10).length <= 14);
});

test("a sentence is shortened by whole words", () => {
  assert.equal(shortened("The animal did not cross the street.", 130, 10), "The animal … the street.");
});
