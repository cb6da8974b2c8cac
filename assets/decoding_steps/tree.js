// Draws the search tree of beam search. Each step is a column of expansions, sorted by score with the best at the top.

import { checkbox } from "../shared/controls.js";
import { quote } from "../shared/direction.js";
import { element, svgElement } from "../shared/element.js";
import { shortened } from "../shared/ruler.js";
import { term } from "../shared/terms.js";
import { tintedTokens } from "./attention_rows.js";
import { NATS, probabilityOf } from "./translation.js";
/** @import { Colour } from "../shared/colours.js" */
/** @import { SearchTree, StepsParams, Translation, TreeNode } from "./translation.js" */

// Boxes are wide enough for a long noun, so that few labels are shortened.
export const NODE = { width: 100, height: 40, across: 124, down: 45, top: 38 };

/**
 * Returns the position of every node, or null for a hidden node. The column is the node's step. The row, `place`, is
 * the node's index among the visible nodes of that step.
 * @param {Pick<TreeNode, "step" | "fate">[]} nodes
 * @param {boolean} pruned whether pruned nodes are shown
 */
export function treePlaces(nodes, pruned) {
  /** @type {number[]} */
  const filled = [];
  return nodes.map(({ step, fate }) => {
    if (fate === "pruned" && !pruned) return null;
    filled[step] ??= 0;
    const place = filled[step]++;
    return { x: step * NODE.across, y: NODE.top + place * NODE.down, place };
  });
}

/**
 * Returns the nodes on the path from the first step to a node, including that node.
 * @param {TreeNode[]} nodes
 * @param {number} index
 * @returns {TreeNode[]}
 */
export function pathTo(nodes, index) {
  const { parent } = nodes[index];
  return parent === null ? [nodes[index]] : [...pathTo(nodes, parent), nodes[index]];
}

/**
 * Returns the node that an arrow key moves to. Node numbers are 1-based here; 0 means no node.
 * @param {SearchTree} tree
 * @param {number} chosen
 * @param {string} key
 * @param {boolean} pruned whether pruned nodes are shown
 */
export function nextNode({ nodes, best }, chosen, key, pruned) {
  if (!chosen) return best[0] + 1;
  const index = chosen - 1;
  /** @type {(at: number) => boolean} */
  const shown = (at) => pruned || nodes[at].fate !== "pruned";
  if (key === "ArrowLeft") return (nodes[index].parent ?? index) + 1;
  if (key === "ArrowRight") {
    const children = nodes.flatMap(({ parent }, at) => (parent === index && shown(at) ? [at] : []));
    return (children.find((at) => best.includes(at)) ?? children[0] ?? index) + 1;
  }
  const beside = nodes.flatMap(({ step }, at) => (step === nodes[index].step && shown(at) ? [at] : []));
  const at = beside.indexOf(index) + (key === "ArrowUp" ? -1 : 1);
  return (beside[at] ?? index) + 1;
}

/**
 * Returns the tree as a picture; clicks and arrow keys choose a node.
 * @param {{ look: (node: number) => void, follow: (forced: number[], step: number) => void }} act
 */
