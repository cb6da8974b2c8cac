// Every number of every head: a click on a row, or Enter on its name, opens the head; one on a column's name sorts.

const DIGITS = 3;

/** @typedef {{ number: number, name: string, values: (number | string | null)[] }} HeadRow */

class HeadTable {
  /** @type {Server} */
  server;
  /** @type {string[]} */
  columns;
  /** @type {HeadRow[]} their first value is their number, by which the heads are sorted */
  rows;
  /** @type {{ column: string, upwards: boolean } | null} */
  sorted = null;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    this.names = element("tr");
    this.body = element("tbody");
    const table = element("table", {}, element("thead", {}, this.names), this.body);
    this.root = element("div", { class: "heads", tabindex: 0, role: "region", "aria-label": "Every number of every head" }, table);
    parent.append(this.root);
  }

  close() {
    this.root.remove();
  }

  /** @param {{ columns: string[], rows: { name: string, values: (number | string | null)[] }[] }} message */
  show({ columns, rows }) {
    this.columns = ["head", ...columns];
    this.rows = rows.map(({ name, values }, number) => ({ number, name, values: [number, ...values] }));
    if (this.sorted && !this.columns.includes(this.sorted.column)) this.sorted = null;
    this.draw();
  }

  /**
   * Largest numbers and first words first, then the other way round; what is missing always last.
   * @param {string} column
   */
  sort(column) {
    const first = column === "head" || this.rows.some(({ values }) => typeof values[this.columns.indexOf(column)] === "string");
    this.sorted = { column, upwards: this.sorted?.column === column ? !this.sorted.upwards : first };
    this.draw();
  }

  order() {
    if (!this.sorted) return this.rows;
    const at = this.columns.indexOf(this.sorted.column);
    /** @type {(row: HeadRow) => boolean} */
    const missing = ({ values }) => values[at] === null || values[at] === "";
    const sign = this.sorted.upwards ? 1 : -1;
    return [...this.rows].sort((one, other) => {
      if (missing(one) || missing(other)) return Number(missing(one)) - Number(missing(other));
      const [a, b] = [one.values[at], other.values[at]];
      return sign * (typeof a === "string" ? a.localeCompare(String(b)) : Number(a) - Number(b));
    });
  }

  draw() {
    keepingFocus(this.names, "button", () => this.names.replaceChildren(...this.columns.map((column) => {
      const sorted = this.sorted?.column === column ? (this.sorted.upwards ? "ascending" : "descending") : "none";
      const mark = { ascending: " ↑", descending: " ↓", none: "" }[sorted];
      return element("th", { scope: "col", "aria-sort": sorted },
        element("button", { type: "button", onclick: () => this.sort(column) }, column + mark));
    })));
    this.body.replaceChildren(...this.order().map(({ number, name, values }) => element("tr", { onclick: () => this.server.setTriggerValue("open", number) },
      element("th", { scope: "row" }, element("button", { type: "button", title: "Open this head" }, name)),
      ...values.slice(1).map((value) => (typeof value === "number"
        ? element("td", { class: "number" }, typeset(value, DIGITS)) : element("td", {}, value ?? ""))))));
    this.root.dataset.drawn = "heads";
  }
}
