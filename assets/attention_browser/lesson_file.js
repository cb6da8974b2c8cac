// The last script of a lesson's file: draws the map of every step that has one.

import { fromBase64 } from "../figures/base64.js";
import { AttentionBrowser } from "./attention_browser.js";

/** @type {string[]} */
const maps = JSON.parse(document.querySelector("#content")?.textContent ?? "");
for (const place of document.querySelectorAll("[data-map]")) {
  if (!(place instanceof HTMLElement)) continue;
  const browser = new AttentionBrowser(place);
  // A file has no server that would need the state.
  browser.server = { setStateValue() {}, setTriggerValue() {} };
  const data = maps[Number(place.dataset.map)];
  browser.show(fromBase64(data));
}
