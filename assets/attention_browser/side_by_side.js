// Draws maps side by side. The cell under the pointer is marked in all of them.

import { saveable } from "../figures/saveable.js";
import { shadesOf, themeOf } from "../shared/colours.js";
import { ARROWS, clamped } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { followInput } from "../shared/input.js";
import { mount, PaintedComponent } from "../shared/mount.js";
import { shortened } from "../shared/ruler.js";
import { entryName, shownWeight } from "./arrangement.js";
import { CONTROLS_HEIGHT, lectureGeometry, lectureRoom, lectureZoom, WIDEST_PHONE, zoomedSurface } from "./lecture_map.js";
import { hitMap, mapGeometry } from "./map_geometry.js";
import { drawMap, TITLE_SIZE } from "./map.js";
/** @import { Picture } from "../figures/svg_file.js" */
/** @import { Theme } from "../shared/colours.js" */
/** @import { InputKind } from "../shared/input.js" */
/** @import { Surface } from "../shared/surface.js" */
/** @import { Arranged, AxisTitles, Label, Place } from "./arrangement.js" */
/** @import { MapGeometry } from "./map_geometry.js" */

const DIFFERENCE = "difference";
/** @type {Record<InputKind, string>} */
const SIDE_HINTS = {
  mouse: "Hover over a cell to read it in all maps.",
  touch: "Tap a cell to read it in all maps.",
  keys: "Use the arrow keys to read a cell in all maps.",
};
// Minimum width of each map in a saved picture, in CSS pixels. If maps side by side would be narrower, fewer are put in
// a row.
const SMALLEST_SIDE = 320;
// Vertical gap between maps in lecture mode, in CSS pixels.
const MAP_GAP = 8;
export const SIDE_GAP = 16;
const SIDE_TITLE = 24;

/**
 * One of the maps, as the server sends it (pages/ui/components/side_by_side.py).
 * @typedef {{
 *   title: string, axes: AxisTitles, rows: string[], columns: string[], values: ArrayLike<number>,
 *   masked: ArrayLike<number>, scale: string, measure: string,
 * }} SideMessage
 */
/**
 * One of the maps as drawn.
 * @typedef {{
 *   title: string, axes: AxisTitles, scale: string, measure: string, arranged: Arranged, canvas: HTMLCanvasElement,
 *   box: HTMLElement, geometry?: MapGeometry,
 * }} Side
 */

