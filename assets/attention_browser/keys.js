// The keyboard: what each key does, and the list that says so.

const KEYS = [
  ["arrows in the grid", "another head or layer"],
  ["arrows in the large figure", "another cell"],
  ["Enter", "pin or release the cell, or open the head"],
  ["Shift and click, Shift and Enter", "add a piece to the sum"],
  ["[ and ]", "the layer below or above, same head"],
  [", and .", "the head before or after"],
  ["m", "map or lines"],
  ["w", "words or pieces"],
  ["Esc", "release everything that is pinned"],
  ["?", "this list"],
];
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function keysDialog() {
  return element("dialog", { class: "keys", "aria-label": "Keys" },
    element("h3", {}, "Keys"),
    element("dl", {}, ...KEYS.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)])),
    element("form", { method: "dialog" }, element("button", {}, "Close")));
}

const within = (value, count) => Math.min(count - 1, Math.max(0, value));

// Does what a key means to an AttentionBrowser.
function press(browser, event) {
  const elsewhere = browser.keys.open || event.target.matches("select, input");
  if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || !browser.data) return;
  const { choice, data: { header: { layers, heads, glance } } } = browser;
  const step = STEPS[event.key];
  const act = {
    "[": () => browser.change({ layer: within(choice.layer - 1, layers) }),
    "]": () => browser.change({ layer: within(choice.layer + 1, layers) }),
    ",": () => browser.change({ head: within(choice.head - 1, heads) }),
    ".": () => browser.change({ head: within(choice.head + 1, heads) }),
    "m": () => browser.change({ look: choice.look === "map" ? "lines" : "map" }),
    "w": () => browser.change({ words: !choice.words }),
    "?": () => browser.keys.showModal(),
    "Escape": () => { browser.hover = null; browser.change({ rows: [], columns: [] }); },
  }[event.key];
  if (step && event.target === browser.grid) {
    browser.change({ layer: within(choice.layer + step[0], layers), head: within(choice.head + step[1], heads) });
  } else if (step && event.target === browser.large) {
    const { rows, columns } = browser.arranged();
    const { row = 0, column = 0 } = browser.hover ?? {};
    browser.hover = browser.hover === null ? { row, column }
      : { row: within(row + step[0], rows.length), column: within(column + step[1], columns.length) };
    browser.draw();
    browser.say();
  } else if (event.key === "Enter" && event.target === browser.large) {
    browser.pin(browser.hover, event.shiftKey);
  } else if (event.key === "Enter" && event.target === browser.grid && glance) {
    browser.open(choice);
  } else if (act && !glance) {
    act();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}
