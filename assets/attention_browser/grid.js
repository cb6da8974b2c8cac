// The grid of small maps, with a map for each head of each layer.

import { CHOSEN_COLOUR } from "../shared/colours.js";
import { textWidth } from "../shared/ruler.js";
import { arrange } from "./arrangement.js";
import { LABEL_SIZE } from "./map_geometry.js";
import { mapColour } from "./map.js";
/** @import { Colour, Theme } from "../shared/colours.js" */
/** @import { Surface, TextStyle } from "../shared/surface.js" */
/** @import { Choice, KindData, KindHeader, Metric } from "./arrangement.js" */

const GRID_LEFT = 44;
const GRID_TOP = 26;
export const GRID_GAP = 4;
// Minimum and maximum height of a small map, as multiples of its width. If the grid is above the large map, every small
// map has the minimum height.
const LOWEST_SHAPE = 0.6;
const HIGHEST_SHAPE = 1.25;
const STRIP = 6;
// Letters that mark named heads. They are in the top right corner of a map. In the top left corner, they would cover the
// diagonal, where many named heads have large weights.
/** @type {Record<string, string>} */
const BADGES = { "previous token": "p", "next token": "n", "same token": "s", "end symbol": "e", "punctuation": "!",
  "rare word": "r", "alignment": "a", "induction": "i" };
const BADGE = 13;
const NARROWEST_BADGED = 24;

/** @typedef {{ layer: number, head: number }} Head */
/** @typedef {ReturnType<typeof gridGeometry>} GridGeometry */

/**
 * Returns the positions of the small maps. Within limits, they have the proportions of the large map.
 * @param {KindHeader} header
 * @param {number} width in CSS pixels
 * @param {boolean} withStrip whether each head has a bar below it
 * @param {boolean} flat whether the maps have their minimum height
 */
export function gridGeometry({ layers, heads, queries, keys }, width, withStrip, flat = false) {
  const cellWidth = Math.floor((width - GRID_LEFT) / heads);
  const shape = flat ? LOWEST_SHAPE : Math.min(HIGHEST_SHAPE, Math.max(LOWEST_SHAPE, queries / keys));
  const cellHeight = Math.round((cellWidth - GRID_GAP) * shape) + GRID_GAP + (withStrip ? STRIP : 0);
  return {
    left: GRID_LEFT, top: GRID_TOP, cellWidth, cellHeight, layers, heads, width,
    strip: withStrip ? STRIP : 0,
    height: GRID_TOP + cellHeight * layers + 2,
  };
}

/**
 * Draws the small maps, with the head numbers above the grid and the layer numbers to its left.
 * @param {Surface} surface
 * @param {GridGeometry} geometry
 * @param {{ data: KindData, choice: Choice, shades: Colour[], theme: Theme, metric: Metric | null }} figure
 */
export function drawGrid(surface, geometry, { data, choice, shades, theme, metric }) {
  const { left, top, cellWidth, cellHeight, layers, heads, strip } = geometry;
  /** @type {TextStyle} */
  const label = { size: LABEL_SIZE, fill: theme.text, anchor: "middle" };
  surface.text(left - 8, 12, "head", { ...label, anchor: "end" });
  surface.text(9, top + (cellHeight * layers) / 2, "layer", { ...label, angle: -Math.PI / 2 });
  // Writes only every n-th number if there is no room for all.
  const headStep = Math.ceil((textWidth(String(heads), LABEL_SIZE) + 5) / cellWidth);
  const layerStep = Math.ceil(LABEL_SIZE / cellHeight);
  for (let head = 0; head < heads; head += headStep) {
    surface.text(left + (head + 0.5) * cellWidth, 12, String(head + 1), label);
  }
  for (let layer = 0; layer < layers; layer++) {
    if (layer % layerStep === 0) surface.text(left - 14, top + (layer + 0.5) * cellHeight, String(layer + 1), label);
    for (let head = 0; head < heads; head++) {
      const x = left + head * cellWidth + GRID_GAP / 2;
      const y = top + layer * cellHeight + GRID_GAP / 2;
      const width = cellWidth - GRID_GAP;
      const height = cellHeight - GRID_GAP - strip;
      const arranged = arrange(data, choice, layer, head);
      surface.cells(x, y, width / arranged.columns.length, height / arranged.rows.length, arranged.rows.length,
        arranged.columns.length, mapColour({ arranged, choice, shades, theme }));
      const badges = badgesOf(data.header.names[layer * heads + head]);
      if (badges && cellWidth >= NARROWEST_BADGED) {
        const wide = Math.max(BADGE, textWidth(badges, 11, true) + 5);
        surface.rect(x + width - wide, y, wide, BADGE, theme.background);
        surface.text(x + width - wide / 2, y + BADGE / 2 + 0.5, badges, { size: 11, fill: theme.text, anchor: "middle", bold: true });
      }
      if (metric) {
        const value = metric.values[layer * heads + head];
        surface.rect(x, y + height + 1, width, strip - 2, theme.border);
        // The value is null if the metric does not apply to the head in this sentence.
        if (value !== null) surface.rect(x, y + height + 1, width * Math.min(1, Math.max(0, value / metric.most)), strip - 2, theme.primary);
      }
    }
  }
}

/**
 * Returns the badges of a head: the letters that stand for its names.
 * @param {string} names separated by commas
 */
const badgesOf = (names) => names.split(", ").map((name) => BADGES[name] ?? "").join("");

/**
 * Returns the legend for the letters in the grid. It is empty if no head has a letter.
 * @param {KindHeader} header
 */
export function legendOf({ names }) {
  const present = Object.entries(BADGES).filter(([name]) => names.some((one) => one.split(", ").includes(name)));
  return present.map(([name, letter]) => `${letter} ${name}`).join(" · ");
}

/**
 * Draws frames around the chosen head and the head under the pointer.
 * @param {Surface} surface
 * @param {GridGeometry} geometry
 * @param {Head | null} chosen
 * @param {Head | null} hover
 * @param {Theme} theme
 */
export function markGrid(surface, { left, top, cellWidth, cellHeight, strip }, chosen, hover, theme) {
  /** @type {(head: Head, colour: string, thickness: number) => void} */
  const frame = ({ layer, head }, colour, thickness) => surface.frame(
    left + head * cellWidth + GRID_GAP / 2 - 1, top + layer * cellHeight + GRID_GAP / 2 - 1,
    cellWidth - GRID_GAP + 2, cellHeight - GRID_GAP - strip + 2, colour, thickness,
  );
  if (hover) frame(hover, theme.text, 1.5);
  if (chosen) frame(chosen, CHOSEN_COLOUR, 3);
}

/**
 * Returns the head under the pointer, and the pointer's position as fractions of the map's width and height.
 * @param {GridGeometry} geometry
 * @param {number} x
 * @param {number} y
 */
export function hitGrid({ left, top, cellWidth, cellHeight, layers, heads, strip }, x, y) {
  const head = Math.floor((x - left) / cellWidth);
  const layer = Math.floor((y - top) / cellHeight);
  if (head < 0 || head >= heads || layer < 0 || layer >= layers) return null;
  return {
    layer, head,
    across: (x - left - head * cellWidth - GRID_GAP / 2) / (cellWidth - GRID_GAP),
    down: (y - top - layer * cellHeight - GRID_GAP / 2) / (cellHeight - GRID_GAP - strip),
  };
}
