// Shows a sentence as a film that follows one word through the model. Every frame shows numbers, a short
// explanation, and a link to a page with more details.

import { onStep } from "../shared/clicker.js";
import { shadesOf, tintedElement } from "../shared/colours.js";
import { clamped } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";
import { addressLinks, openLinks, pageLink } from "../shared/page_links.js";
import { Player } from "../shared/player.js";
import { SyncedState } from "../shared/synced_state.js";
import { transport, transportButton } from "../shared/transport.js";

/**
 * A number with its label. Cells with the same key in two frames are the same token. `tint` is the number's
 * position on the line's colour scale; without `tint`, the cell has no colour.
 * @typedef {{ key: string, label: string, number: string, tint?: number, mark?: "chosen" | "masked" }} Cell
 */
/** @typedef {{ name: string, palette: string, cells: Cell[] }} FilmLine */
/**
 * `link` contains the link's text, and the page's name and URL parameters. Exported films have no links.
 * @typedef {{ title: string, says: string, link?: [string, string, Record<string, string>], lines: FilmLine[] }} FilmFrame
 */
/**
 * `asked.params.frame` is 1-based, and 0 if the film is closed. `play` says whether the user has just opened the film.
 * @typedef {{
 *   id: string, frames: FilmFrame[], direction: string, play?: boolean, lecture?: boolean,
 *   asked: { number: number, params: { frame: number } },
 * }} FilmMessage
 */

// Times in milliseconds: the whole film, the movement of a cell to its position in the next frame, and the delay
// between new cells. Looking at a frame's numbers is assumed to take as long as reading NUMBERS words.
const FILM_DURATION = 60_000;
const NUMBERS = 10;
const MOVE_DURATION = 700;
const CELL_DELAY = 45;

/**
 * Returns the duration of a frame in milliseconds. A frame with a longer text is shown for longer.
 * @param {{ says: string }[]} frames
 * @param {number} at
 */
export function paceOf(frames, at) {
  const efforts = frames.map(({ says }) => NUMBERS + says.split(" ").length);
  return (FILM_DURATION * efforts[at]) / efforts.reduce((sum, effort) => sum + effort);
}

/**
 * Returns the zero-based index of the frame that a key selects, or undefined if the key selects none.
 * @param {string} key
 * @param {number} at
 * @param {number} count
 */
export function frameAfter(key, at, count) {
  /** @type {Record<string, number>} */
  const wanted = { ArrowLeft: at - 1, PageUp: at - 1, ArrowRight: at + 1, PageDown: at + 1, Home: 0, End: count - 1 };
  return key in wanted ? clamped(wanted[key], count) : undefined;
}

/**
 * Returns a line of a frame as an element: the line's name and a list of its numbers.
 * @param {FilmLine} line
 * @param {string} dir reading direction
 */
function lineOf({ name, palette, cells }, dir) {
  const shades = shadesOf(palette);
  const vector = palette === "difference";
  const style = vector ? "vector" : cells.some(({ tint }) => tint !== undefined) ? "bars" : "";
  return element("div", { class: "line" }, element("h4", {}, name), element("ol", { class: `cells ${style}`, dir: vector ? "ltr" : dir },
    ...cells.map(({ key, label, number, tint, mark = "" }) => {
      const inside = [...(label ? [element("span", { dir: "auto" }, label)] : []), element("small", {}, number)];
      const attributes = { class: `cell ${mark}`, "data-key": key };
      if (tint === undefined) return element("li", attributes, ...inside);
      const cell = tintedElement("li", attributes, shades, tint, ...(vector ? [] : [element("i")]), ...inside);
      cell.style.setProperty("--tint", String(tint));
      return cell;
    })));
}

