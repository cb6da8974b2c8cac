// The user's list of sentences: a dialog for pasting sentences or reading them from a file, and buttons that step
// through them. The browser tab stores the list, so that the list survives a reload and a server restart. The browser
// reads the file; the server receives only the list that the user confirms.

// Imported only for the style sheet.
import "../shared/controls.js";
import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";

/**
 * The message from the server (pages/ui/reading/my_sentences.py). `given` says whether the session has a list, which
 * may be empty. `asked` counts how often the user has requested the dialog.
 * @typedef {{ text: string, given: boolean, at: number, count: number, said: string, asked: number,
 *   limit: number }} ListMessage
 */
const STORAGE_KEY = "my_sentences";

class SentenceList extends Component {
  /** @type {ListMessage | undefined} */
  data;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "sentence-list" }));
    /** @type {(label: string, sign: string, step: number) => HTMLButtonElement} */
    const stepping = (label, sign, step) => element("button",
      { type: "button", class: "step", "aria-label": label, title: label, onclick: () => this.act({ step }) }, sign);
    this.steps = [stepping("Previous sentence in my list", "‹", -1), stepping("Next sentence in my list", "›", 1)];
    this.open = element("button", { type: "button", class: "open", title: "Paste many sentences and step through them",
      onclick: () => this.ask() });
    this.area = element("textarea", { rows: 12, "aria-label": "My sentences, one per line", placeholder: "One sentence per line",
      dir: "auto", spellcheck: "false" });
    this.problem = element("p", { role: "alert" });
    this.file = element("input", { type: "file", accept: ".txt,text/plain", "aria-label": "Read sentences from a file",
      onchange: () => this.load() });
    this.dialog = element("dialog", { "aria-label": "My sentences" }, element("h2", {}, "My sentences"),
      element("p", {}, "You can step through your sentences on every page with a translation. “Compare heads”, “Switch heads off” and “What mattered” measure all of them."),
      this.area, this.problem, element("p", { class: "buttons" }, element("label", {}, "or a text file ", this.file),
        element("button", { type: "button", class: "primary", onclick: () => this.send(this.area.value) }, "Use these"),
        element("button", { type: "button", onclick: () => this.send("") }, "Forget them"),
        element("button", { type: "button", onclick: () => this.dialog.close() }, "Close")));
    // Keeps typed letters from the page, which would treat them as shortcuts.
    this.dialog.onkeydown = (event) => event.stopPropagation();
    this.root.append(this.steps[0], this.open, this.steps[1], this.dialog);
  }

  /** @param {ListMessage} data */
  show(data) {
    const before = this.data;
    this.data = data;
    this.open.textContent = `${data.at || "–"} of ${data.count}`;
    this.open.setAttribute("aria-label", `My sentences: ${data.at || "none"} of ${data.count}`);
    for (const button of [...this.steps, this.open]) button.hidden = !data.count;
    if (before && before.asked < data.asked) this.ask();
    if (data.given) {
      keep(data.text);
      if (data.said && before && before.said !== data.said) this.ask();
    } else if (!before && kept()) {
      this.act({ text: kept(), restored: true });
    }
  }

  ask() {
    this.area.value = this.data?.text ?? "";
    this.problem.textContent = this.data?.said ?? "";
    if (!this.dialog.open) this.dialog.showModal();
  }

  /**
   * Sends the list of sentences to the server, and closes the dialog.
   * @param {string} text
   */
  send(text) {
    this.dialog.close();
    this.act({ text });
  }

  async load() {
    const [file] = this.file.files ?? [];
    this.file.value = "";
    if (!file || !this.data) return;
    const { limit } = this.data;
    try {
      if (file.size > limit) throw new RangeError(`This file is too large (${Math.ceil(file.size / 1000)} kB): choose one of at most ${limit / 1000} kB.`);
      this.area.value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      this.problem.textContent = "";
    } catch (error) {
      this.problem.textContent = error instanceof RangeError ? error.message
        : "This file is not UTF-8 text: save it as UTF-8, one sentence per line.";
    }
  }

  /**
   * Sends an action to the server: a new list or a step.
   * @param {{ text?: string, restored?: boolean, step?: number }} what
   */
  act(what) {
    this.server.setTriggerValue("act", what);
  }
}

/**
 * Stores the list in the browser tab.
 * @param {string} text
 */
function keep(text) {
  try {
    sessionStorage.setItem(STORAGE_KEY, text);
  } catch { /* Storage is full or forbidden. */ }
}

/**
 * Returns the list stored in the browser tab, or an empty string.
 * @returns {string}
 */
function kept() {
  try {
    return sessionStorage.getItem(STORAGE_KEY) ?? "";
  } catch {
    return "";
  }
}

export default mount(SentenceList);
