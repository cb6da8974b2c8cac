// Shapes for the drawings of the Transformer.

import { svgElement } from "../shared/element.js";

/**
 * Returns a box that is a link.
 * @param {string} page name of the page that the box opens
 * @param {string} name tooltip and accessible name of the link
 * @param {{ x: number, y: number, width: number, height: number }} place
 * @param {Node[]} inside
 */
export function linkBox(page, name, { x, y, width, height }, ...inside) {
  return svgElement("a", { class: "box", "data-page": page, "aria-label": name },
    svgElement("title", {}, name), svgElement("rect", { x, y, width, height, rx: 6 }), ...inside);
}

/**
 * Returns an SVG text element.
 * @param {string} string
 * @param {number} x
 * @param {number} y
 */
export function svgText(string, x, y, style = "", anchor = "middle") {
  return svgElement("text", { x, y, class: style, "text-anchor": anchor }, string);
}

/**
 * Returns an arrow through the given points.
 * @param {[number, number][]} places
 */
export function arrow(...places) {
  return svgElement("polyline", { class: "arrow", points: places.map((place) => place.join(",")).join(" "),
    "marker-end": "url(#head)" });
}

export const arrowHead = () => svgElement("defs", {}, svgElement("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4,
  markerUnits: "userSpaceOnUse", markerWidth: 10, markerHeight: 10, orient: "auto-start-reverse" }, svgElement("path", { d: "M0 0 L8 4 L0 8 z" })));
