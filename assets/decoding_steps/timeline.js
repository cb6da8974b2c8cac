// Shows the translation while it is being written, with a button for each step and controls that move between steps.

import { tintedElement } from "../shared/colours.js";
import { focused, keepingFocus, select } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { transport } from "../shared/transport.js";
/** @import { Colour } from "../shared/colours.js" */
/** @import { Translation } from "./translation.js" */

const SPEEDS = [["0.5", "slow"], ["1", "normal"], ["2", "fast"], ["4", "very fast"]];
// Milliseconds for each step at normal speed.
export const STEP_DURATION = 1000;

/** @typedef {{ shades: Colour[], text: string }} StepsTheme */

/**
 * Returns a row with a button for each step. Its method `mark` marks the current step.
 * @param {(step: number) => void} go
 */
export function timeline(go) {
  const row = element("div", { class: "timeline", role: "toolbar", "aria-label": "The tokens written, one per step" });
  /** @type {(translation: Translation, shades: Colour[]) => void} shows the tokens in the language's reading direction */
  const fill = (translation, shades) => keepingFocus(row, "button", () => {
    row.dir = translation.languages.target.direction;
    row.replaceChildren(...translation.steps.map((step, index) => tintedElement("button", {
      type: "button", class: step.forced ? "token forced" : "token", onclick: () => go(index),
      title: `step ${index + 1}: probability ${Math.exp(step.logProb).toFixed(4)}${step.forced ? ", forced" : ""}`,
    }, shades, Math.exp(step.logProb), element("span", { dir: "auto" }, step.out),
    element("small", {}, Math.exp(step.logProb).toFixed(2)))));
  });
  /** @type {(step: number) => void} later tokens are hollow, because they are not written yet */
  const mark = (step) => row.querySelectorAll("button").forEach((token, index) => {
    token.setAttribute("aria-current", index === step ? "step" : "false");
    token.tabIndex = index === step ? 0 : -1;
    token.classList.toggle("later", index > step);
    if (index === step && row.contains(focused(row))) token.focus();
  });
  return Object.assign(row, { fill, mark });
}

/**
 * Returns the controls that move between decoding steps.
 * @param {{
 *   go: (step: number) => void, toggle: () => void, hesitate: () => void, pace: (speed: number) => void,
 *   restart: () => void,
 * }} act
 */
export function stepControls({ go, toggle, hesitate, pace, restart }) {
  const speed = select("Speed", SPEEDS, (value) => pace(Number(value)));
  speed.box.value = "1";
  return transport({ go, toggle }, "Step", speed,
    element("button", { type: "button", onclick: hesitate,
      title: "Go to the step where the two most likely tokens are closest in probability (key h)" }, "Least certain step"),
    element("button", { type: "button", onclick: restart,
      title: "Back to the model's own translation; clears everything you forced or banned" }, "Start over"));
}
