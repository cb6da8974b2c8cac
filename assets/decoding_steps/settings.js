// The decoding settings: how the next token is chosen, and which heads' attention is shown.

import { focused, numbered, select } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { keysButton } from "../shared/keys.js";
import { explained } from "../shared/terms.js";
/** @import { StepsParams, Translation } from "./translation.js" */

const METHODS = [["greedy", "greedy: the most likely token"], ["beam", "beam search"], ["sample", "sampling"]];
const SHOWS = [["head", "one head"], ["mean", "mean of all heads"], ["all", "every head"]];
export const STEP_KEYS = [
  ["← →", "the previous or next step"],
  ["Home, End", "the first or last step"],
  ["Space", "play or pause"],
  ["h", "the least certain step"],
  ["1 to 9, 0", "take the first to tenth candidate instead"],
  ["[ and ]", "the previous or next layer"],
  ["comma and full stop", "the previous or next head"],
  ["in the tree: arrows, Enter", "move between boxes, continue from a box"],
  ["?", "this list"],
];

/** @typedef {"beam_size" | "length_penalty" | "temperature" | "top_k" | "top_p" | "seed"} NumberName */

/**
 * Returns a labelled box for a number; `show` sets its value. If the step is 1, the box accepts whole numbers only.
 * Otherwise the step applies only to the arrows of the box, and users may type numbers between two steps.
 * @param {string} label
 * @param {{ min: number, max: number, step: number }} limits
 * @param {(value: number) => void} change
 */
function number(label, { min, max, step }, change) {
  const box = element("input", { type: "number", "aria-label": label, min, max, step, onchange: () => {
    const typed = Number(box.value);
    const possible = box.value !== "" && typed >= min && typed <= max && (step < 1 || Number.isInteger(typed));
    // The number is rounded to as many decimals as the URL stores. An invalid number is replaced by the last valid one.
    box.value = String(possible ? Math.round(1e6 * typed) / 1e6 : shown);
    if (possible) change(Number(box.value));
  } });
  let shown = min;
  /** @param {number} value */
  const show = (value) => {
    shown = value;
    // Text that the user is typing is not replaced.
    if (box !== focused(box)) box.value = String(value);
  };
  return Object.assign(element("label", { class: "field" }, element("span", {}, label), box), { show });
}

/**
 * Returns the controls that decide how the next token is chosen and which heads' attention is shown.
 * @param {(part: Partial<StepsParams>) => void} decode called with a change that makes the server decode again
 * @param {(part: Partial<StepsParams>) => void} view called with a change that affects only the view
 * @param {{ showKeys: () => void, showTree: () => void }} open
 */
export function settings(decode, view, { showKeys, showTree }) {
  const method = explained(select("Method", METHODS, (value) => decode({ method: value })), "greedy");
  /** @type {Record<NumberName, ReturnType<typeof number>>} */
  const fields = {
    beam_size: explained(number("Beam size", { min: 1, max: 10, step: 1 }, (beam_size) => decode({ beam_size })), "beam"),
    length_penalty: explained(number("Length penalty", { min: 0, max: 3, step: 0.1 }, (length_penalty) => decode({ length_penalty })), "length penalty"),
    temperature: explained(number("Temperature", { min: 0.1, max: 10, step: 0.1 }, (temperature) => decode({ temperature })), "temperature"),
    top_k: explained(number("Top-k, 0: all", { min: 0, max: 10000, step: 1 }, (top_k) => decode({ top_k })), "top-k"),
    top_p: explained(number("Top-p", { min: 0.05, max: 1, step: 0.05 }, (top_p) => decode({ top_p })), "top-p"),
    seed: explained(number("Seed", { min: 0, max: 999999, step: 1 }, (seed) => decode({ seed })), "seed"),
  };
  /** @type {Record<string, string[]>} */
  const used = { greedy: [], beam: ["beam_size", "length_penalty"], sample: ["temperature", "top_k", "top_p", "seed"] };
  const show = explained(select("Attention", SHOWS, (value) => view({ show: value })), "attention");
  const layer = explained(select("Layer", null, (value) => view({ layer: Number(value) })), "layer");
  const head = explained(select("Head", null, (value) => view({ head: Number(value) })), "head");
  const toTree = element("button", { type: "button", onclick: showTree }, "To the tree ↓");
  const bar = element("div", { class: "bar" }, method, ...Object.values(fields), toTree, show, layer, head,
    keysButton(showKeys));
  /** @type {(params: StepsParams, translation: Translation) => void} */
  const reflect = (params, translation) => {
    method.box.value = params.method;
    for (const name of /** @type {NumberName[]} */ (Object.keys(fields))) {
      fields[name].hidden = !used[params.method].includes(name);
      fields[name].show(params[name]);
    }
    toTree.hidden = params.method !== "beam";
    show.box.value = params.show;
    layer.fill(numbered(translation.layers), String(params.layer));
    head.fill(numbered(translation.heads), String(params.head));
    layer.hidden = head.hidden = params.show !== "head";
  };
  return Object.assign(bar, { reflect });
}
