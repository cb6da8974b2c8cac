// Two drawing surfaces with the same methods: a canvas and an SVG document. The same code draws a figure on both.

import { css } from "./colours.js";
import { ALIGN, directionOf, isolated, MIRRORED } from "./direction.js";
import { drawingContext, FONT, middleShift } from "./ruler.js";
/** @import { Colour } from "./colours.js" */

/**
 * Returns the colour of a cell; null for an empty cell.
 * @typedef {(row: number, column: number) => Colour | null} CellColour
 */
/**
 * The style of a drawn string; `angle` is in radians, clockwise.
 * @typedef {{ size?: number, fill: string, anchor?: "start" | "middle" | "end", angle?: number, bold?: boolean }} TextStyle
 */
/**
 * The surface of a figure; positions and lengths are in CSS pixels. `cells` draws a map without gaps, `image` draws a
 * picture with sharp pixels, and `moved` draws with another origin.
 * @typedef {{
 *   rect: (x: number, y: number, width: number, height: number, fill: string) => void,
 *   frame: (x: number, y: number, width: number, height: number, stroke: string, thickness: number) => void,
 *   line: (x1: number, y1: number, x2: number, y2: number, stroke: string, thickness: number, opacity?: number) => void,
 *   cells: (
 *     x: number, y: number, cellWidth: number, cellHeight: number, rows: number, columns: number, colourAt: CellColour,
 *   ) => void,
 *   text: (x: number, y: number, string: string, style: TextStyle) => void,
 *   image: (x: number, y: number, width: number, height: number, picture: HTMLCanvasElement) => void,
 *   moved: (x: number, y: number, draw: () => void) => void,
 * }} Surface
 */

// Fonts in a saved drawing. Names under which other programs know the page's font come first.
const FILE_FONT = "'Source Sans 3', 'Source Sans Pro', 'Source Sans', Arial, Helvetica, sans-serif";

// Padding between a picture's content and its edges, in CSS pixels.
export const PICTURE_EDGE = 8;

/** @implements {Surface} */
export class CanvasSurface {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} width in CSS pixels, like the height
   * @param {number} height
   * @param {number} density device pixels per CSS pixel
   */
  constructor(canvas, width, height, density) {
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.context = drawingContext(canvas);
    this.context.setTransform(density, 0, 0, density, 0, 0);
    this.context.clearRect(0, 0, width, height);
  }

  /** @type {Surface["rect"]} */
  rect(x, y, width, height, fill) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  /** @type {Surface["frame"]} */
  frame(x, y, width, height, stroke, thickness) {
    this.context.strokeStyle = stroke;
    this.context.lineWidth = thickness;
    this.context.strokeRect(x, y, width, height);
  }

  /** @type {Surface["line"]} */
  line(x1, y1, x2, y2, stroke, thickness, opacity = 1) {
    const context = this.context;
    context.globalAlpha = opacity;
    context.strokeStyle = stroke;
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.globalAlpha = 1;
  }

  /** @type {Surface["cells"]} */
  cells(x, y, cellWidth, cellHeight, rows, columns, colourAt) {
    const picture = new ImageData(columns, rows);
    for (let row = 0, at = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++, at += 4) {
        const colour = colourAt(row, column);
        if (!colour) continue;
        picture.data[at] = colour[0];
        picture.data[at + 1] = colour[1];
        picture.data[at + 2] = colour[2];
        picture.data[at + 3] = 255;
      }
    }
    const small = new OffscreenCanvas(columns, rows);
    drawingContext(small).putImageData(picture, 0, 0);
    // Cells stay sharp if each is at least one pixel wide and high; smaller cells are averaged.
    this.context.imageSmoothingEnabled = cellWidth < 1 || cellHeight < 1;
    this.context.imageSmoothingQuality = "high";
    this.context.drawImage(small, x, y, cellWidth * columns, cellHeight * rows);
  }

  /** @type {Surface["text"]} */
  text(x, y, string, { size = 13, fill, anchor = "start", angle = 0, bold = false }) {
    const context = this.context;
    context.save();
    context.translate(x, y);
    context.rotate(angle);
    context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    context.fillStyle = fill;
    context.direction = directionOf(string);
    context.textAlign = ALIGN[anchor];
    context.textBaseline = "middle";
    context.fillText(isolated(string), 0, 0);
    context.restore();
  }

  /** @type {Surface["image"]} */
  image(x, y, width, height, picture) {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(picture, x, y, width, height);
  }

  /** @type {Surface["moved"]} */
  moved(x, y, draw) {
    this.context.save();
    this.context.translate(x, y);
    draw();
    this.context.restore();
  }
}

