// A chart that Vega has painted because it has thousands of cells: as a drawing, for as long as it takes to copy it.

/**
 * Where Vega has painted its chart.
 * @param {HTMLElement} place
 */
export const paintedCanvas = (place) => place.querySelector("[data-testid=stVegaLiteChart] > canvas");

/**
 * Runs `act` with the chart as Vega would draw it.
 * @param {HTMLElement} painted
 * @param {(drawing: SVGSVGElement) => Promise<void>} act
 */
export async function redrawn(painted, act) {
  const text = await paintedView(painted)?.toSVG();
  if (!text) throw new Error("This map cannot be saved as it is painted. Choose words instead of pieces, or a shorter sentence.");
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const drawing = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (document.importNode(parsed, true)));
  // The file has a background of its own, or none.
  drawing.querySelector(":scope > rect")?.remove();
  drawing.style.cssText = "position: fixed; left: -99999px; top: 0";
  // As in a chart that is not painted (INK in pages/ui/charts/matrix.py).
  drawing.querySelectorAll("[class*=role-axis] text, [class*=role-legend] text").forEach((text) => text.setAttribute("fill", "currentColor"));
  painted.append(drawing);
  try {
    await act(drawing);
  } finally {
    drawing.remove();
  }
}

/**
 * The view of Vega behind a chart. Streamlit offers it to nobody, so it is looked for in what React keeps.
 * @param {HTMLElement} chart
 * @returns {{ toSVG: () => Promise<string> } | null}
 */
function paintedView(chart) {
  const key = Object.keys(chart).find((name) => name.startsWith("__reactFiber$")) ?? "";
  for (let fiber = /** @type {any} */ (chart)[key]; fiber; fiber = fiber.return) {
    // Only components that are functions keep a list of what they remember.
    for (let hook = fiber.memoizedState; hook && "next" in hook; hook = hook.next) {
      const found = [hook.memoizedState, hook.memoizedState?.current].find((value) => typeof value?.toSVG === "function");
      if (found) return found;
    }
  }
  return null;
}
