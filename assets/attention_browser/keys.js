// The keyboard of the attention browser: the list of keys, and what each does.

const ATTENTION_KEYS = [
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

/**
 * Does what a key means to an attention browser.
 * @param {AttentionBrowser} browser
 * @param {KeyboardEvent} event
 */
function press(browser, event) {
  if (!browser.data || !isShortcut(event, browser.keys)) return;
  const { choice, data: { header: { layers, heads, glance } } } = browser;
  const step = ARROWS[event.key];
  /** @type {Record<string, () => void>} */
  const actions = {
    "[": () => browser.change({ layer: clamped(choice.layer - 1, layers) }),
    "]": () => browser.change({ layer: clamped(choice.layer + 1, layers) }),
    ",": () => browser.change({ head: clamped(choice.head - 1, heads) }),
    ".": () => browser.change({ head: clamped(choice.head + 1, heads) }),
    "m": () => browser.change({ look: choice.look === "map" ? "lines" : "map" }),
    "w": () => browser.change({ words: !choice.words }),
    "?": () => browser.keys.showModal(),
    "Escape": () => { browser.hover = null; browser.change({ rows: [], columns: [] }); },
  };
  const act = actions[event.key];
  if (step && event.target === browser.grid) {
    browser.change({ layer: clamped(choice.layer + step[0], layers), head: clamped(choice.head + step[1], heads) });
  } else if (step && event.target === browser.large) {
    const { rows, columns } = browser.arranged();
    const { row = 0, column = 0 } = browser.hover ?? {};
    browser.hover = browser.hover === null ? { row, column }
      : { row: clamped(row + step[0], rows.length), column: clamped(column + step[1], columns.length) };
    browser.draw();
    browser.description.say();
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
