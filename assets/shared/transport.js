// The controls that move between steps: previous step, play, next step, and a slider.

import { element } from "./element.js";

/**
 * Returns a button whose label is read by screen readers and shown as a tooltip.
 * @param {string} label
 * @param {string} text
 * @param {() => void} onclick
 */
export function transportButton(label, text, onclick) {
  return element("button", { type: "button", "aria-label": label, title: label, onclick }, text);
}

/**
 * Returns an element with the controls. Its method `reflect` updates them to the current step, which is zero-based.
 * @param {{ go: (step: number) => void, toggle: () => void }} act
 * @param {string} unit name of a step
 * @param {Node[]} more additional controls
 */
export function transport({ go, toggle }, unit, ...more) {
  const play = transportButton("Play", "▶ Play", toggle);
  play.className = "play";
  const slider = element("input", { type: "range", "aria-label": unit, min: 1, step: 1, value: 1,
    oninput: () => go(Number(slider.value) - 1) });
  const at = element("output");
  const bar = element("div", { class: "transport" },
    transportButton(`Previous ${unit.toLowerCase()}`, "◀", () => go(Number(slider.value) - 2)), play,
    transportButton(`Next ${unit.toLowerCase()}`, "▶|", () => go(Number(slider.value))),
    element("label", { class: "field" }, at, slider), ...more);
  /** @type {(step: number, count: number, playing: boolean) => void} */
  const reflect = (step, count, playing) => {
    slider.max = String(count);
    slider.value = String(step + 1);
    at.textContent = `${unit} ${step + 1} of ${count}`;
    play.textContent = playing ? "❚❚ Pause" : "▶ Play";
    play.title = playing ? "Pause" : "Play";
    play.setAttribute("aria-label", play.title);
  };
  return Object.assign(bar, { reflect });
}
