// Copies a drawing for use outside its page. The copy looks the same and has only the elements and attributes that this
// file lists.

import { svgElement } from "../shared/element.js";
import { drawingContext } from "../shared/ruler.js";
import { writable } from "../shared/surface.js";

// The elements and attributes that a saved document may have. None of them runs code or fetches a file.
const ELEMENTS = new Set(["g", "path", "rect", "line", "circle", "ellipse", "polyline", "polygon", "text", "tspan",
  "image", "use", "defs", "clipPath", "linearGradient", "radialGradient", "stop", "marker", "symbol"]);
const ATTRIBUTES = new Set(["id", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "d", "points", "cx", "cy", "r", "rx", "ry",
  "width", "height", "transform", "viewBox", "preserveAspectRatio", "offset", "gradientUnits", "gradientTransform",
  "clipPathUnits", "markerWidth", "markerHeight", "markerUnits", "refX", "refY", "orient", "text-anchor"]);
// Nested drawings and links become groups.
const GROUPS = new Set(["svg", "a"]);
const REFERENCES = ["clip-path", "marker-start", "marker-mid", "marker-end"];
// Initial values of style properties that children inherit, and of those that they do not inherit.
/** @type {Record<string, string>} */
const INHERITED = {
  "fill": "rgb(0, 0, 0)", "fill-opacity": "1", "stroke": "none", "stroke-opacity": "1", "stroke-width": "1px",
  "stroke-dasharray": "none", "stroke-linecap": "butt", "stroke-linejoin": "miter", "font-size": "", "font-weight": "400",
  "font-style": "normal", "text-anchor": "start",
};
/** @type {Record<string, string>} */
const NOT_INHERITED = { "opacity": "1", "stop-color": "rgb(0, 0, 0)", "stop-opacity": "1" };
const STYLES = Object.entries({ ...INHERITED, ...NOT_INHERITED });
const COLOURS = { "fill": "fill-opacity", "stroke": "stroke-opacity", "stop-color": "stop-opacity" };
// Image pixels per unit of the drawing, for maps that are saved as images.
const MAP_DENSITY = 4;
// A map with more cells than this is painted on a canvas (pages/ui/charts/matrix.py), and saved as an embedded image.
const MAX_SHAPES = 2_000;
// Invisible layers with which Plotly tracks the pointer.
const POINTER_LAYERS = ".draglayer, .hoverlayer, .zoomlayer, .selectionlayer";

/**
 * Returns a copy of a drawing that looks the same outside its page, because attributes replace style sheets and
 * classes. Elements and other attributes are copied only if ELEMENTS and ATTRIBUTES contain them.
 * @param {SVGSVGElement} drawing
 * @param {Map<string, string>} recoloured
 */
