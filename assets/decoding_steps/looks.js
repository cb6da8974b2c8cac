// Where a step looks: the source sentence and the pieces read, tinted; or every head of every layer; and what each
// layer alone would have predicted.

const LINE = 7;
const GUTTER = 56;

function tintedPieces(title, labels, weights, shades) {
  return element("div", { class: "row" }, element("h4", {}, title), element("div", { class: "pieces", role: "list" },
    ...labels.slice(0, weights.length).map((label, index) => tinted("span", { class: "piece", role: "listitem",
      title: `“${label}” (position ${index + 1}): ${weights[index].toFixed(4)}` }, shades, weights[index],
    element("span", {}, label), element("small", {}, weights[index].toFixed(2))))));
}

// Rows of all heads below each other, a block a layer; a click chooses the head.
function allHeads(choose) {
  const canvas = element("canvas", { role: "img" });
  const readout = element("p", { class: "note" });
  const title = element("h4");
  const part = element("div", { class: "all" }, title, canvas, readout);
  part.draw = (name, labels, road, rowOf, { shades, text }) => {
    title.textContent = name;
    const width = Math.max(200, Math.floor(part.clientWidth));
    const cell = Math.min(28, (width - GUTTER) / labels.length);
    const longest = Math.max(...labels.map((label) => textWidth(label, 12)));
    const top = Math.min(80, longest) + 6;
    const block = road.heads * LINE + 5;
    const surface = new CanvasSurface(canvas, width, top + road.layers * block, window.devicePixelRatio);
    // Labels that would stand on each other are left out; the readout has them all.
    const every = Math.ceil(13 / cell);
    labels.forEach((label, index) => {
      if (index % every) return;
      surface.text(GUTTER + (index + 0.5) * cell, top - 4, shortened(label, 76, 12),
        { size: 12, fill: text, angle: -Math.PI / 2 });
    });
    for (let layer = 0; layer < road.layers; layer++) {
      const y = top + layer * block;
      surface.text(0, y + (road.heads * LINE) / 2, `layer ${layer + 1}`, { size: 12, fill: text });
      const rows = Array.from({ length: road.heads }, (_, head) => rowOf(layer * road.heads + head));
      surface.cells(GUTTER, y, cell, LINE, road.heads, labels.length,
        (head, column) => shades[Math.round(rows[head][column] * (SHADES - 1))]);
    }
    canvas.setAttribute("aria-label",
      `${name}, ${road.layers} layers by ${road.heads} heads; choose one head to read its numbers.`);
    const hit = ({ offsetX, offsetY }) => {
      const layer = Math.floor((offsetY - top) / block);
      const head = Math.floor((offsetY - top - layer * block) / LINE);
      const column = Math.floor((offsetX - GUTTER) / cell);
      const inside = layer >= 0 && layer < road.layers && head < road.heads && column >= 0 && column < labels.length;
      return inside ? { layer, head, column } : null;
    };
    readout.textContent = "Point at a row to read it, click to choose its head.";
    canvas.onmousemove = (event) => {
      const at = hit(event);
      if (!at) return;
      const weight = rowOf(at.layer * road.heads + at.head)[at.column];
      readout.textContent = `Layer ${at.layer + 1}, head ${at.head + 1} looks at “${labels[at.column]}” with `
        + weight.toFixed(4);
    };
    canvas.onclick = (event) => {
      const at = hit(event);
      if (at) choose({ layer: at.layer, head: at.head, show: "head" });
    };
  };
  return part;
}

function looks(choose) {
  const rows = element("div");
  const cross = allHeads(choose);
  const decoder = allHeads(choose);
  const every = element("div", { class: "every" }, cross, decoder);
  const part = element("section", { class: "looks" }, rows, every);
  part.reflect = (road, { step, show, layer, head }, theme) => {
    const plane = road.plane({ show, layer, head });
    const whose = show === "head" ? `layer ${layer + 1}, head ${head + 1}` : "mean of all heads";
    const read = road.read.slice(0, step + 1);
    rows.replaceChildren(
      tintedPieces(`Looks at the source: ${whose}`, road.source, road.crossRow(plane, step), theme.shades),
      ...(show === "all" ? [] : [
        tintedPieces(`Looks back at what it read: ${whose}`, read, road.decoderRow(plane, step), theme.shades)]));
    every.hidden = show !== "all";
    if (show !== "all") return;
    cross.draw("Every head, at the source", road.source, road, (at) => road.crossRow(at, step), theme);
    decoder.draw("Every head, at what it read", read, road, (at) => road.decoderRow(at, step), theme);
  };
  return part;
}

// The logit lens: a line a layer.
function layerByLayer() {
  const body = element("tbody");
  const head = element("th", { scope: "col", class: "number" });
  const part = element("section", { class: "layers" }, element("h4", {}, "Layer by layer"),
    element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "after"),
      element("th", { scope: "col" }, "it would say"), head)), body),
    element("p", { class: "note" },
      "Each layer's output through the final norm and the output layer; the last is the model's own word."));
  part.reflect = (road, step) => {
    const { layers, out, id } = road.steps[step];
    head.textContent = `gives “${out}”`;
    body.replaceChildren(...layers.map(({ said, taken }, layer) => element("tr", {},
      element("th", { scope: "row" }, `layer ${layer + 1}`),
      element("td", {}, ...said.map(([piece, label, logProb]) => element("span",
        { class: piece === id ? "said same" : "said" }, label,
        element("small", {}, ` ${Math.exp(logProb).toFixed(2)}`)))),
      element("td", { class: "number" }, probabilityOf(taken)))));
  };
  return part;
}
