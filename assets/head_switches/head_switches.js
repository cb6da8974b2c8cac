// Switches for all heads of the model. Each kind of attention has a board, with a row for each layer and a column for
// each head. Each switch shows its head's map. The number beside a row or above a column switches all its heads. Only
// one board is open at a time. The others are shown as buttons with a picture; each button opens its board.

import { saveable } from "../figures/saveable.js";
import { ARROWS, clamped, keepingFocus } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";
import { headNamesOf, headNamesOfRow } from "./boards.js";
import { switchesPicture } from "./picture.js";
/** @import { Board } from "./boards.js" */

/**
 * The message from the server (pages/ui/switch_heads_off/switches.py).
 * @typedef {{ boards: Board[], off: string, changed: string }} SwitchesMessage
 */

const NO_HEADS = "none";
const BETWEEN_HEADS = "-";

class HeadSwitches extends Component {
  /** @type {Board[]} */
  boards = [];
  /** @type {Set<string>} the heads that are switched off, as they are written in the URL, such as cross.1.8 */
  off = new Set();
  /** @type {string[]} sent states that the server has not answered yet */
  sent = [];
  /** the drawn boards and the kind of the open board, as JSON */
  made = "";
  /** what the user did to the heads listed in `off`: "off", or for example "set to a gate of 0.5" */
  changed = "";
  /** the head that the Tab key reaches and that the “Only” button keeps on; empty for none */
  current = "";
  /** the kind of attention whose board of switches is open */
  open = "cross";

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "switches" }));
    /** @type {(text: string, title: string, onclick: () => void) => HTMLButtonElement} */
    const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
    this.others = button("Only this", "Switch off all other heads of this kind of attention", () => this.keepCurrent());
    this.bar = element("div", { class: "bar" },
      button("All on", "Switch every head on", () => this.change([...this.off], false)),
      button("Invert", "Switch on the heads that are off, and switch off all others", () => this.invert()),
      this.others);
    this.status = element("p", { class: "count", role: "status" });
    this.place = element("div", { class: "boards" });
    this.root.append(this.place, element("div", { class: "below" }, this.bar, this.status));
    this.root.onkeydown = (event) => this.move(event);
    saveable(this.root, (width, theme) => switchesPicture(this.boards, this.off, width, theme));
  }

  /** @param {SwitchesMessage} message */
  show({ boards, off, changed }) {
    this.boards = boards;
    this.changed = changed;
    const received = new Set(off === NO_HEADS ? [] : off.split(BETWEEN_HEADS));
    // A user who clicks faster than the server answers sees the effect of the last click, not an older answer.
    this.sent = this.sent.slice(this.sent.indexOf(this.written(received)) + 1);
    if (!this.sent.length) {
      // If an example or a link switched a head off, this head's board opens.
      const [switched] = boards.flatMap(headNamesOf).filter((name) => received.has(name) && !this.off.has(name));
      if (switched) {
        [this.open] = switched.split(".");
        this.current = switched;
      }
      this.off = received;
    }
    if (!boards.some(({ kind }) => kind === this.open)) this.open = boards[boards.length - 1].kind;
    this.fill();
    this.draw();
  }

  // Rebuilds the boards if they have changed or another board has been opened.
  fill() {
    const needed = JSON.stringify([this.boards, this.open]);
    if (this.made === needed) return;
    this.made = needed;
    keepingFocus(this.place, "button", () => this.place.replaceChildren(
      ...this.boards.map((board) => (board.kind === this.open ? this.board(board) : this.closed(board)))));
  }

  /**
   * Returns a closed board as one button.
   * @param {Board} board
   */
  closed(board) {
    const { kind, title, layers, heads, picture } = board;
    const overview = element("span", { class: "overview", "aria-hidden": "true", style: `--heads: ${heads}; aspect-ratio: ${heads} / ${layers}` },
      ...headNamesOf(board).map((name) => element("span", { "data-of": name })));
    overview.style.backgroundImage = `url(${picture})`;
    return element("section", { "data-kind": kind }, element("h4", {}, element("button", {
      type: "button", class: "closed", "aria-expanded": "false", onclick: () => this.openBoard(kind),
    }, element("span", { class: "title" }, title), element("span", { class: "off" }), overview)));
  }

  /**
   * Opens the board of switches for a kind of attention, and closes the board that was open.
   * @param {string} kind
   */
  openBoard(kind) {
    this.open = kind;
    const names = this.boards.filter((board) => board.kind === kind).flatMap(headNamesOf);
    const current = names.find((name) => this.off.has(name)) ?? names[0];
    this.fill();
    // The pressed button no longer exists, so the focus moves to the current head of the opened board.
    this.current = current;
    this.draw();
    this.heads().find((head) => head.tabIndex === 0)?.focus();
  }

  /**
   * Returns an open board: a switch for each head, and buttons for rows, columns and the whole board.
   * @param {Board} board
   */
  board(board) {
    const { kind, title, layers, heads, picture } = board;
    /** @type {(text: string, label: string, names: string[]) => HTMLButtonElement} */
    const several = (text, label, names) => element("button", {
      type: "button", class: "several", tabindex: -1, "aria-label": label, title: label, onclick: () => this.toggle(names),
    }, text);
    const rows = Array.from({ length: layers }, (_, layer) => headNamesOfRow(board, layer));
    const grid = element("div", { class: "grid", role: "group", "aria-label": title, style: `--heads: ${heads}` },
      several("all", `Switch all heads of ${title} on or off`, rows.flat()),
      ...rows[0].map((_, head) => several(String(head + 1), `Switch head ${head + 1} of every layer on or off`, rows.map((row) => row[head]))));
    rows.forEach((names, layer) => {
      grid.append(several(String(layer + 1), `Switch layer ${layer + 1} on or off`, names), ...names.map((name, head) => {
        const made = element("button", {
          type: "button", class: "head", role: "switch", tabindex: -1, "data-head": name,
          title: `Layer ${layer + 1}, head ${head + 1}`, "aria-label": `${title}, layer ${layer + 1}, head ${head + 1}`,
          onclick: () => this.toggle([name]), onfocus: () => this.choose(name),
        });
        const across = heads > 1 ? (100 * head) / (heads - 1) : 0;
        const down = layers > 1 ? (100 * layer) / (layers - 1) : 0;
        const map = element("span", { class: "map" });
        map.style.backgroundImage = `url(${picture})`;
        map.style.backgroundSize = `${100 * heads}% ${100 * layers}%`;
        map.style.backgroundPosition = `${across}% ${down}%`;
        made.append(map);
        return made;
      }));
    });
    return element("section", { "data-kind": kind, class: "open" },
      element("h4", {}, title), grid);
  }

  /**
   * Switches the given heads off if any of them is on; otherwise switches them all on.
   * @param {string[]} names
   */
  toggle(names) {
    this.change(names, names.some((name) => !this.off.has(name)));
  }

  invert() {
    const all = this.boards.flatMap(headNamesOf);
    const swapped = all.filter((name) => !this.off.has(name));
    this.off = new Set(swapped);
    this.tell();
  }

  /** Switches the current head on and all other heads of its board off. */
  keepCurrent() {
    const board = this.boards.find((each) => headNamesOf(each).includes(this.current));
    if (!board) return;
    this.off = new Set([...this.off, ...headNamesOf(board)]);
    this.off.delete(this.current);
    this.tell();
  }

  /**
   * Switches heads on or off, and sends the new state to the server.
   * @param {string[]} names
   * @param {boolean} off
   */
  change(names, off) {
    for (const name of names) {
      if (off) this.off.add(name);
      else this.off.delete(name);
    }
    this.tell();
  }

  tell() {
    this.draw();
    const text = this.written(this.off);
    this.sent.push(text);
    this.server.setTriggerValue("switched", text);
  }

  /**
   * Returns the names of heads in the format of the URL.
   * @param {Set<string>} heads
   */
  written(heads) {
    return this.boards.flatMap(headNamesOf).filter((name) => heads.has(name)).join(BETWEEN_HEADS) || NO_HEADS;
  }

  /**
   * Makes a head the current one.
   * @param {string} name
   */
  choose(name) {
    this.current = name;
    this.draw();
  }

  draw() {
    const all = this.boards.flatMap(headNamesOf);
    const own = all.filter((name) => name.startsWith(`${this.open}.`));
    if (!own.includes(this.current)) this.current = own.find((name) => this.off.has(name)) ?? own[0] ?? "";
    for (const head of this.heads()) {
      const off = this.off.has(head.dataset.head ?? "");
      head.setAttribute("aria-checked", String(!off));
      head.tabIndex = -1;
    }
    // The Tab key stops only once in the open board: at the current head.
    const stop = this.heads().find((head) => head.dataset.head === this.current);
    if (stop) stop.tabIndex = 0;
    for (const [at, section] of [...this.place.children].entries()) {
      const names = headNamesOf(this.boards[at]), off = names.filter((name) => this.off.has(name)).length;
      const says = section.querySelector(".closed .off");
      if (says) says.textContent = off ? `${off} of ${names.length} ${this.changed}` : "all on";
      for (const one of section.querySelectorAll("[data-of]")) {
        one.classList.toggle("crossed", one instanceof HTMLElement && this.off.has(one.dataset.of ?? ""));
      }
    }
    const [kind, layer, head] = this.current.split(".");
    const title = this.boards.find((board) => board.kind === kind)?.title ?? "";
    this.others.textContent = `Only ${title.toLowerCase()}, layer ${layer}, head ${head}`;
    this.status.textContent = `${all.filter((name) => this.off.has(name)).length} of ${all.length} heads ${this.changed}`;
    this.root.dataset.drawn = "switches";
  }

  /**
   * Returns the switches of the open board.
   * @returns {HTMLElement[]}
   */
  heads() {
    return [...this.place.querySelectorAll(".head")].filter((head) => head instanceof HTMLElement);
  }

  /**
   * Moves the focus with the arrow keys between a board's switches and the numbers that switch a row or a column.
   * @param {KeyboardEvent} event
   */
  move(event) {
    const grid = event.target instanceof Element ? event.target.closest(".grid") : null;
    const step = ARROWS[event.key];
    if (!grid || !step) return;
    const buttons = [...grid.querySelectorAll("button")];
    const at = buttons.findIndex((each) => each === event.target);
    const columns = Number(getComputedStyle(grid).getPropertyValue("--heads")) + 1;
    const row = clamped(Math.floor(at / columns) + step[0], buttons.length / columns);
    const column = clamped((at % columns) + step[1], columns);
    event.preventDefault();
    event.stopPropagation();
    buttons[row * columns + column].focus();
  }
}

export default mount(HeadSwitches);