export function standalone(drawing, recoloured) {
  /** @type {(original: Element, inherited: Record<string, string>) => Element | null} */
  const copyOf = (original, inherited) => {
    const name = GROUPS.has(original.localName) ? "g" : original.localName;
    const style = getComputedStyle(original);
    if (!ELEMENTS.has(name) || style.display === "none" || style.visibility === "hidden" || original.matches(POINTER_LAYERS)) {
      return null;
    }
    if (original instanceof SVGGElement && original.matches(".mark-rect") && original.childElementCount > MAX_SHAPES) {
      return imageOfCells(original, recoloured);
    }
    const copy = svgElement(name);
    for (const { name: key, value } of original.attributes) {
      if (ATTRIBUTES.has(key) && !(original instanceof SVGSVGElement)) copy.setAttribute(key, value);
    }
    const image = original.getAttribute("href") ?? original.getAttributeNS("http://www.w3.org/1999/xlink", "href");
    if (image && /^(data:image\/|#)/.test(image)) {
      const sharp = original instanceof SVGImageElement && style.imageRendering === "pixelated" ? enlarged(original) : image;
      copy.setAttributeNS("http://www.w3.org/1999/xlink", "xlink:href", sharp);
    }
    for (const key of REFERENCES) {
      const reference = style.getPropertyValue(key);
      if (reference.startsWith("url(")) copy.setAttribute(key, reference.replace(/^url\("?[^#"]*(#[^")]+)"?\)$/, "url($1)"));
    }
    const passedOn = { ...inherited };
    for (const [key, initial] of STYLES) {
      const value = style.getPropertyValue(key);
      if (value === (key in NOT_INHERITED ? initial : inherited[key])) continue;
      if (key in INHERITED) passedOn[key] = value;
      setStyle(copy, key, value, recoloured);
    }
    // These rectangles are the backgrounds of a Plotly figure and of its axes.
    if (original.matches(".main-svg > rect:first-child, .bglayer .bg")) copy.setAttribute("data-backdrop", "");
    for (const child of original.childNodes) {
      if (child instanceof Element) copy.append(...[copyOf(child, passedOn)].filter((each) => each !== null));
      else if (child instanceof Text && (name === "text" || name === "tspan")) copy.append(writable(child.data));
    }
    return copy;
  };
  const copy = copyOf(drawing, INHERITED);
  if (!copy) throw new Error("The figure is hidden; show it first.");
  return copy;
}

/**
 * Writes a style property as an attribute. The opacity of a colour becomes a separate attribute.
 * @param {Element} copy
 * @param {string} key
 * @param {string} value the computed value
 * @param {Map<string, string>} recoloured
 */
function setStyle(copy, key, value, recoloured) {
  if (!(key in COLOURS) || value === "none" || value.startsWith("url(")) {
    copy.setAttribute(key, value.replace(/^url\("?[^#"]*(#[^")]+)"?\).*$/, "url($1)").replace(/(\d)px\b/g, "$1"));
    return;
  }
  const { colour, alpha } = opaque(value);
  const opacity = COLOURS[/** @type {keyof typeof COLOURS} */ (key)];
  if (alpha === 0) {
    copy.setAttribute(key, "none");
    return;
  }
  copy.setAttribute(key, recoloured.get(colour) ?? colour);
  if (alpha < 1) copy.setAttribute(opacity, String(+alpha.toFixed(3)));
}

const swatch = drawingContext(new OffscreenCanvas(1, 1), { willReadFrequently: true });

/**
 * Returns a computed colour as #rrggbb, and its opacity.
 * @param {string} value
 */
function opaque(value) {
  const match = value.match(/^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/);
  let [r, g, b, alpha] = match ? [...match.slice(1, 4).map(Number), Number(match[4] ?? 1)] : [0, 0, 0, 0];
  if (!match) {
    swatch.clearRect(0, 0, 1, 1);
    swatch.fillStyle = value;
    swatch.fillRect(0, 0, 1, 1);
    [r, g, b, alpha] = swatch.getImageData(0, 0, 1, 1).data;
    alpha /= 255;
  }
  return { colour: `#${[r, g, b].map((channel) => channel.toString(16).padStart(2, "0")).join("")}`, alpha };
}

/**
 * Returns thousands of cells as one lossless image. A file with that many shapes would be slow to open.
 * @param {SVGGElement} cells
 * @param {Map<string, string>} recoloured
 */
function imageOfCells(cells, recoloured) {
  const { x, y, width, height } = cells.getBBox();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * MAP_DENSITY);
  canvas.height = Math.round(height * MAP_DENSITY);
  const context = drawingContext(canvas);
  for (const cell of /** @type {NodeListOf<SVGPathElement>} */ (cells.querySelectorAll("path"))) {
    const box = cell.getBBox();
    const [left, top, right, bottom] = [box.x - x, box.y - y, box.x - x + box.width, box.y - y + box.height]
      .map((edge) => Math.round(edge * MAP_DENSITY));
    const { colour } = opaque(getComputedStyle(cell).fill);
    context.fillStyle = recoloured.get(colour) ?? colour;
    context.fillRect(left, top, right - left, bottom - top);
  }
  const image = svgElement("image", { x, y, width, height });
  image.setAttributeNS("http://www.w3.org/1999/xlink", "xlink:href", canvas.toDataURL());
  return image;
}

/**
 * Returns an enlarged copy of a map with few pixels. Many programs would blur the original.
 * @param {SVGImageElement} image
 */
function enlarged(image) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(image.width.baseVal.value * MAP_DENSITY);
  canvas.height = Math.ceil(image.height.baseVal.value * MAP_DENSITY);
  const context = drawingContext(canvas);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL();
}
