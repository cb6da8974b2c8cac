// The notebook widget: the attention browser in a shadow root, with the theme of the notebook around it.

import { isLight, canvasColour } from "../shared/colours.js";
import { element } from "../shared/element.js";
import { AttentionBrowser } from "./attention_browser.js";
/** @import { Choice } from "./arrangement.js" */

// attention_atlas/widget.py inserts the style sheet here, because a page's style sheets do not apply in a shadow root.
const SHEET = "";

/**
 * The part of anywidget's model that the widget uses.
 * @typedef {{
 *   get: (name: string) => any, set: (name: string, value: any) => void, save_changes: () => void,
 *   on: (event: string, call: () => void) => void, off: (event: string, call: () => void) => void,
 * }} Model
 */

/** @type {("layer" | "head" | "rows" | "columns")[]} traits that Python reads and sets */
const CHOSEN = ["layer", "head", "rows", "columns"];
// Attribute that turns off Jupyter's keyboard shortcuts for an element.
const SUPPRESSED = "data-lm-suppress-shortcuts";
/** @type {Record<string, string>} */
const TITLES = { encoder: "Encoder attention", decoder: "Masked attention", cross: "Cross attention" };

/**
 * Returns whether the notebook around an element is dark. The innermost background around the element decides, even if
 * it is outside the shadow root. Without any background, the text colour decides.
 * @param {Element} within
 */
function isDark(within) {
  /** @type {Element | null} */
  let around = within;
  while (around) {
    const colour = canvasColour(getComputedStyle(around).backgroundColor);
    if (colour[3] > 0) return !isLight(colour);
    const root = around.getRootNode();
    around = around.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  }
  return isLight(canvasColour(getComputedStyle(within).color));
}

/** @param {{ model: Model, el: HTMLElement }} place */
function render({ model, el }) {
  const host = element("div");
  el.append(host);
  const root = host.attachShadow({ mode: "open" });
  // Keeps key presses from the notebook, where they are commands: "m" would turn the cell into Markdown. Notebook 7
  // handles keys before the widget receives them, unless the element has the attribute SUPPRESSED. Shortcuts such as
  // Ctrl+S still reach the notebook.
  const keep = (/** @type {KeyboardEvent} */ event) => {
    const shortcut = event.ctrlKey || event.metaKey;
    host.toggleAttribute(SUPPRESSED, !shortcut);
    if (!shortcut) event.stopPropagation();
  };
  host.toggleAttribute(SUPPRESSED, true);
  host.addEventListener("keydown", keep);
  host.addEventListener("keyup", keep);
  const box = element("div", { class: "notebook" });
  const kinds = Object.keys(model.get("messages"));
  const tabs = element("p", { class: "bar" }, ...(kinds.length < 2 ? [] : kinds.map((kind) => element("button", {
    type: "button", "data-kind": kind, onclick: () => { model.set("kind", kind); model.save_changes(); },
  }, TITLES[kind]))));
  root.append(element("style", {}, SHEET), box);
  box.append(tabs);
  /** @type {AttentionBrowser} */
  let browser;
  // True while the attention browser sets the traits. It then ignores change events, which only repeat its changes.
  let telling = false;
  const tell = (/** @type {Choice} */ choice) => {
    telling = true;
    for (const name of CHOSEN) if (String(model.get(name)) !== String(choice[name])) model.set(name, choice[name]);
    telling = false;
    model.save_changes();
  };
  const show = async () => {
    const kind = model.get("kind");
    const first = !browser;
    browser?.close();
    browser = new AttentionBrowser(box);
    browser.server = { setTriggerValue() {}, setStateValue: (_, choice) => tell(choice) };
    for (const tab of tabs.querySelectorAll("button")) tab.setAttribute("aria-pressed", String(tab.dataset.kind === kind));
    /** @type {DataView} */
    const { buffer, byteOffset, byteLength } = model.get("messages")[kind];
    await browser.show(new Uint8Array(buffer, byteOffset, byteLength).slice());
    // The kind of attention that is shown first uses the choice from Python. Other kinds open with their default heads.
    if (first) follow();
    else tell(browser.choice);
  };
  const follow = () => {
    if (telling || !browser.data) return;
    const asked = Object.fromEntries(CHOSEN.map((name) => [name, model.get(name)]));
    if (CHOSEN.some((name) => String(asked[name]) !== String(browser.choice[name]))) browser.change(asked);
  };
  const themed = () => {
    host.classList.toggle("dark", isDark(el));
    browser?.draw();
  };
  const watcher = new MutationObserver(themed);
  for (const around of [document.documentElement, document.body]) watcher.observe(around, { attributes: true });
  themed();
  show();
  model.on("change:kind", show);
  for (const name of CHOSEN) model.on(`change:${name}`, follow);
  return () => {
    watcher.disconnect();
    model.off("change:kind", show);
    for (const name of CHOSEN) model.off(`change:${name}`, follow);
    browser.close();
  };
}

export default { render };
