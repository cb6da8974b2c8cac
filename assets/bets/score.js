// Shows the user's score in bets and in lesson questions. The score is stored only in the browser. Only the first
// answer to each question counts.

import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";

const STORE = "attention-atlas-bets";
const MARKS = /** @type {const} */ (["right", "close", "wrong"]);
// Maximum number of stored bets. The oldest ones are deleted.
const MAX_BETS = 500;

/** @returns {Record<string, string>} the result of each bet ("right", "close" or "wrong") by its id */
function storedScore() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORE) ?? "{}");
    return kept && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}

class Score extends Component {
  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("p", { class: "bet-score" }));
  }

  /** @param {{ id: string, mark: string }} data */
  show({ id, mark }) {
    let marks = storedScore();
    if (mark && !marks[id]) {
      marks = Object.fromEntries([...Object.entries(marks), [id, mark]].slice(-MAX_BETS));
      try {
        localStorage.setItem(STORE, JSON.stringify(marks));
      } catch { /* Without storage, the score counts only this bet. */ }
    }
    const all = Object.values(marks);
    const counts = MARKS.map((each) => `${all.filter((one) => one === each).length} ${each}`);
    this.root.textContent = all.length ? `Your bets and answers in this browser: ${counts.join(", ")}.` : "";
  }
}

export default mount(Score);
