// The pointer on an attention browser: the cell or head under it, and the effect of a click.

import { hitGrid } from "./grid.js";
import { hitLines } from "./lines.js";
import { hitMap } from "./map_geometry.js";
/** @import { Place } from "./arrangement.js" */
/** @import { AttentionBrowser } from "./attention_browser.js" */

/**
 * Makes an attention browser react to pointer movements and clicks.
 * @param {AttentionBrowser} browser
 */
export function followPointer(browser) {
  const { large, grid } = browser;
  large.onmousemove = (event) => pointAt(browser, hitLarge(browser, event));
  large.onmouseleave = () => pointAt(browser, null);
  large.onclick = (event) => browser.pin(hitLarge(browser, event), event.shiftKey);
  grid.onmousemove = (event) => pointAtHead(browser, hitGrid(browser.gridGeometry, event.offsetX, event.offsetY));
  grid.onmouseleave = () => pointAtHead(browser, null);
  grid.onclick = (event) => {
    const hit = hitGrid(browser.gridGeometry, event.offsetX, event.offsetY);
    if (hit) browser.open(hit);
  };
}

/**
 * Returns the cell, row or column under the pointer in the large figure, or null if the pointer is on none of these.
 * @param {AttentionBrowser} browser
 * @param {MouseEvent} event
 * @returns {Place | null}
 */
export function hitLarge(browser, { offsetX, offsetY }) {
  const { geometry, lecture: { zoom } } = browser;
  if (!geometry) return null;
  const [x, y] = [offsetX / zoom, offsetY / zoom];
  return "rowY" in geometry ? hitLines(geometry, browser.arranged(), x, y) : hitMap(geometry, x, y);
}

/**
 * Stores the cell, row or column under the pointer, and redraws the figures if it has changed.
 * @param {AttentionBrowser} browser
 * @param {Place | null} hit
 */
function pointAt(browser, hit) {
  if (hit?.row === browser.hover?.row && hit?.column === browser.hover?.column) return;
  browser.hover = hit;
  browser.draw();
}

/**
 * Stores which head, and which cell of its small map, is under the pointer, and redraws the figures.
 * @param {AttentionBrowser} browser
 * @param {ReturnType<typeof hitGrid>} hit
 */
function pointAtHead(browser, hit) {
  if (!hit && !browser.hoveredHead) return;
  browser.hoveredHead = null;
  if (hit) {
    const { rows, columns } = browser.arranged(hit.layer, hit.head);
    const row = Math.floor(hit.down * rows.length);
    const column = Math.floor(hit.across * columns.length);
    const inside = row >= 0 && row < rows.length && column >= 0 && column < columns.length;
    browser.hoveredHead = { layer: hit.layer, head: hit.head, ...(inside ? { row, column } : {}) };
  }
  browser.draw();
}