/** @implements {Surface} */
export class SvgSurface {
  /**
   * @param {number} width
   * @param {number} height
   * @param {string} description full text of labels that the drawing may shorten or omit
   */
  constructor(width, height, description) {
    this.document = document.implementation.createDocument("http://www.w3.org/2000/svg", "svg", null);
    const root = this.document.documentElement;
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.setAttribute("width", String(width));
    root.setAttribute("height", String(height));
    root.setAttribute("font-family", FILE_FONT);
    /** @type {Element} */
    this.group = root;
    this.add("desc", {}).textContent = writable(description);
  }

  /**
   * Adds SVG drawings to the document.
   * @param {Element[]} drawings
   */
  graft(...drawings) {
    this.group.append(...drawings);
  }

  /**
   * Adds an SVG element, with numbers rounded to three decimals.
   * @param {string} name
   * @param {Record<string, string | number>} attributes
   */
  add(name, attributes) {
    const element = this.document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, typeof value === "number" ? String(+value.toFixed(3)) : value);
    }
    this.group.append(element);
    return element;
  }

  /** @type {Surface["rect"]} */
  rect(x, y, width, height, fill) {
    // Crisp edges keep the background from showing between adjacent rectangles whose common edge lies within a pixel.
    this.add("rect", { x, y, width, height, fill, "shape-rendering": "crispEdges" });
  }

  /** @type {Surface["frame"]} */
  frame(x, y, width, height, stroke, thickness) {
    this.add("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": thickness });
  }

  /** @type {Surface["line"]} */
  line(x1, y1, x2, y2, stroke, thickness, opacity = 1) {
    this.add("line", { x1, y1, x2, y2, stroke, "stroke-width": thickness, "stroke-opacity": opacity });
  }

  /** @type {Surface["cells"]} */
  cells(x, y, cellWidth, cellHeight, rows, columns, colourAt) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const colour = colourAt(row, column);
        if (colour) this.rect(x + column * cellWidth, y + row * cellHeight, cellWidth, cellHeight, css(colour));
      }
    }
  }

  /** @type {Surface["text"]} */
  text(x, y, string, { size = 13, fill, anchor = "start", angle = 0, bold = false }) {
    const element = this.add("text", {
      transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${((angle * 180) / Math.PI).toFixed(2)})`,
      "font-size": size, "font-weight": bold ? 600 : 400, fill, dy: middleShift(size, bold),
      ...(directionOf(string) === "rtl" ? { direction: "rtl", "text-anchor": MIRRORED[anchor] } : { "text-anchor": anchor }),
    });
    element.textContent = writable(isolated(string));
  }

  /** @type {Surface["image"]} */
  image(x, y, width, height, picture) {
    this.add("image", { x, y, width, height, preserveAspectRatio: "none", "image-rendering": "optimizeSpeed" })
      .setAttributeNS("http://www.w3.org/1999/xlink", "xlink:href", picture.toDataURL());
  }

  /** @type {Surface["moved"]} */
  moved(x, y, draw) {
    const outside = this.group;
    this.group = this.add("g", { transform: `translate(${+x.toFixed(3)} ${+y.toFixed(3)})` });
    draw();
    this.group = outside;
  }
}

/**
 * Replaces the characters that XML forbids, because a single one would make the whole file unreadable.
 * @param {string} string
 */
export function writable(string) {
  // eslint-disable-next-line no-control-regex -- the expression looks for control characters
  return string.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}