export function tree({ look, follow }) {
  const pruned = checkbox("Show pruned tokens", () => again());
  const more = element("span");
  const readout = element("div", { class: "node-text", "aria-live": "polite" });
  const picture = svgElement("svg", { tabindex: 0, role: "application", "data-figure": "beam-tree" });
  const span = element("span", { class: "span" });
  /** @type {(text: string, label: string, way: 1 | -1) => HTMLButtonElement} */
  const turn = (text, label, way) => element("button", { type: "button", "aria-label": label, title: label,
    onclick: () => { scroll.scrollLeft = (Math.round(scroll.scrollLeft / NODE.across) + way * fitting()) * NODE.across; },
  }, text);
  const [earlier, later] = [turn("◀", "Earlier steps", -1), turn("▶", "Later steps", 1)];
  const turning = element("div", { class: "turning" }, earlier, span, later);
  const scroll = element("div", { class: "tree-scroll", onscroll: () => place() }, picture);
  const part = element("section", { class: "tree" }, element("h4", {}, "The ", term("beam", "hypothesis"), "-search tree"),
    element("p", { class: "note" }, "One column per step. A box shows the token, its probability (left) and its score "
      + "(right): the sum of the log-probabilities up to this token, in nats. The best score is at the top. "
      + "Tokens in thick boxes were written, tokens in dashed boxes were pruned, and filled boxes end the sentence. Click a box, or use the arrow keys."),
    element("div", { class: "checks" }, pruned, more), turning, scroll, readout);
  pruned.box.checked = true;
  /** @type {Translation} */
  let translation;
  /** @type {SearchTree} */
  let shown;
  let chosen = 0;
  /** @type {Colour[]} */
  let shades;

  /** @type {(newTranslation: Translation, params: StepsParams, newShades: Colour[]) => void} */
  const reflect = (newTranslation, params, newShades) => {
    part.hidden = !newTranslation.tree;
    if (!newTranslation.tree) return;
    const fresh = newTranslation !== translation;
    [translation, shown, shades] = [newTranslation, newTranslation.tree, newShades];
    chosen = Math.min(params.node, shown.nodes.length);
    if (fresh) again();
    else mark();
    show(params.step);
    place();
  };

  // Number of columns that fit on the screen, at least one.
  const fitting = () => Math.max(1, Math.floor((scroll.clientWidth + NODE.across - NODE.width) / NODE.across));

  // Shows which steps are visible.
  function place() {
    const count = shown.cutoffs.length;
    const { scrollLeft, scrollWidth, clientWidth } = scroll;
    turning.hidden = scrollWidth <= clientWidth;
    const atEnd = scrollLeft + clientWidth >= scrollWidth - 1;
    const first = Math.min(count, Math.ceil((scrollLeft - 1) / NODE.across) + 1);
    const last = atEnd ? count : Math.min(count, Math.floor((scrollLeft + clientWidth - NODE.width) / NODE.across) + 1);
    span.textContent = `steps ${Math.min(first, last)} to ${last} of ${count}`;
    earlier.disabled = scrollLeft < 1;
    later.disabled = atEnd;
  }

  /** @param {number} step to scroll into view */
  function show(step) {
    if (!chosen) scroll.scrollLeft = Math.max(0, (step - 2) * NODE.across);
  }

  function again() {
    const { nodes, best, left: unsent } = shown;
    const places = treePlaces(nodes, pruned.box.checked);
    const most = Math.max(...places.map((place) => place?.y ?? 0));
    const steps = Math.max(...nodes.map(({ step }) => step)) + 1;
    picture.setAttribute("width", String((steps - 1) * NODE.across + NODE.width + 4));
    picture.setAttribute("height", String(most + NODE.height + 4));
    picture.setAttribute("aria-label", `The beam-search tree: ${steps} steps, ${nodes.length} expansions. `
      + "The left and right arrows follow a hypothesis, and up and down move within a step. Enter continues from the chosen box.");
    more.textContent = unsent ? ` (only the best expansions; ${unsent} others ranked lower)` : "";
    const onBest = new Set(best);
    const edges = svgElement("g", { class: "edges" });
    const boxes = svgElement("g", {});
    for (let step = 0; step < steps; step++) {
      const [left, right] = [step * NODE.across, step * NODE.across + NODE.width];
      boxes.append(svgElement("text", { x: left, y: 13, class: "column" }, `step ${step + 1}`),
        svgElement("text", { x: left + 6, y: 30, class: "legend" }, "prob."),
        svgElement("text", { x: right - 6, y: 30, class: "legend", "text-anchor": "end" }, "score"));
    }
    nodes.forEach(({ parent, label, logProb, score, fate }, index) => {
      const place = places[index];
      if (!place) return;
      const from = parent === null ? null : places[parent];
      const line = `${onBest.has(index) ? "best " : ""}${fate}`;
      if (from) {
        const [x, y, to] = [from.x + NODE.width, from.y + NODE.height / 2, place.y + NODE.height / 2];
        const middle = (x + place.x) / 2;
        edges.append(svgElement("path", { class: line, d: `M${x} ${y}C${middle} ${y} ${middle} ${to} ${place.x} ${to}` }));
      }
      const box = svgElement("g",
        { class: `node ${line}`, transform: `translate(${place.x} ${place.y})`, "data-node": index + 1 });
      box.append(svgElement("rect", { width: NODE.width, height: NODE.height, rx: 5 }),
        svgElement("text", { x: 6, y: 16 }, shortened(label, NODE.width - 12, 13)),
        svgElement("text", { x: 6, y: 33, class: "figure" }, Math.exp(logProb).toFixed(2)),
        svgElement("text", { x: NODE.width - 6, y: 33, class: "figure score", "text-anchor": "end" }, NATS(score)));
      box.onclick = () => look(index + 1);
      boxes.append(box);
    });
    picture.replaceChildren(edges, boxes);
    mark();
  }

  function mark() {
    for (const box of /** @type {NodeListOf<SVGElement>} */ (picture.querySelectorAll(".node"))) {
      box.classList.toggle("chosen", Number(box.dataset.node) === chosen);
    }
    const { nodes, cutoffs, rows } = shown;
    const { source, target } = translation.languages;
    if (!chosen) {
      readout.replaceChildren();
      return;
    }
    const node = nodes[chosen - 1];
    const why = {
      pruned: node.score < cutoffs[node.step]
        ? `pruned: its score is below ${NATS(cutoffs[node.step])}, the lowest that survived`
        : "pruned: it ends the sentence, but ranked too low to survive",
      alive: "survived", ended: "ended here", unfinished: "good enough to continue, but the search was over",
    }[node.fate];
    const labels = pathTo(nodes, chosen - 1).map(({ label }) => label);
    readout.replaceChildren(
      element("p", {}, element("strong", {}, labels.join(" "))),
      element("p", {},
        `Step ${node.step + 1}: ${quote(node.label)} with probability ${probabilityOf(node.logProb)}, rank ${node.rank}. `
        + `Score ${NATS(node.score)} nats, ${NATS(node.penalised)} with the length penalty; ${why}. `,
        element("button", { type: "button", onclick: take }, "Continue from here")),
      ...(rows?.node === chosen ? [
        ...(translation.source.length
          ? [tintedTokens(`Cross attention, ${rows.whose}: looks at the source`, translation.source, rows.cross, shades, source.direction)] : []),
        tintedTokens(`Masked attention, ${rows.whose}: looks back at the tokens read so far`, [...translation.readUpTo(0), ...labels], rows.decoder, shades,
          target.direction),
      ] : []));
    const x = node.step * NODE.across;
    const { scrollLeft, clientWidth } = scroll;
    if (x < scrollLeft || x + NODE.width > scrollLeft + clientWidth) scroll.scrollLeft = x - clientWidth / 2;
  }

  // Continues from the chosen node by forcing the tokens on the path to it.
  function take() {
    const { nodes } = shown;
    follow(pathTo(nodes, chosen - 1).map(({ id }) => id), nodes[chosen - 1].step);
  }

  picture.onkeydown = (event) => {
    if (event.key.startsWith("Arrow")) look(nextNode(shown, chosen, event.key, pruned.box.checked));
    else if (event.key === "Enter" && chosen) take();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return Object.assign(part, { reflect });
}
