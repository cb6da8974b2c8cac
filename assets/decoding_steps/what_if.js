// What else it could have been: the candidates of a step, to be taken or banned, one to be typed, and the roads taken.

function candidates({ take, ban, type }) {
  const list = element("ol", { class: "candidates" });
  const covered = element("p", { class: "note" });
  const typed = element("input",
    { type: "text", "aria-label": "Another piece or word", placeholder: "or type a word …" });
  const submit = (event) => {
    event.preventDefault();
    if (typed.value.trim()) type(typed.value);
  };
  const form = element("form", { class: "typed", onsubmit: submit }, typed,
    element("button", { type: "submit" }, "Take it"));
  const part = element("section", { class: "what-if" },
    element("h4", {}, "What else it could have been"), list, covered, form);

  function candidate([piece, label, logProb], index, { id, banned }) {
    const bar = element("span", { class: "amount" });
    bar.style.width = `${100 * Math.exp(logProb)}%`;
    const key = index < 10 ? ` (key ${(index + 1) % 10})` : "";
    const row = element("li", {},
      element("button", {
        type: "button", class: "take", "aria-pressed": String(piece === id), onclick: () => take(piece),
        title: `log-probability ${logProb.toFixed(4)} nats; go on with this piece${key}`,
      }, element("span", { class: "name" }, label), element("span", { class: "scale" }, bar),
      element("span", { class: "number" }, probabilityOf(logProb))),
      element("button", {
        type: "button", class: "ban", "aria-pressed": String(banned.has(piece)), onclick: () => ban(piece),
        "aria-label": `Never say ${label} from here on`, title: "Never say this piece from here on",
      }, "⊘"));
    row.classList.toggle("banned", banned.has(piece));
    return row;
  }

  part.reflect = (road, step) => keepingFocus(list, "button", () => {
    const { candidates: found, id, out, logProb, rank, entropy } = road.steps[step];
    const banned = new Set(road.never.map(([piece]) => piece));
    // A piece that was drawn or forced may stand far below.
    const beyond = found.some(([piece]) => piece === id) ? [] : [[id, out, logProb]];
    list.replaceChildren(...[...found, ...beyond].map((each, index) => candidate(each, index, { id, banned })));
    const sum = found.reduce((total, each) => total + Math.exp(each[2]), 0);
    const these = beyond.length ? `The last one has rank ${rank}; the ${found.length} above it` : "These";
    covered.textContent = `${these} cover ${(100 * sum).toFixed(1)} % of the probability; `
      + `the entropy of all is ${entropy.toFixed(2)} nats.`;
  });
  return part;
}

// All roads taken, the first one on top; each shows from where it parts from the first.
function roads(follow, allow) {
  const list = element("ol", { class: "roads", "aria-label": "Roads" });
  const banned = element("p", { class: "banned-pieces" });
  const part = element("div", {}, list, banned);

  function road({ common, own, current, how, logProb, count, course, parts }) {
    return element("li", {}, element("button", {
      type: "button", "aria-pressed": String(current), onclick: () => follow(course, parts),
      title: parts === null ? "the first road" : `parts from the first road at step ${parts + 1}`,
    }, element("span", { class: "words" }, common, element("mark", {}, own)),
    element("span", { class: "number" }, `${how} · ${NATS(logProb)} nats · ${count} pieces`)));
  }

  part.reflect = ({ roads: taken, never }) => {
    list.hidden = taken.length < 2;
    keepingFocus(list, "button", () => list.replaceChildren(...taken.map(road)));
    banned.hidden = !never.length;
    banned.replaceChildren("Banned: ", ...never.flatMap(([piece, label]) => [element("button", {
      type: "button", "aria-label": `Allow ${label} again`, title: "Allow it again", onclick: () => allow(piece),
    }, `${label} ×`), " "]));
  };
  return part;
}
