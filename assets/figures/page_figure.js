// Turns a figure on the page into a picture. The figure may come from Altair or Plotly, or be a drawing or canvas of
// one of our components.

import { LIGHT_THEME, lightTheme, themeOf } from "../shared/colours.js";
import { standalone } from "./drawing_copy.js";
import { paintedCanvas, withRedrawing } from "./painted_chart.js";
import { layoutWidth } from "./svg_file.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { SvgSurface } from "../shared/surface.js" */
/** @import { SaveOptions } from "./save_menu.js" */
/** @import { Picture } from "./svg_file.js" */

// Timeout for laying out a figure again, and the interval between two checks, in milliseconds.
const LAYOUT_TIMEOUT = 5_000;
const CHECK_INTERVAL = 120;
// Half the width of the thickest line at the edge of a drawing.
const STROKE = 2;

/**
 * An element that draws a component's own figure. If the width or theme is null, `picture` uses the one on the screen.
 * @typedef {HTMLElement & { picture?: (width: number | null, theme: Theme | null) => Promise<Picture> | Picture }} OwnFigure
 */

/**
 * Lays out the figure in `place` at the chosen width, and passes its picture to `take`.
 * @param {HTMLElement} place
 * @param {string} name the figure's name, if a component has several figures
 * @param {SaveOptions} options
 * @param {Map<string, string>} light each colour of the dark theme and its counterpart in the light one
 * @param {(picture: Picture) => Promise<void>} take
 */
export async function withPicture(place, name, options, light, take) {
  const width = layoutWidth(options);
  const own = ownFigure(place, name);
  if (own instanceof SVGSVGElement) {
    await take(await withLightColours(own, options.light, () => pictureOfDrawings([own], place, new Map(), options)));
  } else if (own?.picture) {
    await take(await own.picture(width, options.light ? lightTheme() : null));
  } else {
    const recoloured = options.light && isDark(place) ? light : new Map();
    /** @type {(drawings: SVGSVGElement[]) => Promise<void>} */
    const takeThem = (drawings) => take(pictureOfDrawings(drawings, place, recoloured, options));
    await laidOut(place, width, () => {
      const canvas = paintedCanvas(place);
      return canvas?.parentElement ? withRedrawing(canvas.parentElement, (drawing) => takeThem([drawing])) : takeThem(drawingsOf(place));
    });
  }
}

/**
 * Returns whether a figure is shown in the dark theme.
 * @param {HTMLElement} place
 */
const isDark = (place) => themeOf(hostOf(place) ?? place).background !== LIGHT_THEME["--st-background-color"];

/**
 * Runs `act`. If `light` is true, the drawing has the light theme's colours while `act` runs. This works because our
 * drawings refer to theme colours by name.
 * @template Result
 * @param {SVGSVGElement} drawing
 * @param {boolean} light
 * @param {() => Result} act
 * @returns {Result}
 */
function withLightColours(drawing, light, act) {
  if (!light) return act();
  const before = drawing.style.cssText;
  for (const [name, colour] of Object.entries(LIGHT_THEME)) drawing.style.setProperty(name, colour);
  drawing.style.color = LIGHT_THEME["--st-text-color"];
  try {
    return act();
  } finally {
    drawing.style.cssText = before;
  }
}

/**
 * Returns the root element of the first component in `place`, or undefined. This element has the theme's colours as CSS
 * variables.
 * @param {HTMLElement} place
 */
function hostOf(place) {
  return [...place.querySelectorAll("*")].find(({ shadowRoot }) => shadowRoot)?.shadowRoot?.firstElementChild;
}

/**
 * Returns the first figure in a component of `place` whose name is `name` or empty; null without such a figure.
 * @param {HTMLElement} place
 * @param {string} name
 * @returns {OwnFigure | SVGSVGElement | null}
 */
function ownFigure(place, name) {
  for (const { shadowRoot } of place.querySelectorAll("*")) {
    const found = shadowRoot?.querySelector(`[data-figure="${name}"], [data-figure=""]`);
    if (found) return /** @type {OwnFigure | SVGSVGElement} */ (found);
  }
  return null;
}

