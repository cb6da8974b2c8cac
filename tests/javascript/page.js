// Shared setup for tests of the modules in assets/. Import this file first, because some modules use a canvas when they
// are loaded.

import { readFileSync } from "node:fs";

// Stands in for the window, which receives a page's events.
const events = new EventTarget();
for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) globalThis[name] ??= events[name].bind(events);

// Stands in for the canvas that measures text. Every character is half as wide as it is high.
globalThis.OffscreenCanvas = class {
  getContext() {
    return {
      measureText(string) {
        return { width: Array.from(string).length * Number(this.font.match(/([\d.]+)px/)[1]) / 2 };
      },
    };
  }
};

// Returns the content of a file that tests/javascript/test_scripts.py wrote.
export function fixture(name) {
  return readFileSync(`${process.env.FIXTURES}/${name}`);
}

// A drawing surface that records all drawing calls.
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