export class SideBySide extends PaintedComponent {
  /** @type {Side[]} */
  sides;
  lecture = false;
  // Everything that the server sent about the maps except their values and masks, as JSON.
  names = "";
  /** @type {Place | null} the cell, row or column under the pointer, which is marked in all maps */
  hover = null;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "atlas" }));
    this.maps = element("div", { class: "maps" });
    this.readout = element("p", { class: "readout" });
    this.spoken = element("p", { class: "spoken", "aria-live": "polite" });
    this.root.append(this.maps, this.readout, this.spoken);
    saveable(this.root, (width, theme) => this.picture(width, theme));
    this.input = followInput(this.root);
    this.root.onkeydown = (event) => this.press(event);
  }

  /** @param {{ sides: SideMessage[], lecture?: boolean }} message */
  show({ sides, lecture = false }) {
    this.lecture = lecture;
    this.root.classList.toggle("lecture-sides", lecture);
    const names = JSON.stringify(sides.map(({ values, masked, ...named }) => named));
    if (names === this.names) {
      // If only the numbers change, the cell under the pointer stays marked, and nothing flickers.
      sides.forEach((message, index) => { this.sides[index].arranged = arrangedSide(message); });
    } else {
      this.names = names;
      this.hover = null;
      this.sides = sides.map((message) => this.side(message));
      this.maps.replaceChildren(...this.sides.map(({ box }) => box));
    }
    this.draw();
  }

  /**
   * Returns a map with a new canvas that reacts to the pointer.
   * @param {SideMessage} message
   * @returns {Side}
   */
  side(message) {
    const { title, axes, scale, measure } = message;
    const canvas = element("canvas", { tabindex: 0, role: "application", "aria-label": `${title}. Use the arrow keys to read the cells.` });
    /** @type {Side} */
    const side = {
      title, axes, scale, measure, arranged: arrangedSide(message), canvas,
      box: element("div", {}, element("strong", {}, title), canvas),
    };
    canvas.onmousemove = (event) => this.point(side.geometry
      ? hitMap(side.geometry, event.offsetX / this.zoom(), event.offsetY / this.zoom()) : null);
    canvas.onmouseleave = () => this.point(null);
    return side;
  }

  zoom() {
    return this.lecture ? lectureZoom() : 1;
  }

  /**
   * Marks the cell, row or column under the pointer in all maps.
   * @param {Place | null} hit
   */
  point(hit) {
    if (hit?.row === this.hover?.row && hit?.column === this.hover?.column) return;
    this.hover = hit;
    this.draw();
  }

  paint() {
    if (!this.sides) return;
    const theme = themeOf(this.root);
    for (const side of this.sides) {
      // If the screen is not wide enough, lecture mode leaves out the third map.
      if (!side.box.clientWidth) continue;
      side.geometry = this.lecture
        ? lectureGeometry(side.arranged, this.roomOf(side))
        : this.geometryOf(side, side.box.clientWidth);
      const shown = this.lecture ? { ...side, axes: { from: "", to: "" } } : side;
      this.drawSide(zoomedSurface(side.canvas, side.geometry, this.zoom()), shown, side.geometry, theme);
    }
    this.readout.textContent = this.described();
    this.root.dataset.drawn = "maps";
  }

  /**
   * Returns the space for a map in lecture mode. Stacked maps share the height between the top of the first
   * map and the controls, except on a phone, where the page scrolls.
   * @param {Side} side
   * @returns {{ width: number, height: number }}
   */
  roomOf(side) {
    const room = lectureRoom(side.box.clientWidth, side.canvas.getBoundingClientRect().top);
    const boxes = this.sides.map(({ box }) => box).filter(({ clientWidth }) => clientWidth);
    if (innerWidth <= WIDEST_PHONE || boxes.every(({ offsetTop }) => offsetTop === boxes[0].offsetTop)) return room;
    const share = (innerHeight - CONTROLS_HEIGHT - this.maps.getBoundingClientRect().top) / boxes.length;
    const title = side.canvas.offsetTop - side.box.offsetTop;
    return { ...room, height: (share - title - MAP_GAP) / this.zoom() };
  }

  /**
   * Returns the geometry of a map outside lecture mode.
   * @param {Side} side
   * @param {number} width
   */
  geometryOf(side, width) {
    return mapGeometry(side.arranged, width, false, this.sides.map(({ arranged }) => arranged));
  }

  /**
   * Draws one of the maps.
   * @param {Surface} surface
   * @param {Side} side
   * @param {MapGeometry} geometry
   * @param {Theme} theme
   */
  drawSide(surface, { arranged, axes, measure, scale }, geometry, theme) {
    const shades = shadesOf(scale === DIFFERENCE ? DIFFERENCE : "viridis");
    const selected = { rows: new Set(), columns: new Set() };
    const choice = { scale, threshold: 0 };
    drawMap(surface, geometry, { arranged, choice, shades, theme, hover: this.hover, selected, axes, measure });
  }

  /**
   * Returns all maps as one picture, with as many maps in each row as there is room for.
   * @param {number} room width of the picture
   * @param {Theme} theme
   * @returns {Picture}
   */
  picture(room, theme) {
    const across = Math.max(1, Math.min(this.sides.length, Math.floor(room / SMALLEST_SIDE)));
    const each = Math.floor((room - (across - 1) * SIDE_GAP) / across);
    const geometries = this.sides.map((side) => this.geometryOf(side, each));
    const high = Math.max(...geometries.map(({ height }) => height)) + SIDE_TITLE;
    return {
      geometry: { width: Math.round(room) }, theme, end: high * Math.ceil(this.sides.length / across),
      draw: (surface) => this.sides.forEach((side, index) => {
        const [x, y] = [(index % across) * (each + SIDE_GAP), Math.floor(index / across) * high];
        surface.text(x, y + SIDE_TITLE / 2, shortened(side.title, each, TITLE_SIZE, true),
          { size: TITLE_SIZE, fill: theme.text, bold: true });
        surface.moved(x, y + SIDE_TITLE, () => this.drawSide(surface, side, geometries[index], theme));
      }),
    };
  }

  // Describes the cell, row or column under the pointer in each map.
  described() {
    if (!this.hover) return SIDE_HINTS[this.input.kind];
    const { row, column } = this.hover;
    return this.sides.flatMap(({ title, arranged }) => {
      const { rows, columns } = arranged;
      // This map may have fewer rows or columns than the map under the pointer.
      if ((row ?? 0) >= rows.length || (column ?? 0) >= columns.length) return [];
      const from = row === undefined ? "" : entryName(rows, row, "row");
      const to = column === undefined ? "" : entryName(columns, column, "column");
      if (row === undefined || column === undefined) return [`${title}: ${from || to}`];
      return [`${title}: ${from} to ${to} ${shownWeight(arranged, row, column)}`];
    }).join(" · ");
  }

  /**
   * Marks the next cell in the direction of an arrow key, and has screen readers read it.
   * @param {KeyboardEvent} event
   */
  press(event) {
    const step = ARROWS[event.key];
    const side = this.sides.find(({ canvas }) => canvas === event.target);
    if (!step || !side) return;
    const { row = 0, column = 0 } = this.hover ?? {};
    this.hover = {
      row: clamped(row + (this.hover ? step[0] : 0), side.arranged.rows.length),
      column: clamped(column + (this.hover ? step[1] : 0), side.arranged.columns.length),
    };
    this.spoken.textContent = this.described();
    this.draw();
    event.preventDefault();
  }
}

/**
 * Converts a map that the server has sent into the form that the drawing functions expect.
 * @param {SideMessage} message
 * @returns {Arranged}
 */
function arrangedSide({ rows, columns, values, masked }) {
  /** @type {(labels: string[]) => Label[]} */
  const labelled = (labels) => labels.map((label, position) => ({ label, positions: [position] }));
  const weights = Float32Array.from(values);
  return {
    rows: labelled(rows), columns: labelled(columns), values: weights, masked: Uint8Array.from(masked),
    largest: weights.reduce((most, value) => Math.max(most, Math.abs(value)), 0),
  };
}

export default mount(SideBySide);
