// A map that fills the available space, with labels that can be read from the last row of a lecture hall.

import { CanvasSurface } from "../shared/surface.js";
import { CLOSE_LABEL_SIZE, COLUMN_ANGLE, LABEL_SIZE, LEGEND_BELOW, longestLabel, namedRows } from "./map_geometry.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { Surface, TextStyle } from "../shared/surface.js" */
/** @import { Arranged } from "./arrangement.js" */
/** @import { MapGeometry } from "./map_geometry.js" */

// Font sizes in CSS pixels. 20 points can be read from the last row of a lecture hall; text on a phone can be smaller.
const LECTURE_FONT_SIZE = 27;
const PHONE_FONT_SIZE = 13;
export const WIDEST_PHONE = 640;
// Height of the space below the figure, for the lecturer's controls (assets/lecture/lecture.css).
export const CONTROLS_HEIGHT = 48;
const PHONE_CONTROLS_HEIGHT = 70;
const LOWEST = 200;
// The lengths below are for a figure whose labels are LABEL_SIZE high; `lectureZoom` enlarges them.
const LABEL_MARGIN = 4;
const LABEL_SPACE = LABEL_MARGIN + 8;
const CORNER = 46;
const CORNER_HEIGHT = 34;
// Lecture mode tries these font sizes, as fractions of the full size, before it omits or cuts a label. A small label
// is hard to read from the back of a lecture hall, but a missing label cannot be read at all.
const SHARES = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];
// Angles of column labels, each with its legibility relative to the first angle.
const LABEL_ANGLES = [[COLUMN_ANGLE, 1], [-5 * Math.PI / 12, 0.94], [-Math.PI / 2, 0.85]];
// Minimum distance between the middles of neighbouring labels, as a multiple of their font size.
const LABEL_PITCH = 1.08;
// Limits for the width of the labels beside a map, as fractions of the total width: the usual limit, and the limit if
// even the smallest font needs more.
const LABELS_BESIDE = [0.34, 0.45];
// Limits for the height of the labels above a map, as fractions of the total height, in a wide and in a tall space: the
// usual limit, and the limit if even the smallest font needs more.
const LABELS_ABOVE_WIDE = [0.18, 0.35];
const LABELS_ABOVE_HIGH = [0.25, 0.35];
const LABEL_TOP = 13;
// Minimum length of the space for a column label, along the label. Only short screens reach this limit.
const SHORTEST_BAND = 45;
const LEGEND_BESIDE = 58;
// Half the height of the lowest number beside the colour bar.
const LAST_TICK = 7;
// Cells fill the available space, up to these ratios of width to height, and of height to width.
const WIDEST_CELL = 2.5;
const HIGHEST_CELL = 1.5;

// CSS pixels per unit of the figure.
export const lectureZoom = () => (innerWidth > WIDEST_PHONE ? LECTURE_FONT_SIZE : PHONE_FONT_SIZE) / LABEL_SIZE;

/**
 * Returns the space available for a figure, in units of the figure.
 * @param {number} width in CSS pixels
 * @param {number} top edge of the figure on the screen, in CSS pixels
 */
export function lectureRoom(width, top) {
  const zoom = lectureZoom();
  const foot = innerWidth > WIDEST_PHONE ? CONTROLS_HEIGHT : PHONE_CONTROLS_HEIGHT;
  return { width: width / zoom, height: Math.max(LOWEST, innerHeight - top - foot) / zoom };
}

/**
 * Returns a surface for drawing on a canvas in units of the figure.
 * @param {HTMLCanvasElement} canvas
 * @param {{ width: number, height: number }} geometry
 * @param {number} zoom
 */
export function zoomedSurface(canvas, { width, height }, zoom) {
  const surface = new CanvasSurface(canvas, width, height, window.devicePixelRatio * zoom);
  canvas.style.width = `${width * zoom}px`;
  canvas.style.height = `${height * zoom}px`;
  return surface;
}

/**
 * Returns the geometry of a map that fills the available space, like `mapGeometry` but without titles and bars. The
 * label sizes and the label angle are chosen to omit as few labels as possible, and then to be as legible as possible.
 * @param {Arranged} arranged
 * @param {{ width: number, height: number }} room
 * @returns {MapGeometry}
 */
