// The sentence as it is written, a box a step, and the controls that walk along it.

const SPEEDS = [["0.5", "slow"], ["1", "normal"], ["2", "fast"], ["4", "very fast"]];
// Seconds a step at normal speed.
const PACE = 1.0;

// A piece on a colour of the scale from 0 to 1.
function tinted(name, attributes, shades, value, ...children) {
  const shade = shades[Math.round(Math.min(1, Math.max(0, value)) * (SHADES - 1))];
  const made = element(name, attributes, ...children);
  made.style.setProperty("--shade", css(shade));
  made.style.setProperty("--ink", inkOn(shade));
  return made;
}

function strip(go) {
  const row = element("div", { class: "strip", role: "toolbar", "aria-label": "The pieces written, one a step" });
  row.fill = (road, shades) => keepingFocus(row, "button", () => row.replaceChildren(
    ...road.steps.map((step, index) => tinted("button", {
      type: "button", class: step.forced ? "piece forced" : "piece", onclick: () => go(index),
      title: `step ${index + 1}: probability ${Math.exp(step.logProb).toFixed(4)}${step.forced ? ", forced" : ""}`,
    }, shades, Math.exp(step.logProb), element("span", {}, step.out),
    element("small", {}, Math.exp(step.logProb).toFixed(2))))));
  // Which step is looked at; what comes later is hollow, as it is not written yet.
  row.mark = (step) => [...row.children].forEach((piece, index) => {
    piece.setAttribute("aria-current", index === step ? "step" : "false");
    piece.tabIndex = index === step ? 0 : -1;
    piece.classList.toggle("later", index > step);
    if (index === step && row.contains(row.getRootNode().activeElement)) piece.focus();
  });
  return row;
}

function transport({ go, toggle, hesitate, pace }) {
  const button = (text, label, onclick) => (
    element("button", { type: "button", "aria-label": label, title: label, onclick }, text));
  const play = button("▶ Play", "Play", toggle);
  const slider = element("input", { type: "range", "aria-label": "Step", min: 1, step: 1, value: 1,
    oninput: () => go(Number(slider.value) - 1) });
  const at = element("output");
  const speed = select("Speed", SPEEDS, (value) => pace(Number(value)));
  speed.querySelector("select").value = "1";
  const bar = element("div", { class: "transport" },
    button("◀", "Step before", () => go(Number(slider.value) - 2)), play,
    button("▶|", "Next step", () => go(Number(slider.value))),
    element("label", { class: "field" }, at, slider), speed,
    element("button", { type: "button", onclick: hesitate,
      title: "Go to the step where the two likeliest pieces are closest (key h)" }, "Where it hesitates"));
  bar.reflect = (step, count, playing) => {
    slider.max = count;
    slider.value = step + 1;
    at.textContent = `Step ${step + 1} of ${count}`;
    play.textContent = playing ? "❚❚ Pause" : "▶ Play";
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
  };
  return bar;
}
