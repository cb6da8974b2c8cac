// How the next piece is chosen, and whose attention is shown.

const METHODS = [["greedy", "greedy: the likeliest"], ["beam", "beam search"], ["sample", "sampling"]];
const SHOWS = [["head", "one head"], ["mean", "mean of all heads"], ["all", "every head"]];
const STEP_KEYS = [
  ["← →", "the step before or after"],
  ["Home, End", "the first or last step"],
  ["Space", "play or pause"],
  ["h", "where it hesitates"],
  ["1 to 9, 0", "take that candidate instead"],
  ["[ and ], comma and full stop", "another layer, another head"],
  ["in the tree: arrows, Enter", "walk along it, take a road"],
  ["?", "this list"],
];

// Whole numbers where a step is 1; otherwise a step is only what the arrows do, and what is typed may lie between.
function number(label, { min, max, step }, change) {
  const box = element("input", { type: "number", "aria-label": label, min, max, step, onchange: () => {
    const typed = Number(box.value);
    const possible = box.value !== "" && typed >= min && typed <= max && (step < 1 || Number.isInteger(typed));
    // As many digits as the address keeps; what cannot be is put back.
    box.value = possible ? Math.round(1e6 * typed) / 1e6 : field.shown;
    if (possible) change(Number(box.value));
  } });
  const field = Object.assign(element("label", { class: "field" }, element("span", {}, label), box), { box });
  return field;
}

function settings(decode, view, { showKeys, showTree }) {
  const numbered = (count) => Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);
  const method = select("Way of choosing", METHODS, (value) => decode({ method: value }));
  const fields = {
    size: number("Beam size", { min: 1, max: 10, step: 1 }, (size) => decode({ size })),
    alpha: number("Length penalty", { min: 0, max: 3, step: 0.1 }, (alpha) => decode({ alpha })),
    temperature: number("Temperature", { min: 0.1, max: 10, step: 0.1 }, (temperature) => decode({ temperature })),
    top_k: number("Top-k, 0: all", { min: 0, max: 10000, step: 1 }, (top_k) => decode({ top_k })),
    top_p: number("Top-p", { min: 0.05, max: 1, step: 0.05 }, (top_p) => decode({ top_p })),
    seed: number("Seed", { min: 0, max: 999999, step: 1 }, (seed) => decode({ seed })),
  };
  const used = { greedy: [], beam: ["size", "alpha"], sample: ["temperature", "top_k", "top_p", "seed"] };
  const show = select("Attention", SHOWS, (value) => view({ show: value }));
  const layer = select("Layer", null, (value) => view({ layer: Number(value) }));
  const head = select("Head", null, (value) => view({ head: Number(value) }));
  const help = element("button",
    { type: "button", class: "help", title: "Keys", "aria-label": "Keys", onclick: showKeys }, "?");
  const toTree = element("button", { type: "button", onclick: showTree }, "To the tree ↓");
  const bar = element("div", { class: "bar" }, method, ...Object.values(fields), toTree, show, layer, head, help);
  bar.reflect = (course, road) => {
    method.querySelector("select").value = course.method;
    for (const [name, field] of Object.entries(fields)) {
      field.hidden = !used[course.method].includes(name);
      field.shown = course[name];
      // What is being typed stays.
      if (field.box !== field.getRootNode().activeElement) field.box.value = course[name];
    }
    toTree.hidden = course.method !== "beam";
    show.querySelector("select").value = course.show;
    layer.fill(numbered(road.layers), String(course.layer));
    head.fill(numbered(road.heads), String(course.head));
    layer.hidden = head.hidden = course.show !== "head";
  };
  return bar;
}

function stepKeys() {
  return element("dialog", { class: "keys", "aria-label": "Keys" }, element("h3", {}, "Keys"),
    element("dl", {}, ...STEP_KEYS.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)])),
    element("form", { method: "dialog" }, element("button", {}, "Close")));
}
