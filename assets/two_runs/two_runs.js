// Shows the cells of two runs. Dragging a cell onto a cell of the other run copies the dragged cell's value to that
// cell. The page's drop-down lists do the same, so this component needs no keyboard support and is hidden from screen
// readers.

import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";

/**
 * The message from the server (pages/ui/patch/two_runs.py). Rows begin with the lowest layer. `partners` pairs
 * columns of A with columns of B. If `free`, a cell may be dropped on any column; otherwise only on the partner of
 * its column.
 * @typedef {{
 *   runs: { name: string, text: string, labels: string[] }[], rows: string[], partners: [number, number][], free: boolean,
 *   chosen: { row: number, columns: (number | null)[] },
 * }} TwoRunsMessage
 */
/**
 * A cell of a run.
 * @typedef {{ run: number, row: number, column: number }} Cell
 */

class TwoRuns extends Component {
  /** @type {TwoRunsMessage | undefined} */
  data;
  /** @type {Cell | null} the cell that is being dragged */
  taken = null;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "two-runs", "aria-hidden": "true" }));
    this.root.onpointerdown = (event) => {
      this.taken = event.button ? null : this.cellAt(event);
      if (!this.taken) return;
      event.preventDefault();
      this.root.setPointerCapture(event.pointerId);
      this.mark(event);
    };
    this.root.onpointermove = (event) => this.mark(event);
    this.root.onpointerup = (event) => {
      const [from, onto] = [this.taken, this.cellAt(event)];
      this.stop();
      if (from && onto && this.accepts(from, onto)) this.server.setTriggerValue("dropped", { ...from, onto: onto.column });
    };
    this.root.onpointercancel = () => this.stop();
  }

  /** @param {TwoRunsMessage} data */
  show(data) {
    this.data = data;
    this.stop();
    this.root.replaceChildren(...data.runs.map(({ name, text, labels }, run) => {
      const others = new Map(data.partners.map((pair) => run ? [pair[1], pair[0]] : pair));
      const label = (/** @type {string} */ each, /** @type {number} */ column) => {
        const partner = others.get(column);
        const changed = partner === undefined || data.runs[1 - run].labels[partner] !== each;
        return element("span", { class: changed ? "token changed" : "token", title: each }, each);
      };
      const cells = data.rows.map((number, row) => [element("span", { class: "number" }, number),
        ...labels.map((each, column) => element("span", {
          class: row === data.chosen.row && column === data.chosen.columns[run] ? "cell chosen" : "cell",
          "data-cell": `${run} ${row} ${column}`, title: `${name}: ${each}, ${number}`,
        }))]);
      return element("section", { style: `--columns: ${labels.length}` }, element("h4", {}, `${name}: ${text}`),
        element("div", { class: "cells" }, ...cells.flat(), element("span", {}), ...labels.map(label)));
    }));
  }

  /**
   * Returns the cell under the pointer. The event's target may be another element, because this component captures the
   * pointer.
   * @param {PointerEvent} event
   * @returns {Cell | null}
   */
  cellAt({ clientX, clientY }) {
    const place = /** @type {Document | ShadowRoot} */ (this.root.getRootNode());
    const under = place.elementFromPoint(clientX, clientY);
    if (!(under instanceof HTMLElement) || !under.dataset.cell) return null;
    const [run, row, column] = under.dataset.cell.split(" ").map(Number);
    return { run, row, column };
  }

  /**
   * Returns whether a cell may be dropped onto another cell, which must be in the other run and in the same layer.
   * @param {Cell} from
   * @param {Cell} onto
   */
  accepts(from, onto) {
    const pair = from.run ? [onto.column, from.column] : [from.column, onto.column];
    return from.run !== onto.run && from.row === onto.row
      && (this.data?.free || this.data?.partners.some((each) => each.join() === pair.join()));
  }

  /**
   * Marks the dragged cell, the cells on which it may be dropped, and the cell under the pointer.
   * @param {PointerEvent} event
   */
  mark(event) {
    const { taken } = this;
    if (!taken) return;
    const over = this.cellAt(event);
    for (const each of this.root.querySelectorAll(".cell")) {
      const [run, row, column] = (/** @type {HTMLElement} */ (each).dataset.cell ?? "").split(" ").map(Number);
      const same = (/** @type {Cell | null} */ cell) => cell?.run === run && cell.row === row && cell.column === column;
      each.classList.toggle("taken", same(taken));
      each.classList.toggle("goal", Boolean(this.accepts(taken, { run, row, column })));
      each.classList.toggle("over", same(over));
    }
  }

  stop() {
    this.taken = null;
    for (const each of this.root.querySelectorAll(".cell")) each.classList.remove("taken", "goal", "over");
  }
}

export default mount(TwoRuns);
