// Small controls and helper functions that components share.

import { element } from "./element.js";

/**
 * Returns a labelled drop-down list. `fill` replaces its choices, and `box` is its select element.
 * @param {string} label
 * @param {string[][] | null} options values, each with its text; null to call `fill` later
 * @param {(value: string) => void} change
 */
export function select(label, options, change) {
  const box = element("select", { "aria-label": label, onchange: () => change(box.value) });
  /** @type {(choices: string[][], chosen: string) => void} */
  const fill = (choices, chosen) => {
    box.replaceChildren(...choices.map(([value, text]) => element("option", { value, label: text }, text)));
    box.value = chosen;
  };
  if (options) fill(options, options[0][0]);
  return Object.assign(element("label", { class: "field" }, element("span", {}, label), box), { box, fill });
}

/**
 * Returns choices with the labels 1 to `count` and zero-based values.
 * @param {number} count
 */
export const numbered = (count) => Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);

/**
 * Returns a labelled checkbox.
 * @param {string} label
 * @param {(checked: boolean) => void} change
 */
export function checkbox(label, change) {
  const box = element("input", { type: "checkbox", onchange: () => change(box.checked) });
  return Object.assign(element("label", { class: "check" }, box, label), { box });
}

/**
 * Returns the nearest valid index in a list of `count` items.
 * @param {number} index
 * @param {number} count
 */
export const clamped = (index, count) => Math.min(count - 1, Math.max(0, index));

/**
 * Rows and columns by which each arrow key moves.
 * @type {Record<string, [number, number]>}
 */
export const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/**
 * Returns the element that has the focus, in the document or shadow root of a node.
 * @param {Node} node
 */
export function focused(node) {
  const root = node.getRootNode();
  return root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
}

/**
 * Runs `refill`, which replaces children of `parent`. If an old child had the focus, the new child at the same index
 * gets it, or the last child if there are fewer now.
 * @param {Element} parent
 * @param {string} selector CSS selector of the children
 * @param {() => void} refill
 */
export function keepingFocus(parent, selector, refill) {
  /** @returns {HTMLElement[]} */
  const children = () => [...parent.querySelectorAll(selector)].filter((child) => child instanceof HTMLElement);
  const at = children().findIndex((child) => child === focused(parent));
  refill();
  if (at < 0) return;
  const now = children();
  now[Math.min(at, now.length - 1)]?.focus();
}
