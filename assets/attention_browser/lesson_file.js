// The last script of an exported lesson. It draws the map of every step that has a map.

import { fromBase64 } from "../figures/base64.js";
import { AttentionBrowser } from "./attention_browser.js";

/** @type {string[]} */
const maps = JSON.parse(document.querySelector("#content")?.textContent ?? "");
for (const place of document.querySelectorAll("[data-map]")) {
  if (!(place instanceof HTMLElement)) continue;
  const browser = new AttentionBrowser(place);
  // A file has no server to send the state to.
  browser.server = { setStateValue() {}, setTriggerValue() {} };
  const data = maps[Number(place.dataset.map)];
  browser.show(fromBase64(data));
}
