// The keyboard shortcuts of the attention browser: the list of keys, and the action of each key.

import { ARROWS, clamped } from "../shared/controls.js";
import { headKeys, isShortcut } from "../shared/keys.js";
/** @import { Place } from "./arrangement.js" */
/** @import { AttentionBrowser } from "./attention_browser.js" */

export const ATTENTION_KEYS = [
  ["arrows in the grid", "another head or layer"],
  ["arrows in the large figure", "another cell or label; a label shows its word's links in all heads"],
  ["Enter", "pin or unpin the cell, or open the head"],
  ["Shift+click, Shift+Enter", "pin one more token, to sum the weights"],
  ["[ and ]", "the layer below or above, same head"],
  ["comma and full stop", "the previous or next head"],
  ["m", "map or lines"],
  ["w", "words or tokens"],
  ["Esc", "unpin everything"],
  ["?", "this list"],
];

/**
 * Returns the cell, row or column that an arrow key selects. A step left from the first column selects the whole row.
 * A step up from the first row selects the whole column.
 * @param {Place} place
 * @param {[number, number]} step
 * @param {number} rows
 * @param {number} columns
 * @returns {Place}
 */
export function moved({ row, column }, [down, right], rows, columns) {
  if (row !== undefined && column === undefined) return right > 0 ? { row, column: 0 } : { row: clamped(row + down, rows) };
  if (row === undefined && column !== undefined) return down > 0 ? { row: 0, column } : { column: clamped(column + right, columns) };
  const [nextRow, nextColumn] = [(row ?? 0) + down, (column ?? 0) + right];
  if (nextColumn < 0) return { row };
  if (nextRow < 0) return { column };
  return { row: clamped(nextRow, rows), column: clamped(nextColumn, columns) };
}

/**
 * Runs the action of a key in an attention browser.
 * @param {AttentionBrowser} browser
 * @param {KeyboardEvent} event
 */
export function press(browser, event) {
  if (!browser.data || !isShortcut(event, browser.keys)) return;
  const { choice, data: { header: { layers, heads, glance } } } = browser;
  const step = ARROWS[event.key];
  /** @type {Record<string, () => void>} */
  const actions = {
    ...headKeys(choice, { layers, heads }, (part) => browser.change(part)),
    "m": () => browser.change({ look: choice.look === "map" ? "lines" : "map" }),
    "w": () => browser.change({ words: !choice.words }),
    "?": () => browser.keys.showModal(),
    "Escape": () => { browser.hover = null; browser.change({ rows: [], columns: [] }); },
  };
  const act = actions[event.key];
  if (step && event.target === browser.grid) {
    browser.change({ layer: clamped(choice.layer + step[0], layers), head: clamped(choice.head + step[1], heads) });
  } else if (step && event.target === browser.large) {
    const { rows, columns } = browser.arranged();
    browser.hover = browser.hover === null ? { row: 0, column: 0 } : moved(browser.hover, step, rows.length, columns.length);
    browser.draw();
    browser.description.say();
  } else if (event.key === "Enter" && event.target === browser.large) {
    browser.pin(browser.hover, event.shiftKey);
  } else if (event.key === "Enter" && event.target === browser.grid && glance) {
    browser.open(choice);
  } else if (act && !glance) {
    act();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}
