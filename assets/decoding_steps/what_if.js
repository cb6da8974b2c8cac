// What else it could have been: the candidates of a step, to be taken or banned, one to be typed, and the roads taken.

function candidates({ take, ban, type }) {
  const list = element("ol", { class: "candidates" });
  const covered = element("p", { class: "note" });
  const typed = element("input", { type: "text", "aria-label": "Another piece or word", placeholder: "or type a word …" });
  const form = element("form", { class: "typed", onsubmit: (event) => {
    event.preventDefault();
    if (typed.value.trim()) type(typed.value);
  } }, typed, element("button", { type: "submit" }, "Take it"));
  const part = element("section", { class: "what-if" }, element("h4", {}, "What else it could have been"), list, covered, form);
  part.reflect = (road, step) => keepingFocus(list, "button", () => {
    const { candidates: found, id, out, logProb: taken, rank, entropy } = road.steps[step];
    const banned = new Set(road.never.map(([piece]) => piece));
    // A piece that was drawn or forced may stand far below.
    const beyond = found.some(([piece]) => piece === id) ? [] : [[id, out, taken]];
    list.replaceChildren(...[...found, ...beyond].map(([piece, label, logProb], index) => {
      const probability = Math.exp(logProb);
      const bar = element("span", { class: "amount" });
      bar.style.width = `${100 * probability}%`;
      const row = element("li", {},
        element("button", { type: "button", class: "take", "aria-pressed": String(piece === id), onclick: () => take(piece),
          title: `log-probability ${logProb.toFixed(4)} nats; go on with this piece${index < 10 ? ` (key ${(index + 1) % 10})` : ""}` },
        element("span", { class: "name" }, label), element("span", { class: "scale" }, bar),
        element("span", { class: "number" }, probabilityOf(logProb))),
        element("button", { type: "button", class: "ban", "aria-pressed": String(banned.has(piece)),
          "aria-label": `Never say ${label} from here on`, title: "Never say this piece from here on", onclick: () => ban(piece) }, "⊘"));
      row.classList.toggle("banned", banned.has(piece));
      return row;
    }));
    const sum = found.reduce((total, [, , logProb]) => total + Math.exp(logProb), 0);
    covered.textContent = `${beyond.length ? `The last one has rank ${rank}; the ${found.length} above it` : "These"} cover ${(100 * sum).toFixed(1)} % of the probability; the entropy of all is ${entropy.toFixed(2)} nats.`;
  });
  return part;
}

// All roads taken, the first one on top; each shows from where it parts from the first.
function roads(follow, free) {
  const list = element("ol", { class: "roads", "aria-label": "Roads" });
  const banned = element("p", { class: "banned-pieces" });
  const part = element("div", {}, list, banned);
  part.reflect = (road) => {
    list.hidden = road.roads.length < 2;
    keepingFocus(list, "button", () => list.replaceChildren(...road.roads.map((other, index) => {
      const words = element("span", { class: "words" }, other.common, element("mark", {}, other.own));
      return element("li", {}, element("button", { type: "button", "aria-pressed": String(other.current), onclick: () => follow(other),
        title: index ? `parts from the first road at step ${other.parts + 1}` : "the first road" },
      words, element("span", { class: "number" }, `${other.how} · ${NATS(other.logProb)} nats · ${other.count} pieces`)));
    })));
    banned.hidden = !road.never.length;
    banned.replaceChildren("Banned: ", ...road.never.flatMap(([piece, label]) => [
      element("button", { type: "button", "aria-label": `Allow ${label} again`, title: "Allow it again", onclick: () => free(piece) }, `${label} ×`), " "]));
  };
  return part;
}