export function lectureGeometry({ rows, columns }, room) {
  const smallestOnPage = CLOSE_LABEL_SIZE / lectureZoom();
  const sizes = SHARES.map((share) => share * LABEL_SIZE).filter((size) => size >= smallestOnPage);
  const least = sizes[sizes.length - 1];
  const column = longestLabel(columns);
  const [full, brief] = [rows, namedRows(rows, 0)].map(longestLabel);
  // The long labels of decoder steps are used only if they fit, at full size, within the limit for labels beside a map.
  const called = full <= LABELS_BESIDE[0] * room.width - LABEL_SPACE ? [full, brief] : [brief];
  let best = null;
  let [fewest, most] = [Infinity, 0];
  for (const row of called) {
    for (const [columnAngle, worth] of LABEL_ANGLES) {
      for (const rowSize of sizes) {
        for (const columnSize of sizes) {
          const labels = { row, column, rowSize, columnSize, columnAngle, least, leastMarked: smallestOnPage };
          const geometry = geometryWith(labels, rows.length, columns.length, room);
          const step = geometry.rowStep * geometry.columnStep;
          const type = rowSize * columnSize * worth;
          if (step > fewest || (step === fewest && type <= most)) continue;
          [best, fewest, most] = [geometry, step, type];
        }
      }
    }
  }
  return /** @type {MapGeometry} */ (best);
}

/**
 * Returns the map's geometry for labels of the given sizes and angle.
 * @param {{
 *   row: number, column: number, rowSize: number, columnSize: number, columnAngle: number, least: number, leastMarked: number,
 * }} labels `row` and `column` are the widths of the longest labels at LABEL_SIZE
 * @param {number} rows
 * @param {number} columns
 * @param {{ width: number, height: number }} room
 * @returns {MapGeometry}
 */
function geometryWith({ row, column, rowSize, columnSize, columnAngle, least, leastMarked }, rows, columns, { width, height }) {
  const narrow = width < height;
  // The width of a label at this font size, from its width at LABEL_SIZE. A pixel is added, because letter widths do
  // not scale exactly.
  /** @type {(label: number, size: number) => number} */
  const taken = (label, size) => (label * size) / LABEL_SIZE + 1;
  /** @type {(share: number[], length: number, needed: number) => number} */
  const within = ([usual, most], length, needed) => Math.min(most * length, Math.max(usual * length, needed));
  const left = Math.round(Math.min(Math.max(taken(row, rowSize), CORNER) + LABEL_SPACE,
    within(LABELS_BESIDE, width, taken(row, least) + LABEL_SPACE)));
  const steepness = Math.sin(-columnAngle);
  const most = within(narrow ? LABELS_ABOVE_HIGH : LABELS_ABOVE_WIDE, height, taken(column, least) * steepness + LABEL_TOP);
  const columnBand = Math.min(taken(column, columnSize), Math.max(SHORTEST_BAND, (most - LABEL_TOP) / steepness));
  const top = Math.round(Math.max(CORNER_HEIGHT, columnBand * steepness + LABEL_TOP));
  const leaning = columnBand * Math.cos(columnAngle) + 4;
  const right = narrow ? leaning : leaning + 6 + LEGEND_BESIDE;
  const across = (width - left - right) / columns;
  const down = (height - top - (narrow ? LEGEND_BELOW : LAST_TICK)) / rows;
  const cellWidth = Math.max(1, Math.min(across, WIDEST_CELL * down));
  const cellHeight = Math.max(1, Math.min(down, HIGHEST_CELL * across));
  const bottom = top + cellHeight * rows;
  return {
    left, top, cellWidth, cellHeight, columnBand, width, narrow, margin: LABEL_MARGIN, bottom, profile: 0, small: LABEL_SIZE,
    smallest: LABEL_SIZE, right: left + cellWidth * columns, height: bottom + (narrow ? LEGEND_BELOW : LAST_TICK),
    rowSize, columnSize, columnAngle, least, leastMarked, rowStep: Math.ceil((LABEL_PITCH * rowSize) / cellHeight),
    columnStep: Math.ceil((LABEL_PITCH * columnSize) / (cellWidth * steepness)),
  };
}

/**
 * Explains rows and columns in the corner between their labels, where the text takes no space from the map.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Theme} theme
 */
export function drawCorner(surface, { left, top }, theme) {
  const ink = /** @type {TextStyle} */ ({ size: LABEL_SIZE, fill: theme.text, anchor: "end" });
  surface.text(left - 6, top - 26, "at →", ink);
  surface.text(left - 6, top - 9, "looks ↓", ink);
}
