// The last script of an exported HTML file. It draws the attention maps that the file contains.

import { fromBase64 } from "../figures/base64.js";
import { element } from "../shared/element.js";
import { AttentionBrowser } from "./attention_browser.js";
/** @import { Choice } from "./arrangement.js" */

// Maximum length of the headline in characters. A longer headline would push the first map down too far.
const LONGEST_TITLE = 80;

/**
 * `choice` is the user's choice on the page; without it, the data determines the initial view.
 * @type {{
 *   kind: string, choice?: Choice, texts: { source: string, target: string }, title?: string,
 *   kinds: { kind: string, title: string, data: string }[],
 * }}
 */
const content = JSON.parse(document.querySelector("#content")?.textContent ?? "");
const whole = [content.texts.source, content.texts.target].filter((text) => text.trim()).join(" → ");
document.title = content.title || beginning(whole) || "Attention";
document.querySelector("h1")?.append(document.title);
const details = document.querySelector("details");
details?.querySelector("p")?.append(whole);
if (details && (document.title === whole || !whole)) details.hidden = true;
for (const { kind, title, data } of content.kinds) {
  const section = element("section", {}, element("h2", {}, title));
  document.body.append(section);
  const browser = new AttentionBrowser(section);
  // A file has no server to send the state to.
  browser.server = { setStateValue() {}, setTriggerValue() {} };
  const { choice } = content;
  // Pinned tokens apply only to the kind of attention in which they were pinned.
  browser.show(fromBase64(data), choice && (kind === content.kind ? choice : { ...choice, rows: [], columns: [] }));
}

/**
 * Returns a text, or its beginning if the text is too long for a headline. The cut is between two words, if possible.
 * @param {string} text
 */
function beginning(text) {
  if (text.length <= LONGEST_TITLE) return text;
  const cut = text.slice(0, LONGEST_TITLE);
  return `${cut.slice(0, cut.lastIndexOf(" ") > 0 ? cut.lastIndexOf(" ") : LONGEST_TITLE)} …`;
}
