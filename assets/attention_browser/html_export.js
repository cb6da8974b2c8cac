// The last script of the HTML export: draws the kinds of attention that the file holds.

import { fromBase64 } from "../figures/base64.js";
import { element } from "../shared/element.js";
import { AttentionBrowser } from "./attention_browser.js";
/** @import { Choice } from "./arrangement.js" */

/**
 * @type {{
 *   kind: string, choice: Choice, texts: { source: string, target: string },
 *   kinds: { kind: string, title: string, data: string }[],
 * }}
 */
const content = JSON.parse(document.querySelector("#content")?.textContent ?? "");
document.title = `${content.texts.source} → ${content.texts.target}`;
document.querySelector("h1")?.append(document.title);
for (const { kind, title, data } of content.kinds) {
  const section = element("section", {}, element("h2", {}, title));
  document.body.append(section);
  const browser = new AttentionBrowser(section);
  // There is no server to tell.
  browser.server = { setStateValue() {}, setTriggerValue() {} };
  // Pieces that are pinned belong to their kind.
  const choice = kind === content.kind ? content.choice : { ...content.choice, rows: [], columns: [] };
  browser.show(fromBase64(data), choice);
}
