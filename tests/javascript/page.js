// Setup that the tests of the modules in assets/ share. Import it first, because modules draw on a canvas as soon as
// they are loaded.

import { readFileSync } from "node:fs";

// The events of a page.
const events = new EventTarget();
for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) globalThis[name] ??= events[name].bind(events);

// A page measures text on a canvas, which Node lacks. Here every character is half as wide as it is high.
globalThis.OffscreenCanvas = class {
  getContext() {
    return {
      measureText(string) {
        return { width: Array.from(string).length * Number(this.font.match(/([\d.]+)px/)[1]) / 2 };
      },
    };
  }
};

// Returns a file that tests/javascript/test_scripts.py wrote.
export function fixture(name) {
  return readFileSync(`${process.env.FIXTURES}/${name}`);
}

// A surface that records everything drawn on it.
export class Recorder {
  drawn = [];

  rect(x, y, width, height, fill) { this.drawn.push({ what: "rect", x, y, width, height, fill }); }
  frame(x, y, width, height, stroke) { this.drawn.push({ what: "frame", x, y, width, height, stroke }); }
  line(x1, y1, x2, y2, stroke, thickness) { this.drawn.push({ what: "line", x1, y1, x2, y2, stroke, thickness }); }
  moved(x, y, draw) {
    const before = this.drawn.length;
    draw();
    for (const one of this.drawn.slice(before)) Object.assign(one, { x: one.x + x, y: one.y + y });
  }

  text(x, y, string, style) { this.drawn.push({ what: "text", x, y, string, ...style }); }

  cells(x, y, cellWidth, cellHeight, rows, columns, colourAt) {
    const colours = Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, c) => colourAt(row, c)));
    this.drawn.push({ what: "cells", x, y, cellWidth, cellHeight, colours });
  }

  of(what) { return this.drawn.filter((one) => one.what === what); }
}
