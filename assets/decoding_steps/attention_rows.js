// Shows a step's attention to the source tokens and to the tokens read so far: as background colours of the tokens, or
// as one row of cells per head.

import { SHADES, tintedElement } from "../shared/colours.js";
import { quote } from "../shared/direction.js";
import { element } from "../shared/element.js";
import { shortened, textWidth } from "../shared/ruler.js";
import { CanvasSurface } from "../shared/surface.js";
/** @import { Colour } from "../shared/colours.js" */
/** @import { StepsTheme } from "./timeline.js" */
/** @import { StepsParams, Translation } from "./translation.js" */

const LINE = 7;
const GUTTER = 56;

/**
 * Returns a row of tokens whose background colours show their weights.
 * @param {string} title
 * @param {string[]} labels
 * @param {number[]} weights
 * @param {Colour[]} shades
 * @param {"ltr" | "rtl"} direction reading direction
 */
export function tintedTokens(title, labels, weights, shades, direction) {
  return element("div", { class: "row" }, element("h4", {}, title), element("div", { class: "tokens", role: "list", dir: direction },
    ...labels.slice(0, weights.length).map((label, index) => tintedElement("span", { class: "token", role: "listitem",
      title: `${quote(label)} (position ${index + 1}): ${weights[index].toFixed(4)}` }, shades, weights[index],
    element("span", { dir: "auto" }, label), element("small", {}, weights[index].toFixed(2))))));
}

/**
 * Returns a step's attention to the source and to the tokens read so far: the rows of the chosen head, or the mean of
 * all heads. The same layer and head numbers mean two different heads, one in cross attention and one in masked
 * attention.
 * @param {Translation} translation
 * @param {Pick<StepsParams, "step" | "show" | "layer" | "head">} params
 */
export function rowsOfStep(translation, { step, show, layer, head }) {
  const { source, target } = translation.languages;
  const plane = translation.plane({ show, layer, head });
  const whose = show === "head"
    ? `layer ${layer + 1}, head ${head + 1} (one of ${translation.layers * translation.heads})` : "mean of all heads";
  return [
    { title: `Cross attention, ${whose}: looks at the ${source.name} sentence`, labels: translation.source,
      weights: translation.crossRow(plane, step), direction: source.direction },
    { title: `Masked attention, ${whose}: looks back at the ${target.name} tokens read so far`, labels: translation.read,
      weights: translation.decoderRow(plane, step), direction: target.direction },
  ].filter(({ labels }) => labels.length);
}

/**
 * Returns a picture of the rows of all heads, with a block for each layer. Clicking a row chooses its head.
 * @param {(part: Partial<StepsParams>) => void} choose
 */
function allHeads(choose) {
  const canvas = element("canvas", { role: "img" });
  const readout = element("p", { class: "note" });
  const title = element("h4");
  const part = element("div", { class: "all" }, title, canvas, readout);
  /**
   * @type {(
   *   kind: string, does: string, labels: string[], translation: Translation, rowOf: (plane: number) => number[], theme: StepsTheme,
   * ) => void}
   */
  const draw = (kind, does, labels, translation, rowOf, { shades, text }) => {
    title.textContent = `${kind}, every head: ${does}`;
    const width = Math.max(200, Math.floor(part.clientWidth));
    const cell = Math.min(28, (width - GUTTER) / labels.length);
    const longest = Math.max(...labels.map((label) => textWidth(label, 12)));
    const top = Math.min(80, longest) + 6;
    const block = translation.heads * LINE + 5;
    const surface = new CanvasSurface(canvas, width, top + translation.layers * block, window.devicePixelRatio);
    // Labels that would overlap are left out. The readout names every token.
    const every = Math.ceil(13 / cell);
    labels.forEach((label, index) => {
      if (index % every) return;
      surface.text(GUTTER + (index + 0.5) * cell, top - 4, shortened(label, 76, 12),
        { size: 12, fill: text, angle: -Math.PI / 2 });
    });
    for (let layer = 0; layer < translation.layers; layer++) {
      const y = top + layer * block;
      surface.text(0, y + (translation.heads * LINE) / 2, `layer ${layer + 1}`, { size: 12, fill: text });
      const rows = Array.from({ length: translation.heads }, (_, head) => rowOf(layer * translation.heads + head));
      surface.cells(GUTTER, y, cell, LINE, translation.heads, labels.length,
        (head, column) => shades[Math.round(rows[head][column] * (SHADES - 1))]);
    }
    canvas.setAttribute("aria-label",
      `${title.textContent}, ${translation.layers} layers by ${translation.heads} heads; choose one head to read its numbers.`);
    /** @type {(event: MouseEvent) => { layer: number, head: number, column: number } | null} */
    const hit = ({ offsetX, offsetY }) => {
      const layer = Math.floor((offsetY - top) / block);
      const head = Math.floor((offsetY - top - layer * block) / LINE);
      const column = Math.floor((offsetX - GUTTER) / cell);
      const inside = layer >= 0 && layer < translation.layers && head < translation.heads && column >= 0 && column < labels.length;
      return inside ? { layer, head, column } : null;
    };
    readout.textContent = "Hover over a row to read it; click to choose its head.";
    canvas.onmousemove = (event) => {
      const at = hit(event);
      if (!at) return;
      const weight = rowOf(at.layer * translation.heads + at.head)[at.column];
      readout.textContent = `${kind}, layer ${at.layer + 1}, head ${at.head + 1} looks at ${quote(labels[at.column])} `
        + `(position ${at.column + 1}) with weight ${weight.toFixed(4)}`;
    };
    canvas.onclick = (event) => {
      const at = hit(event);
      if (at) choose({ layer: at.layer, head: at.head, show: "head" });
    };
  };
  return Object.assign(part, { draw });
}

/**
 * Returns the view of a step's attention: the chosen head, the mean of all heads, or every head.
 * @param {(part: Partial<StepsParams>) => void} choose
 */
export function attentionRows(choose) {
  const rows = element("div");
  const cross = allHeads(choose);
  const decoder = allHeads(choose);
  const every = element("div", { class: "every" }, cross, decoder);
  const part = element("section", { class: "attention-rows" }, rows, every);
  /** @type {(translation: Translation, params: StepsParams, theme: StepsTheme) => void} */
  const reflect = (translation, params, theme) => {
    const { step, show } = params;
    const { source, target } = translation.languages;
    const read = translation.readUpTo(step);
    const shown = rowsOfStep(translation, params).slice(0, show === "all" ? 1 : 2);
    rows.replaceChildren(...shown.map(({ title, labels, weights, direction }) => (
      tintedTokens(title, labels, weights, theme.shades, direction))));
    every.hidden = show !== "all";
    if (show !== "all") return;
    cross.hidden = !translation.source.length;
    if (!cross.hidden) {
      cross.draw("Cross attention", `looks at the ${source.name} sentence`, translation.source, translation,
        (at) => translation.crossRow(at, step), theme);
    }
    decoder.draw("Masked attention", `looks back at the ${target.name} tokens read so far`, read, translation,
      (at) => translation.decoderRow(at, step), theme);
  };
  return Object.assign(part, { reflect });
}