export class SentenceFilm extends Component {
  /** @type {FilmMessage} */
  data;
  /** @type {{ frame: number }} */
  params;
  /** @type {string} identifies the frame on the screen */
  drawn = "";
  synced = new SyncedState(this, "params", () => ({ ...this.params }));
  player = new Player({
    count: () => this.data.frames.length, at: () => this.params.frame - 1, pace: () => paceOf(this.data.frames, this.params.frame - 1),
    show: (at) => { this.params.frame = at + 1; this.draw(); },
    changed: () => { this.draw(); if (!this.player.playing) this.synced.send(); },
  });

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("section", { class: "sentence-film", tabindex: 0, "aria-label": "The film: arrow keys go from frame to frame" }));
    this.title = element("h3");
    this.lines = element("div", { class: "lines" });
    this.says = element("p", { class: "says", "aria-live": "polite" });
    this.more = element("p", { class: "more" });
    this.end = transportButton("Close the film", "✕ Close", () => this.leave());
    this.transport = transport({ go: (at) => this.go(at), toggle: () => this.player.toggle() }, "Frame", this.end);
    this.root.append(this.transport, this.title, this.says, this.lines, this.more);
    openLinks(this);
    this.root.onkeydown = (event) => this.press(event);
    this.leaving.push(onStep((by) => this.step(by), { amongSlides: true }), () => this.player.close(), () => this.synced.leave());
  }

  /** @param {FilmMessage} data */
  show(data) {
    this.data = data;
    let opened = false;
    if (data.asked.number !== this.synced.number) {
      this.player.pause();
      this.synced.take(data.asked.number, data.asked.params);
      if (data.play) {
        opened = true;
        this.root.focus({ preventScroll: true });
        if (!this.still()) this.player.play();
      }
    }
    this.root.classList.toggle("lecture", Boolean(data.lecture));
    this.draw();
    // On a phone, the film may begin below the bottom edge of the screen.
    if (opened) this.root.scrollIntoView({ block: "nearest" });
  }

  // Returns whether the user's system is set to reduce motion.
  still() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  /**
   * Pauses the film, and shows the frame with the index `at`.
   * @param {number} at 0-based
   */
  go(at) {
    this.player.pause();
    this.params.frame = clamped(at, this.data.frames.length) + 1;
    this.draw();
    this.synced.send();
  }

  /**
   * Moves to the next or previous frame when the lecturer presses the clicker. Returns whether there is such a frame.
   * @param {number} by
   */
  step(by) {
    const at = this.params.frame - 1 + by;
    if (at < 0 || at >= this.data.frames.length) return false;
    this.go(at);
    return true;
  }

  leave() {
    this.player.close();
    this.params.frame = 0;
    this.synced.send(0);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof Element && event.target.matches("input"))) return;
    const at = frameAfter(event.key, this.params.frame - 1, this.data.frames.length);
    if (at !== undefined) this.go(at);
    else if (event.key === " " && event.target === this.root) this.player.toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  draw() {
    const { frames, id, direction } = this.data;
    const at = clamped(this.params.frame - 1, frames.length);
    this.transport.reflect(at, frames.length, this.player.playing);
    const drawn = `${id} ${at + 1}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const { title, says, link, lines } = frames[at];
    const before = this.places();
    this.title.textContent = title;
    this.says.textContent = says;
    this.lines.replaceChildren(...lines.map((line) => lineOf(line, direction)));
    this.more.replaceChildren(...(link ? [pageLink(...link)] : []));
    addressLinks(this.root);
    if (before.size && !this.still()) this.move(before);
    this.root.dataset.drawn = drawn;
  }

  /** @returns {Map<string, DOMRect>} the position of each cell on the screen, by key */
  places() {
    return new Map(this.cells().map((cell) => [cell.dataset.key ?? "", cell.getBoundingClientRect()]));
  }

  /** @returns {HTMLElement[]} */
  cells() {
    return [...this.lines.querySelectorAll("li")];
  }

  /**
   * Moves the cells from their positions in the previous frame to the current ones. New cells appear one by one.
   * @param {Map<string, DOMRect>} before
   */
  move(before) {
    const places = this.cells().map((cell) => cell.getBoundingClientRect());
    this.cells().forEach((cell, index) => {
      const from = before.get(cell.dataset.key ?? "");
      const { left, top } = places[index];
      cell.animate(from ? [{ transform: `translate(${from.left - left}px, ${from.top - top}px)` }, { transform: "none" }]
        : [{ opacity: 0 }, { opacity: 1 }],
      { duration: MOVE_DURATION, easing: "ease-in-out", delay: from ? 0 : CELL_DELAY * index, fill: "backwards" });
    });
  }
}

export default mount(SentenceFilm);
