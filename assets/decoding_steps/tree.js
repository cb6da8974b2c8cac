// The beam's tree: a column a step, its expansions in the order of their scores, the best on top.

// Wide enough for a German noun, so that few labels are shortened.
const NODE = { width: 108, height: 24, across: 132, down: 29, top: 26 };
const SVG = "http://www.w3.org/2000/svg";

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Where every node stands: its column is its step, its place the one among those of its step that are shown.
function treePlaces(nodes, pruned) {
  const filled = [];
  return nodes.map(({ step, fate }) => {
    if (fate === "pruned" && !pruned) return null;
    filled[step] ??= 0;
    const place = filled[step]++;
    return { x: step * NODE.across, y: NODE.top + place * NODE.down, place };
  });
}

function tree({ look, follow }) {
  const pruned = checkbox("Show what was pruned", () => part.again());
  const more = element("span");
  const readout = element("div", { class: "node-text", "aria-live": "polite" });
  const picture = drawn("svg", { tabindex: 0, role: "application" });
  const scroll = element("div", { class: "tree-scroll" }, picture);
  const part = element("section", { class: "tree" }, element("h4", {}, "The tree of the beam"),
    element("div", { class: "checks" }, pruned, more), scroll, readout,
    element("p", { class: "note" }, "A column a step, the best score on top; a box says the piece and its probability. "
      + "Thick: the translation. Dashed: pruned. Filled: ended. Click a box, or walk with the arrow keys."));
  pruned.box.checked = true;
  let road = null;
  let chosen = 0;
  let shades = null;

  part.reflect = (newRoad, course, newShades) => {
    part.hidden = !newRoad.tree;
    if (!newRoad.tree) return;
    const fresh = newRoad !== road;
    [road, chosen, shades] = [newRoad, Math.min(course.node, newRoad.tree.nodes.length), newShades];
    if (fresh) part.again();
    else mark();
    part.show(course.step);
  };

  // Bring a step into sight.
  part.show = (step) => {
    if (!chosen) scroll.scrollLeft = Math.max(0, (step - 2) * NODE.across);
  };

  part.again = () => {
    const { nodes, best } = road.tree;
    const places = treePlaces(nodes, pruned.box.checked);
    const most = Math.max(...places.map((place) => place?.y ?? 0));
    const steps = Math.max(...nodes.map(({ step }) => step)) + 1;
    picture.setAttribute("width", steps * NODE.across);
    picture.setAttribute("height", most + NODE.height + 4);
    picture.setAttribute("aria-label", `The tree of the beam: ${steps} steps, ${nodes.length} expansions. `
      + "Arrow left and right follow a hypothesis, up and down compare within a step; Enter takes the road.");
    more.textContent = road.tree.left ? ` (the best of it; ${road.tree.left} further expansions stood lower)` : "";
    const onBest = new Set(best);
    const edges = drawn("g", { class: "edges" });
    const boxes = drawn("g", {});
    for (let step = 0; step < steps; step++) {
      boxes.append(drawn("text", { x: step * NODE.across + 2, y: 12, class: "column" }, `step ${step + 1}`));
    }
    nodes.forEach(({ parent, label, logProb, fate }, index) => {
      const place = places[index];
      if (!place) return;
      const from = places[parent];
      const line = `${onBest.has(index) ? "best " : ""}${fate}`;
      if (from) {
        const [x, y, to] = [from.x + NODE.width, from.y + NODE.height / 2, place.y + NODE.height / 2];
        const middle = (x + place.x) / 2;
        edges.append(drawn("path", { class: line, d: `M${x} ${y}C${middle} ${y} ${middle} ${to} ${place.x} ${to}` }));
      }
      const box = drawn("g",
        { class: `node ${line}`, transform: `translate(${place.x} ${place.y})`, "data-node": index + 1 });
      box.append(drawn("rect", { width: NODE.width, height: NODE.height, rx: 5 }),
        drawn("text", { x: 6, y: 16 }, shortened(label, NODE.width - 44, 13)),
        drawn("text", { x: NODE.width - 6, y: 16, "text-anchor": "end" }, Math.exp(logProb).toFixed(2)));
      box.onclick = () => look(index + 1);
      boxes.append(box);
    });
    picture.replaceChildren(edges, boxes);
    mark();
  };

  function mark() {
    for (const box of picture.querySelectorAll(".node")) {
      box.classList.toggle("chosen", Number(box.dataset.node) === chosen);
    }
    const { nodes, cutoffs, rows } = road.tree;
    if (!chosen) {
      readout.replaceChildren();
      return;
    }
    const node = nodes[chosen - 1];
    const why = {
      pruned: node.score < cutoffs[node.step]
        ? `pruned: its score is below ${NATS(cutoffs[node.step])}, the last that was kept`
        : "pruned: it ends the sentence, but stood too low to do so",
      kept: "kept", ended: "ended here", unfinished: "good enough to go on, but the search was over",
    }[node.fate];
    const labels = path(chosen - 1).map((index) => nodes[index].label);
    readout.replaceChildren(
      element("p", {}, element("strong", {}, labels.join(" "))),
      element("p", {},
        `Step ${node.step + 1}: “${node.label}” with probability ${probabilityOf(node.logProb)}, rank ${node.rank}. `
        + `Score ${NATS(node.score)} nats, ${NATS(node.penalised)} with the length penalty; ${why}. `,
        element("button", { type: "button", onclick: take }, "Take this road")),
      ...(rows?.node === chosen ? [
        tintedPieces(`Looked at the source: ${rows.whose}`, road.source, rows.cross, shades),
        tintedPieces(`Looked back at what it read: ${rows.whose}`, [road.read[0], ...labels], rows.decoder, shades),
      ] : []));
    const x = node.step * NODE.across;
    const { scrollLeft, clientWidth } = scroll;
    if (x < scrollLeft || x + NODE.width > scrollLeft + clientWidth) scroll.scrollLeft = x - clientWidth / 2;
  }

  // Go on from the chosen node as if its pieces had been forced.
  function take() {
    const { nodes } = road.tree;
    follow(path(chosen - 1).map((index) => nodes[index].id), nodes[chosen - 1].step);
  }

  function path(index) {
    const { parent } = road.tree.nodes[index];
    return parent === null ? [index] : [...path(parent), index];
  }

  // The node that an arrow key leads to.
  function next(key) {
    const { nodes, best } = road.tree;
    if (!chosen) return best[0] + 1;
    const index = chosen - 1;
    const shown = (at) => nodes[at].fate !== "pruned" || pruned.box.checked;
    if (key === "ArrowLeft") return (nodes[index].parent ?? index) + 1;
    if (key === "ArrowRight") {
      const children = nodes.flatMap(({ parent }, at) => (parent === index && shown(at) ? [at] : []));
      return (children.find((at) => best.includes(at)) ?? children[0] ?? index) + 1;
    }
    const beside = nodes.flatMap(({ step }, at) => (step === nodes[index].step && shown(at) ? [at] : []));
    const at = beside.indexOf(index) + (key === "ArrowUp" ? -1 : 1);
    return (beside[at] ?? index) + 1;
  }

  picture.onkeydown = (event) => {
    if (event.key.startsWith("Arrow")) look(next(event.key));
    else if (event.key === "Enter" && chosen) take();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return part;
}
