// The keyboard: the list of keys, and a test of whether a key press is meant for a component.

import { element } from "./element.js";

/**
 * Returns the list of keys, as a dialog.
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
 * Returns whether a component may handle a key press: not if it is for a control, the browser or the list of keys.
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement} dialog
 */
export function isShortcut(event, dialog) {
  const inControl = event.target instanceof Element && event.target.matches("select, input");
  return !(dialog.open || inControl || event.ctrlKey || event.metaKey || event.altKey);
}
