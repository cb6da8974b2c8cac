// The controls around the figures, as ordinary HTML elements.

import { saveMenu } from "../figures/save_menu.js";
import { HEAD_COLOURS, PALETTES, SCALES } from "../shared/colours.js";
import { checkbox, keepingFocus, numbered, select } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { keysButton } from "../shared/keys.js";
import { popup } from "../shared/popup.js";
import { explained, term } from "../shared/terms.js";
import { FILES, HTML } from "./exports.js";
/** @import { SaveOptions } from "../figures/save_menu.js" */
/** @import { Choice, KindHeader } from "./arrangement.js" */

/**
 * Returns the bar with all controls. Its method `reflect` makes them show the current choice.
 * @param {(part: Partial<Choice>) => void} change called with the changed part of the choice
 * @param {(head: number) => void} toggleHead adds or removes a head that is drawn as lines
 * @param {(format: string, options: SaveOptions) => unknown} save
 * @param {() => boolean} complete whether the data for the HTML export has arrived
 * @param {() => void} showKeys
 */
export function attentionToolbar(change, toggleHead, save, complete, showKeys) {
  const layer = explained(select("Layer", null, (value) => change({ layer: Number(value) })), "layer");
  const head = explained(select("Head", null, (value) => change({ head: Number(value) })), "head");
  const look = select("Show as", [["map", "map"], ["lines", "lines"]], (value) => change({ look: value }));
  const scale = select("Scale", SCALES.map((name) => [name, name]), (value) => change({ scale: value }));
  const palette = select("Colours", Object.keys(PALETTES).map((name) => [name, name]),
    (value) => change({ palette: value }));
  const metric = select("Bar under each head", null, (value) => change({ metric: value }));
  const words = checkbox("Words", (value) => change({ words: value }));
  const hide = checkbox("Hide start and end", (value) => change({ hide: value }));
  const slider = element("input", { type: "range", "aria-label": "Hide weights below this limit, in hundredths", min: 0, max: 50, step: 1,
    oninput: () => change({ threshold: Number(slider.value) }) });
  const least = element("output");
  const threshold = element("label", { class: "field" }, element("span", {}, "Hide weights below ", least), slider);
  const chips = headChips(toggleHead);
  // Rarely used controls are behind a button, so that a map and its controls fit on a projector's screen.
  const display = popup("Display", "display", [scale, palette, threshold, metric, chips]);
  const menu = saveMenu(save, FILES, (format) => format !== HTML || complete());
  const bar = element("div", { class: "bar" }, layer, head, look, display, menu,
    element("div", { class: "checks" }, words, term("?", "token"), hide, term("?", "end symbol"), keysButton(showKeys)));
  /** @type {(choice: Choice, header: KindHeader) => void} */
  const reflect = (choice, { layers, heads, metrics }) => {
    layer.fill(numbered(layers), String(choice.layer));
    head.fill(numbered(heads), String(choice.head));
    look.box.value = choice.look;
    scale.box.value = choice.scale;
    palette.box.value = choice.palette;
    metric.fill([["", "none"], ...metrics.map(({ key, name }) => [key, name])], choice.metric);
    words.box.checked = choice.words;
    hide.box.checked = choice.hide;
    slider.value = String(choice.threshold);
    least.textContent = (choice.threshold / 100).toFixed(2);
    chips.reflect(choice, heads);
  };
  return Object.assign(bar, { reflect });
}

/**
 * Returns buttons for the line view, one for each head of the layer. Each button shows whether its head is drawn, and
 * has the colour of the head's lines.
 * @param {(head: number) => void} toggle
 */
function headChips(toggle) {
  const buttons = element("div", { class: "chips", role: "group", "aria-label": "Heads drawn as lines" });
  const row = element("div", { class: "field" }, element("span", {}, "Heads drawn as lines"), buttons);
  /** @type {(choice: Choice, heads: number) => void} */
  const reflect = (choice, heads) => {
    row.hidden = choice.look !== "lines";
    keepingFocus(buttons, "button", () => buttons.replaceChildren(...Array.from({ length: heads }, (_, head) => {
      const on = head === choice.head || choice.heads.includes(head);
      const chip = element("button", { type: "button", "aria-label": `head ${head + 1}`, "aria-pressed": String(on),
        onclick: () => toggle(head) },
        String(head + 1));
      chip.style.setProperty("--chip", HEAD_COLOURS[head % HEAD_COLOURS.length]);
      return chip;
    })));
  };
  return Object.assign(row, { reflect });
}
