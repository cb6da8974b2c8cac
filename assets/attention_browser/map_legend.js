// Draws the legend of a map: a bar of its colours, or the two colours of a mask.

import { css, fromScale, MASKED_COLOUR, SHADES } from "../shared/colours.js";
import { typeset } from "../shared/numbers.js";
import { LEGEND_BELOW } from "./map_geometry.js";
/** @import { Colour } from "../shared/colours.js" */
/** @import { Surface, TextStyle } from "../shared/surface.js" */
/** @import { Arranged, Choice } from "./arrangement.js" */
/** @import { Figure } from "./map.js" */
/** @import { MapGeometry } from "./map_geometry.js" */

// Name of the colour scale of a mask, whose cells are either allowed or masked. Its legend has two boxes of BOX pixels.
// If the legend is beside the map, the boxes begin BOXES pixels from the figure's right edge.
const ALLOWED = "allowed";
const [BOX, BOXES] = [14, 70];

/**
 * Returns the name of the colour scale. Differences have their own scale.
 * @param {Arranged} arranged
 * @param {Pick<Choice, "scale">} choice
 */
export const scaleOf = ({ signed }, { scale }) => (signed ? "difference" : scale);

/**
 * Draws the legend: two boxes for a mask, otherwise the colour bar with its numbers and the name of the measure.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Figure} figure
 */
export function drawLegend(surface, geometry, { arranged, choice, shades, theme, measure }) {
  const ink = { size: geometry.small, fill: theme.text };
  if (choice.scale === ALLOWED) {
    drawBoxes(surface, geometry, { shades, theme }, ink);
    return;
  }
  const marks = [0, 0.25, 0.5, 0.75, 1].map((place) => (
    { place, number: typeset(fromScale(place, scaleOf(arranged, choice), arranged.largest), 2) }));
  // Each stripe of the bar is one pixel thick, because a saved SVG would show the background between thinner stripes.
  /** @type {(place: number) => Colour} */
  const shadeAt = (place) => shades[Math.round(place * (SHADES - 1))];
  if (geometry.narrow) {
    const length = Math.min(200, geometry.width - geometry.left - 20);
    const top = geometry.height - LEGEND_BELOW + 6;
    surface.cells(geometry.left, top, 1, 12, 1, length, (_, column) => shadeAt(column / (length - 1)));
    for (const { place, number } of marks) {
      surface.text(geometry.left + place * length, top + 22, number, { ...ink, anchor: "middle" });
    }
    surface.text(geometry.left - 8, top + 6, measure, { ...ink, anchor: "end" });
    return;
  }
  const height = Math.min(180, Math.max(80, geometry.bottom - geometry.top));
  // The legend is to the right of the bars and of the last label, which extends beyond the edge of the map.
  const leaning = geometry.columnBand * Math.cos(geometry.columnAngle);
  const x = Math.floor(Math.min(geometry.width - 54, geometry.right + Math.max(geometry.profile + 20, leaning + 10)));
  surface.cells(x, geometry.top, 14, 1, height, 1, (row) => shadeAt(1 - row / (height - 1)));
  for (const { place, number } of marks) surface.text(x + 19, geometry.top + (1 - place) * height, number, ink);
  surface.text(x, geometry.top - 14, measure, ink);
}

/**
 * Draws the legend of a mask: a box and a name for each of its two values.
 * @param {Surface} surface
 * @param {MapGeometry} geometry
 * @param {Pick<Figure, "shades" | "theme">} figure
 * @param {TextStyle} ink
 */
function drawBoxes(surface, { narrow, width, height, left, top }, { shades, theme }, ink) {
  ["allowed", "masked"].forEach((name, index) => {
    const [x, y] = narrow ? [left + 90 * index, height - LEGEND_BELOW + 10] : [width - BOXES, top + 22 * index];
    surface.rect(x, y, BOX, BOX, css(index ? theme.masked : shades[SHADES - 1]));
    if (index) surface.line(x, y + BOX, x + BOX, y, MASKED_COLOUR, 1);
    surface.text(x + BOX + 6, y + BOX / 2, name, ink);
  });
}
