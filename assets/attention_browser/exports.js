// Saves the figures on the screen as files, without the server.

import { base64 } from "../figures/base64.js";
import { saveFile, savePicture } from "../figures/picture_files.js";
import { layoutWidth } from "../figures/svg_file.js";
import { lightTheme } from "../shared/colours.js";
import { page } from "../shared/page.js";
import { inflated, unframe } from "../shared/wire.js";
import { shownWeight } from "./arrangement.js";
import { captionOf } from "./readout.js";
import { summed, sumsOf } from "./sums.js";
/** @import { SaveOptions } from "../figures/save_menu.js" */
/** @import { Arranged, Choice, KindHeader, Label, Pinned } from "./arrangement.js" */
/** @import { AttentionBrowser } from "./attention_browser.js" */

export const HTML = "HTML, everything";
// The HTML export replaces only the first placeholder in its template. The second one is this line of code, which the
// template also contains.
const PLACEHOLDER = "{{content}}";
export const FILES = ["CSV", "JSON", HTML];

/**
 * Saves the figure of an attention browser in the chosen format.
 * @param {AttentionBrowser} browser the attention browser whose menu was used
 * @param {string} format one of PICTURES or FILES
 * @param {SaveOptions} options
 */
export async function save(browser, format, options) {
  const { choice, data: { header } } = browser;
  const arranged = browser.arranged();
  const selected = browser.selected(arranged);
  const name = `${header.kind}-layer${choice.layer + 1}-head${choice.head + 1}`;
  if (format === "CSV") saveFile(`${name}.csv`, "text/csv", csvOf(arranged, selected));
  else if (format === "JSON") saveFile(`${name}.json`, "application/json", jsonOf(header, choice, arranged, selected));
  else if (format === HTML) saveFile("attention.html", "text/html", await htmlExportOf(browser));
  else {
    const caption = captionOf(header, choice, arranged, selected);
    const picture = browser.pictured(layoutWidth(options) ?? 0, options.light ? lightTheme() : undefined);
    await savePicture(format, name, picture, { ...caption, description: descriptionOf({ ...caption, arranged }) }, options);
  }
}

/**
 * Returns the description of a saved picture. It lists all labels, because the picture of a long sentence shortens or
 * omits some.
 * @param {{ title: string, arranged: Arranged }} caption
 */
function descriptionOf({ title, arranged: { rows, columns } }) {
  /** @type {(side: Label[]) => string[]} */
  const listed = (side) => side.map(({ label }) => label);
  return [`${title}.`,
    "Rows look at columns. Rows, from the top:", ...listed(rows), "Columns, from the left:", ...listed(columns)].join("\n");
}

/**
 * Returns the cells as CSV, one per line. If several rows or columns are pinned, their sums follow. In place of a row
 * number, the sum of rows 2 and 4 has 2+4.
 * @param {Arranged} arranged
 * @param {Pinned} selected
 */
export function csvOf(arranged, selected) {
  const { rows, columns } = arranged;
  const sums = sumsOf(arranged, selected);
  /** @type {(value: string) => string} */
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${escaped(value).replaceAll('"', '""')}"` : escaped(value));
  const lines = [`row,from,column,to,${arranged.signed ? "change" : "weight"}`];
  /** @type {(row: number | string, from: string, column: number | string, to: string, weight: string) => void} */
  const add = (row, from, column, to, weight) => lines.push([row, quoted(from), column, quoted(to), weight].join(","));
  // Programs that read the file expect a hyphen before a negative number, not a minus sign.
  rows.forEach((row, r) => columns.forEach((column, c) => (
    add(r + 1, row.label, c + 1, column.label, shownWeight(arranged, r, c).replace("−", "-")))));
  if (selected.rows.size > 1) {
    const { numbers, labels } = summed(rows, selected.rows);
    sums.rows?.forEach((sum, c) => add(numbers.join("+"), labels.join(" + "), c + 1, columns[c].label, sum.toFixed(4)));
  }
  if (selected.columns.size > 1) {
    const { numbers, labels } = summed(columns, selected.columns);
    sums.columns?.forEach((sum, r) => add(r + 1, rows[r].label, numbers.join("+"), labels.join(" + "), sum.toFixed(4)));
  }
  return lines.join("\n") + "\n";
}

/**
 * Escapes a cell by putting an apostrophe before any text that a spreadsheet would run as a formula (OWASP, CSV
 * injection). The text after a semicolon, a tab or a line break is escaped too, because in some spreadsheets a new cell
 * begins there. Numbers stay unchanged. pages/ui/charts/downloads.py does the same.
 * @param {string} cell
 */
export function escaped(cell) {
  if (/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(cell)) return cell;
  const apart = cell.replace(/([;\t\r\n])(?=[" ]*[=+\-@＝＋－＠])/g, "$1'");
  return /^[=+\-@＝＋－＠\t\r\n]/.test(apart) ? `'${apart}` : apart;
}

/**
 * Returns the weights as JSON. Masked cells are null, which distinguishes them from weights of 0.
 * @param {KindHeader} header
 * @param {Choice} choice
 * @param {Arranged} arranged
 * @param {Pinned} selected
 */
export function jsonOf(header, choice, arranged, selected) {
  const { rows, columns, values, masked } = arranged;
  const sums = sumsOf(arranged, selected);
  /** @param {"rows" | "columns"} side */
  const several = (side) => (selected[side].size > 1
    ? { [side]: { of: summed(arranged[side], selected[side]).numbers, weights: sums[side] } } : {});
  return JSON.stringify({
    ...header.texts, ...(header.version ? { version: header.version, edits: header.edits } : {}),
    kind: header.kind, layer: choice.layer + 1, head: choice.head + 1, words: choice.words,
    start_and_end_hidden: choice.hide, from: rows.map((row) => row.label), to: columns.map((column) => column.label),
    weights: rows.map((_, r) => columns.map((_, c) => {
      const at = r * columns.length + c;
      return masked[at] ? null : Number(values[at].toFixed(4));
    })),
    sums: { ...several("rows"), ...several("columns") },
  }, null, 1);
}

/**
 * Returns the template and the other kinds of attention, which an HTML file needs (html_export_parts.js), or null until
 * they have arrived.
 * @param {KindHeader} header
 */
export function exportPartsOf({ kind, id }) {
  if (!page.attentionExport) return null;
  const exportParts = unframe(page.attentionExport);
  return exportParts.header.kind === kind && exportParts.header.id === id ? exportParts : null;
}

/**
 * Returns an HTML file with all three kinds of attention. The file needs neither a server nor a network.
 * @param {AttentionBrowser} browser
 */
async function htmlExportOf({ bytes, choice, data }) {
  const exportParts = exportPartsOf(data.header);
  if (!exportParts) throw new Error("The server has not sent the other kinds of attention yet. Try again soon.");
  const { header, body } = exportParts;
  let start = 0;
  const [template, ...others] = /** @type {number[]} */ (header.sizes).map((size) => body.slice(start, start += size));
  const order = ["encoder", "decoder", "cross"];
  const kinds = [bytes, ...others].map((one) => ({ one, .../** @type {KindHeader} */ (unframe(one).header) }))
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  const content = {
    choice, kind: data.header.kind, texts: data.header.shown,
    kinds: await Promise.all(kinds.map(async ({ one, kind, title }) => ({ kind, title, data: await base64(one) }))),
  };
  // A sentence may contain any text, even the end tag of a script.
  const written = JSON.stringify(content).replaceAll("<", "\\u003c");
  return (await inflated(template).text()).replace(PLACEHOLDER, () => written);
}
