// The controls around the figures, as ordinary elements of the page.

const SCALES = ["0 to 1", "each head its own", "square root"];
const SAVES = ["SVG", "PNG", "PNG 2×", "PNG 4×", "CSV", "JSON", HTML];
// All controls; `change` gets what the reader changed, as part of a choice, and `save` the name of a format; `complete`
// says whether there is enough to save everything.
function panel(change, save, complete, showKeys) {
  const numbered = (count) => Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);
  const layer = select("Layer", null, (value) => change({ layer: Number(value) }));
  const head = select("Head", null, (value) => change({ head: Number(value) }));
  const look = select("Show as", [["map", "map"], ["lines", "lines"]], (value) => change({ look: value }));
  const scale = select("Scale", SCALES.map((name) => [name, name]), (value) => change({ scale: value }));
  const palette = select("Colours", Object.keys(PALETTES).map((name) => [name, name]),
    (value) => change({ palette: value }));
  const metric = select("Bars below heads", null, (value) => change({ metric: value }));
  const words = checkbox("Words", (value) => change({ words: value }));
  const hide = checkbox("Hide start and end", (value) => change({ hide: value }));
  const slider = element("input", { type: "range", "aria-label": "Leave out below, in hundredths", min: 0, max: 50, step: 1,
    oninput: () => change({ threshold: Number(slider.value) }) });
  const least = element("output");
  const threshold = element("label", { class: "field" }, element("span", {}, "Leave out below ", least), slider);
  const formats = SAVES.map((name) =>
    element("button", { type: "button", onclick: () => { menu.open = false; save(name); } }, name));
  const menu = element("details", { class: "save", ontoggle: () => { formats[SAVES.indexOf(HTML)].hidden = !complete(); } },
    element("summary", {}, "Save as"), element("div", {}, ...formats));
  const help = element("button", { type: "button", class: "help", title: "Keys", "aria-label": "Keys",
    onclick: showKeys }, "?");
  const bar = element("div", { class: "bar" }, layer, head, look, scale, palette, threshold, metric,
    element("div", { class: "checks" }, words, hide), menu, help);
  // Show what is chosen.
  bar.reflect = (choice, { layers, heads, metrics }) => {
    layer.fill(numbered(layers), String(choice.layer));
    head.fill(numbered(heads), String(choice.head));
    look.querySelector("select").value = choice.look;
    scale.querySelector("select").value = choice.scale;
    palette.querySelector("select").value = choice.palette;
    metric.fill([["", "none"], ...metrics.map(({ key, name }) => [key, name])], choice.metric);
    words.box.checked = choice.words;
    hide.box.checked = choice.hide;
    slider.value = choice.threshold;
    least.textContent = (choice.threshold / 100).toFixed(2);
  };
  return bar;
}

// In the line view: which heads of the layer are drawn, each in its colour.
function headChips(toggle) {
  const row = element("div", { class: "chips", role: "group", "aria-label": "Heads drawn as lines" });
  row.reflect = (choice, heads) => {
    row.hidden = choice.look !== "lines";
    keepingFocus(row, "button", () => row.replaceChildren(...Array.from({ length: heads }, (_, head) => {
      const on = head === choice.head || choice.heads.includes(head);
      const chip = element("button", { type: "button", "aria-pressed": String(on), onclick: () => toggle(head) },
        `head ${head + 1}`);
      chip.style.setProperty("--chip", HEAD_COLOURS[head % HEAD_COLOURS.length]);
      return chip;
    })));
  };
  return row;
}
