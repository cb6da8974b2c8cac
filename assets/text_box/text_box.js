// A box for one line of text, and its button. Typed text that was not sent is kept in the browser tab when the user opens
// another page or reloads, and when the server restarts.

// Imported for its style sheet.
import "../shared/controls.js";
import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";

/**
 * The message from the server for a box (pages/ui/components/text_box.py).
 * @typedef {{
 *   name: string, text: string, asked: number, belongs: string, label: string, placeholder: string, button: string,
 *   help: string, primary: boolean,
 * }} BoxMessage
 */
/**
 * The text that the user typed, the server's text that it replaced, and the context in which the user typed.
 * @typedef {{ typed: string, text: string, belongs: string }} Draft
 */

/**
 * Drafts by box name, for browsers that forbid storage. Such a browser keeps typed text until the next reload.
 * @type {Map<string, Draft>}
 */
const remembered = new Map();

/**
 * Stores a draft in the browser tab.
 * @param {string} name
 * @param {Draft} draft
 */
function remember(name, draft) {
  remembered.set(name, draft);
  try {
    sessionStorage.setItem(name, JSON.stringify(draft));
  } catch { /* Storage is full or forbidden. */ }
}

/**
 * Returns the stored draft of a box.
 * @param {string} name
 * @returns {Draft | undefined}
 */
function draftOf(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "null") ?? remembered.get(name);
  } catch {
    return remembered.get(name);
  }
}

export class TextBox extends Component {
  /** @type {BoxMessage | undefined} */
  data;
  /** @type {string | null} the sent text, until the server answers */
  sent = null;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("form", { class: "text-box" }));
    this.label = element("span", {});
    // A text area, so that a long line wraps on a phone. Line breaks become spaces, so the text stays one line.
    this.input = element("textarea", { rows: 1, autocomplete: "off", dir: "auto", oninput: () => {
      this.fill(this.input.value);
      this.keep();
    } });
    this.button = element("button", { type: "submit" });
    this.root.append(element("label", { class: "field" }, this.label, this.input), this.button);
    this.root.onsubmit = (event) => {
      event.preventDefault();
      this.send();
    };
    // Keeps typed letters from the page, which would treat them as shortcuts.
    this.root.onkeydown = (event) => {
      if (event.key.length === 1) event.stopPropagation();
      if (event.key === "Enter" && event.target === this.input && !event.isComposing) {
        event.preventDefault();
        this.send();
      }
    };
  }

  /**
   * Shows `data.text`, the server's text. Typed text stays until the server's text or its context changes, or until
   * the server requests that the typed text be replaced.
   * @param {BoxMessage} data
   */
  show(data) {
    const before = this.data;
    this.data = data;
    this.label.textContent = data.label;
    this.input.placeholder = data.placeholder;
    this.input.title = data.help;
    this.button.textContent = data.button;
    this.root.classList.toggle("primary", data.primary);
    // Compare with >, because a restarted server counts its requests from 0 again.
    const asked = before && data.asked > before.asked;
    if (before && before.text === data.text && before.belongs === data.belongs && !asked) return;
    const draft = before ? null : draftOf(data.name);
    if (draft && draft.text === data.text && draft.belongs === data.belongs) {
      this.fill(draft.typed);
    } else if (data.text !== this.sent || asked) {
      this.fill(data.text);
    }
    this.sent = null;
    this.keep();
  }

  /**
   * Puts a text into the box, on one line.
   * @param {string} text
   */
  fill(text) {
    const line = text.replace(/\s*[\r\n]\s*/g, " ");
    // Assigning the same text would move the cursor to the end.
    if (line !== this.input.value) this.input.value = line;
  }

  keep() {
    if (!this.data) return;
    const { name, text, belongs } = this.data;
    remember(name, { typed: this.input.value, text: this.sent ?? text, belongs });
  }

  send() {
    // Until the answer arrives, drafts store the sent text as the server's, so that text typed in the meantime is kept.
    this.sent = this.input.value;
    this.keep();
    this.server.setTriggerValue("submitted", this.sent);
  }
}

export default mount(TextBox);
