// Copies a chart that Vega has painted on a canvas because it has thousands of cells. Vega draws the copy as SVG.

/**
 * Returns the canvas on which Vega has painted a chart; null if Vega has not used a canvas.
 * @param {HTMLElement} place
 */
export const paintedCanvas = (place) => place.querySelector("[data-testid=stVegaLiteChart] > canvas");

/**
 * Runs `act` with an SVG drawing of a chart that Vega has painted on a canvas.
 * @param {HTMLElement} painted
 * @param {(drawing: SVGSVGElement) => Promise<void>} act
 */
export async function withRedrawing(painted, act) {
  const text = await paintedView(painted)?.toSVG();
  if (!text) throw new Error("This map is too large to be saved. Choose words instead of tokens, or a shorter sentence.");
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const drawing = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (document.importNode(parsed, true)));
  // Remove the chart's background, because the file has its own or none.
  drawing.querySelector(":scope > rect")?.remove();
  drawing.style.cssText = "position: fixed; left: -99999px; top: 0";
  // Give the text the colour that it has in all other charts (INK in pages/ui/charts/matrix.py).
  drawing.querySelectorAll("[class*=role-axis] text, [class*=role-legend] text").forEach((text) => text.setAttribute("fill", "currentColor"));
  painted.append(drawing);
  try {
    await act(drawing);
  } finally {
    drawing.remove();
  }
}

/**
 * Returns the Vega view behind a chart. Streamlit does not expose it, so the function searches the data that React
 * keeps.
 * @param {HTMLElement} chart
 * @returns {{ toSVG: () => Promise<string> } | null}
 */
function paintedView(chart) {
  const key = Object.keys(chart).find((name) => name.startsWith("__reactFiber$")) ?? "";
  for (let fiber = /** @type {any} */ (chart)[key]; fiber; fiber = fiber.return) {
    // Only function components have a list of hooks.
    for (let hook = fiber.memoizedState; hook && "next" in hook; hook = hook.next) {
      const found = [hook.memoizedState, hook.memoizedState?.current].find((value) => typeof value?.toSVG === "function");
      if (found) return found;
    }
  }
  return null;
}
