// Keyboard shortcuts: the list of keys, and a check of whether a component may handle a key press.

import { clamped } from "./controls.js";
import { element } from "./element.js";

/**
 * Returns a dialog that lists the keys and their actions.
 * @param {string[][]} keys each with its action
 */
export function keysDialog(keys) {
  return element("dialog", { class: "keys", "aria-label": "Keys" }, element("h3", {}, "Keys"),
    element("dl", {}, ...keys.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)])),
    element("form", { method: "dialog" }, element("button", {}, "Close")));
}

/**
 * Returns the button that opens the list of keys.
 * @param {() => void} showKeys
 */
export function keysButton(showKeys) {
  return element("button", { type: "button", class: "help", title: "Keys (key ?)", onclick: showKeys }, "Keys");
}

/**
 * Returns the actions of the keys that choose a layer and a head.
 * @param {{ layer: number, head: number }} at
 * @param {{ layers: number, heads: number }} counts
 * @param {(part: { layer?: number, head?: number }) => void} change
 * @returns {Record<string, () => void>}
 */
export const headKeys = ({ layer, head }, { layers, heads }, change) => ({
  "[": () => change({ layer: clamped(layer - 1, layers) }),
  "]": () => change({ layer: clamped(layer + 1, layers) }),
  ",": () => change({ head: clamped(head - 1, heads) }),
  ".": () => change({ head: clamped(head + 1, heads) }),
});

/**
 * Returns whether a component may handle a key press: false if the press is meant for a control, the browser or the
 * open list of keys.
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement} dialog
 */
export function isShortcut(event, dialog) {
  const inControl = event.target instanceof Element && event.target.matches("select, input");
  return !(dialog.open || inControl || event.ctrlKey || event.metaKey || event.altKey);
}
