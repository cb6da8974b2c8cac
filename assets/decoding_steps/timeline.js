// The translation as it is written, a button for each step, and the controls that move between steps.

import { tinted } from "../shared/colours.js";
import { focused, keepingFocus, select } from "../shared/controls.js";
import { element } from "../shared/element.js";
/** @import { Colour } from "../shared/colours.js" */
/** @import { Translation } from "./translation.js" */

const SPEEDS = [["0.5", "slow"], ["1", "normal"], ["2", "fast"], ["4", "very fast"]];
// Seconds for each step at normal speed.
export const PACE = 1.0;

/** @typedef {{ shades: Colour[], text: string }} StepsTheme */

/**
 * A button for each step; `mark` marks the current one.
 * @param {(step: number) => void} go
 */
export function timeline(go) {
  const row = element("div", { class: "timeline", role: "toolbar", "aria-label": "The pieces written, one a step" });
  /** @type {(translation: Translation, shades: Colour[]) => void} shows tokens in reading direction */
  const fill = (translation, shades) => keepingFocus(row, "button", () => {
    row.dir = translation.languages.target.direction;
    row.replaceChildren(...translation.steps.map((step, index) => tinted("button", {
      type: "button", class: step.forced ? "piece forced" : "piece", onclick: () => go(index),
      title: `step ${index + 1}: probability ${Math.exp(step.logProb).toFixed(4)}${step.forced ? ", forced" : ""}`,
    }, shades, Math.exp(step.logProb), element("span", { dir: "auto" }, step.out),
    element("small", {}, Math.exp(step.logProb).toFixed(2)))));
  });
  /** @type {(step: number) => void} later tokens are hollow, because they are not written yet */
  const mark = (step) => row.querySelectorAll("button").forEach((piece, index) => {
    piece.setAttribute("aria-current", index === step ? "step" : "false");
    piece.tabIndex = index === step ? 0 : -1;
    piece.classList.toggle("later", index > step);
    if (index === step && row.contains(focused(row))) piece.focus();
  });
  return Object.assign(row, { fill, mark });
}

/**
 * Play, pause, next step and previous step.
 * @param {{
 *   go: (step: number) => void, toggle: () => void, hesitate: () => void, pace: (speed: number) => void,
 *   restart: () => void,
 * }} act
 */
export function transport({ go, toggle, hesitate, pace, restart }) {
  /** @type {(text: string, label: string, onclick: () => void) => HTMLButtonElement} */
  const button = (text, label, onclick) => (
    element("button", { type: "button", "aria-label": label, title: label, onclick }, text));
  const play = button("▶ Play", "Play", toggle);
  const slider = element("input", { type: "range", "aria-label": "Step", min: 1, step: 1, value: 1,
    oninput: () => go(Number(slider.value) - 1) });
  const at = element("output");
  const speed = select("Speed", SPEEDS, (value) => pace(Number(value)));
  speed.box.value = "1";
  const bar = element("div", { class: "transport" },
    button("◀", "Step before", () => go(Number(slider.value) - 2)), play,
    button("▶|", "Next step", () => go(Number(slider.value))),
    element("label", { class: "field" }, at, slider), speed,
    element("button", { type: "button", onclick: hesitate,
      title: "Go to the step where the two likeliest pieces are closest (key h)" }, "Where it hesitates"),
    element("button", { type: "button", onclick: restart,
      title: "What the model writes by itself again: nothing forced, nothing banned, and an empty list" }, "Start over"));
  /** @type {(step: number, count: number, playing: boolean) => void} */
  const reflect = (step, count, playing) => {
    slider.max = String(count);
    slider.value = String(step + 1);
    at.textContent = `Step ${step + 1} of ${count}`;
    play.textContent = playing ? "❚❚ Pause" : "▶ Play";
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
  };
  return Object.assign(bar, { reflect });
}
