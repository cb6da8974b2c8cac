// The bundles of assets/bundles.json, as the app joins them (pages/ui/components/bundle.py).

import { readFileSync } from "node:fs";
import { compileFunction } from "node:vm";

const ASSETS = new URL("../../assets/", import.meta.url);

export const BUNDLES = JSON.parse(readFileSync(new URL("bundles.json", ASSETS), "utf8"));

// Files of a bundle in their order: [{ name, source }].
export function scriptsOf(bundle) {
  return BUNDLES[bundle].scripts.flatMap((entry) => (entry.includes("/")
    ? [{ name: `${entry}.js`, source: readFileSync(new URL(`${entry}.js`, ASSETS), "utf8") }] : scriptsOf(entry)));
}

// What a page has and Node has not: a canvas to measure text on. Here every character is half as wide as it is high.
class OffscreenCanvas {
  getContext() {
    return {
      measureText(string) {
        return { width: Array.from(string).length * Number(this.font.match(/([\d.]+)px/)[1]) / 2 };
      },
    };
  }
}

// Names that a bundle defines: { name: value }. Its scripts share one scope, as in the page.
export function load(bundle, names) {
  const source = scriptsOf(bundle).map((script) => script.source).join("\n");
  return compileFunction(`${source}\nreturn { ${names.join(", ")} };`, ["OffscreenCanvas", "GLOSSARY"],
    { filename: `${bundle}.js` })(OffscreenCanvas, {});
}

// A file that tests/javascript/test_scripts.py wrote.
export function fixture(name) {
  return readFileSync(`${process.env.FIXTURES}/${name}`);
}

// A surface that remembers what is drawn on it.
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