/**
 * Returns the layers of the drawing, the lowest first.
 * @param {HTMLElement} place
 * @returns {SVGSVGElement[]}
 */
function drawingsOf(place) {
  const plotly = place.querySelectorAll(".js-plotly-plot .main-svg");
  const found = plotly.length ? [...plotly] : [...place.querySelectorAll("[data-testid=stVegaLiteChart] > svg")];
  const drawings = found.filter((each) => each instanceof SVGSVGElement);
  if (!drawings.length) throw new Error("The figure is not drawn yet; try again in a moment.");
  return drawings;
}

/**
 * Runs `act` while `place` has the requested width and its figure is drawn at that width.
 * @param {HTMLElement} place
 * @param {number | null} width
 * @param {() => Promise<void>} act
 */
async function laidOut(place, width, act) {
  if (width === null) return act();
  const before = place.style.cssText;
  Object.assign(place.style, { width: `${width}px`, minWidth: `${width}px`, maxWidth: `${width}px`, flex: "none" });
  try {
    await waitForLayout(place, width);
    await act();
  } finally {
    place.style.cssText = before;
  }
}

/**
 * Waits until the figure has its new width and no longer changes, or LAYOUT_TIMEOUT has passed.
 * @param {HTMLElement} place
 * @param {number} width
 */
async function waitForLayout(place, width) {
  let before = "";
  for (let waited = 0, same = 0; waited < LAYOUT_TIMEOUT && same < 3; waited += CHECK_INTERVAL) {
    await new Promise((resolve) => setTimeout(resolve, CHECK_INTERVAL));
    const drawing = paintedCanvas(place) ?? drawingsOf(place)[0];
    const now = `${drawing.outerHTML.length} ${drawing.getBoundingClientRect().width}`;
    same = now === before && Math.abs(drawing.getBoundingClientRect().width - width) < 40 ? same + 1 : 0;
    before = now;
  }
}

/**
 * Returns a picture of drawings that lie on top of each other.
 * @param {SVGSVGElement[]} drawings of the same size
 * @param {HTMLElement} place
 * @param {Map<string, string>} recoloured
 * @param {SaveOptions} options
 * @returns {Picture}
 */
function pictureOfDrawings(drawings, place, recoloured, options) {
  const theme = options.light ? lightTheme() : themeOf(hostOf(place) ?? place);
  const { width: shown, height: high } = drawings[0].getBoundingClientRect();
  const view = drawings[0].viewBox.baseVal;
  const [width, height] = view?.width ? [view.width, view.height] : [shown, high];
  const copies = drawings.map((drawing) => standalone(drawing, recoloured));
  const room = roomAround(drawings, width / shown);
  for (const copy of copies) {
    for (const rect of copy.querySelectorAll("[data-backdrop]")) {
      if (options.transparent) rect.remove();
      else rect.removeAttribute("data-backdrop");
    }
  }
  return {
    geometry: { width: Math.ceil(width + room.left + room.right) }, end: height + room.top + room.bottom, theme, vector: true,
    draw: (surface) => surface.moved(room.left, room.top, () => /** @type {SvgSurface} */ (surface).graft(...copies)),
  };
}

/**
 * Returns how far labels extend beyond their drawings. A page shows such labels, but a file would cut them off.
 * @param {SVGSVGElement[]} drawings of the same size
 * @param {number} scale pixels of the drawing per CSS pixel
 */
function roomAround(drawings, scale) {
  const box = drawings[0].getBoundingClientRect();
  const labels = drawings.flatMap((drawing) => [...drawing.querySelectorAll("text")])
    .map((text) => text.getBoundingClientRect()).filter(({ width }) => width);
  /** @type {(beyond: (label: DOMRect) => number) => number} */
  const most = (beyond) => Math.max(STROKE, ...labels.map(beyond)) * scale;
  return {
    left: most(({ left }) => box.left - left), right: most(({ right }) => right - box.right),
    top: most(({ top }) => box.top - top), bottom: most(({ bottom }) => bottom - box.bottom),
  };
}
