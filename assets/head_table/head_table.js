// A table of all measurements for all heads. A click on a row, or Enter on its name, opens the head. A click on a
// column's name sorts the table by this column.

import { keepingFocus } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";
import { typeset } from "../shared/numbers.js";

const DIGITS = 3;

/** @typedef {{ number: number, name: string, values: (number | string | null)[] }} HeadRow */

export class HeadTable extends Component {
  /**
   * @type {string[][]} for each column, the measurement, and the part of the measurement that is shown (empty if a
   *   measurement has no parts). The first column names the heads.
   */
  columns;
  /** @type {HeadRow[]} rows whose first value is the head's number, for sorting */
  rows;
  /** @type {{ column: number, upwards: boolean } | null} */
  sorted = null;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "heads", tabindex: 0, role: "region", "aria-label": "All measurements for all heads" }));
    this.names = element("thead");
    this.body = element("tbody");
    this.root.append(element("table", {}, this.names, this.body));
  }

  /** @param {{ columns: string[][], rows: { name: string, values: (number | string | null)[] }[] }} message */
  show({ columns, rows }) {
    const before = String(this.columns);
    this.columns = [["head", ""], ...columns];
    this.rows = rows.map(({ name, values }, number) => ({ number, name, values: [number, ...values] }));
    if (String(this.columns) !== before) this.sorted = null;
    this.draw();
  }

  /**
   * Sorts the rows by a column: heads and words in ascending order, numbers in descending order. Sorting by the same
   * column again reverses the order. Missing values are always last.
   * @param {number} column
   */
  sort(column) {
    const first = !column || this.rows.some(({ values }) => typeof values[column] === "string");
    this.sorted = { column, upwards: this.sorted?.column === column ? !this.sorted.upwards : first };
    this.draw();
  }

  order() {
    if (!this.sorted) return this.rows;
    const at = this.sorted.column;
    /** @type {(row: HeadRow) => boolean} */
    const missing = ({ values }) => values[at] === null || values[at] === "";
    const sign = this.sorted.upwards ? 1 : -1;
    return [...this.rows].sort((one, other) => {
      if (missing(one) || missing(other)) return Number(missing(one)) - Number(missing(other));
      const [a, b] = [one.values[at], other.values[at]];
      return sign * (typeof a === "string" ? a.localeCompare(String(b)) : Number(a) - Number(b));
    });
  }

  // Returns the header's rows. The name of a measurement appears once, above all of its columns.
  header() {
    /** @type {{ name: string, at: number[] }[]} */
    const groups = [];
    this.columns.forEach(([name, part], at) => {
      const last = groups.at(-1);
      if (last && part && last.name === name) last.at.push(at);
      else groups.push({ name, at: [at] });
    });
    const divided = this.columns.some(([, part]) => part);
    /** @type {(text: string, at: number, spans: Record<string, number>) => HTMLElement} */
    const sortable = (text, at, spans) => {
      const sorted = this.sorted?.column === at ? (this.sorted.upwards ? "ascending" : "descending") : "none";
      const mark = { ascending: " ↑", descending: " ↓", none: "" }[sorted];
      return element("th", { scope: "col", "aria-sort": sorted, ...spans },
        element("button", { type: "button", "aria-label": this.columns[at].join(" ").trim(), onclick: () => this.sort(at) }, text + mark));
    };
    const above = groups.map(({ name, at }) => (this.columns[at[0]][1]
      ? element("th", { scope: "colgroup", colspan: at.length }, name) : sortable(name, at[0], divided ? { rowspan: 2 } : {})));
    const below = this.columns.flatMap(([, part], at) => (part ? [sortable(part, at, {})] : []));
    return [above, below].filter(({ length }) => length).map((cells) => element("tr", {}, ...cells));
  }

  draw() {
    keepingFocus(this.names, "button", () => this.names.replaceChildren(...this.header()));
    this.body.replaceChildren(...this.order().map(({ number, name, values }) => element("tr", { onclick: () => this.server.setTriggerValue("open", number) },
      element("th", { scope: "row" }, element("button", { type: "button", title: "Open this head" }, name)),
      ...values.slice(1).map((value) => (typeof value === "number"
        ? element("td", { class: "number" }, typeset(value, DIGITS)) : element("td", {}, value ?? ""))))));
    this.root.dataset.drawn = "heads";
  }
}

export default mount(HeadTable);
