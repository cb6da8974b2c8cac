// Tests of the large diagram of the loaded Transformer.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import "./page.js";
import { largeDrawing, SIDE_BY_SIDE, STACKED } from "../../assets/diagram/large_drawing.js";

// Stands in for DOM elements, which Node lacks. Records attributes and children.
class Drawn {
  children = [];
  attributes = {};

  constructor(name) { this.name = name; }

  setAttribute(key, value) { this.attributes[key] = value; }

  append(...children) { this.children.push(...children); }

  all(matches) {
    return [...(matches(this) ? [this] : []), ...this.children.flatMap((child) => (child instanceof Drawn ? child.all(matches) : []))];
  }
}
globalThis.document = { createElementNS: (_, name) => new Drawn(name) };

const box = { title: "t", subtitle: "s", head: "layer 1, head 1", map: "", rows: 2, columns: 2 };
const DATA = { here: "translate", source: "a", target: "b", layers: { encoder: 6, decoder: 6 },
  languages: { source: "English", target: "German" }, kinds: { encoder: box, decoder: box, cross: box } };

function drawn(norm, places, lecture = false) {
  const root = new Drawn("svg");
  root.append(...largeDrawing({ ...DATA, norm, lecture }, places));
  const of = (name, style) => root.all((one) => one.name === name && one.attributes.class === style)
    .map(({ attributes }) => attributes);
  return { sums: of("circle", "sum"), norms: of("rect", "norm"), frames: of("rect", "stack"), root,
    boxes: root.all((one) => one.name === "a" && one.attributes["data-page"].match(/attention|layer/)).map((link) => (
      link.children.find(({ name }) => name === "rect").attributes)) };
}

for (const places of [SIDE_BY_SIDE, STACKED]) {
  describe(places === STACKED ? "stacked" : "side by side", () => {
    test("every sub-layer has a residual connection and a plus sign above it", () => {
      for (const norm of ["pre", "post"]) {
        const { sums, boxes, root } = drawn(norm, places);
        assert.equal(sums.length, 5);
        assert.equal(boxes.length, 5);
        const bypasses = root.all(({ name, attributes }) => name === "polyline" && attributes.points.split(" ").length === 4);
        assert.equal(bypasses.length, 5);
        for (const { x, y, width } of boxes) {
          assert.ok(sums.some(({ cx, cy }) => Number(cx) === Number(x) + Number(width) / 2 && Number(y) - cy > 0 && Number(y) - cy < 20));
        }
      }
    });

    test("says that it is read upwards, unless large type leaves no room", () => {
      const says = (lecture) => drawn("pre", places, lecture).root.all(({ children }) => /upwards/.test(children[0])).length;
      assert.deepEqual([says(false), says(true)], [1, places === STACKED ? 0 : 1]);
    });

    test("a pre-norm model has a norm below every sub-layer and one at the end of each stack", () => {
      const { norms, boxes, frames } = drawn("pre", places);
      assert.equal(norms.length, 7);
      const middle = ({ y, height }) => Number(y) + Number(height) / 2;
      for (const each of boxes) {
        assert.ok(norms.some((norm) => Number(norm.x) > Number(each.x) && middle(norm) > Number(each.y) + Number(each.height)
          && middle(norm) < Number(each.y) + Number(each.height) + 20));
      }
      assert.equal(frames.filter(({ y }) => norms.some((norm) => y - middle(norm) > 0 && y - middle(norm) < 20)).length, 2);
    });

    test("a post-norm model has a norm after every sum and none at the end of a stack", () => {
      const { norms, sums } = drawn("post", places);
      assert.equal(norms.length, 5);
      for (const { cy } of sums) assert.ok(norms.some(({ y }) => cy - y > 14 && cy - y < 30));
    });
  });
}

test("lecture mode omits the norms and keeps the residual connections", () => {
  const { norms, sums } = drawn("pre", SIDE_BY_SIDE, true);
  assert.deepEqual([norms.length, sums.length], [0, 5]);
});

test("no arrow is drawn over the label of a norm", () => {
  for (const norm of ["pre", "post"]) {
    const all = drawn(norm, SIDE_BY_SIDE).root.all(() => true);
    const crosses = ({ attributes }, { x, y, width, height }) => {
      const points = attributes.points.split(" ").map((point) => point.split(",").map(Number));
      return points.slice(1).some(([right, below], at) => {
        const [left, above] = points[at];
        return Math.min(left, right) < x + width && Math.max(left, right) > x
          && Math.min(above, below) < y + height && Math.max(above, below) > y;
      });
    };
    for (const [at, { attributes }] of all.entries()) {
      if (attributes.class !== "norm" || !attributes.width) continue;
      const place = Object.fromEntries(["x", "y", "width", "height"].map((name) => [name, Number(attributes[name])]));
      assert.ok(!all.slice(at).some((one) => one.name === "polyline" && crosses(one, place)));
    }
  }
});
