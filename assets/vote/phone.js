// The page on which a phone in a lecture hall votes: the question, one button for each choice, and the result.

import { element } from "../shared/element.js";

/**
 * A vote, as the server describes it (attention_atlas/ballot_box.py).
 * @typedef {{
 *   stage: number, status: "none" | "open" | "closed" | "revealed", vote: number, question: string, choices: string[],
 *   voters: number, counts?: number[], answer?: number, shares?: number[], says?: string,
 * }} ShownVote
 */

// Milliseconds until a phone tries again after losing its connection.
const RETRY_DELAY = 2000;
const STORE = "attention-atlas-vote";
const place = /** @type {HTMLElement} */ (document.querySelector("#vote"));
const own = storedBallot();
/** @type {ShownVote | undefined} */
let shown;

/**
 * Returns the random name under which this browser votes, and its last ballot. The name is stored, so that a reload
 * does not create a second voter.
 * @returns {{ voter: string, vote?: number, choice?: number }}
 */
function storedBallot() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const fresh = { voter: [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
  try {
    const kept = JSON.parse(localStorage.getItem(STORE) ?? "null") ?? fresh;
    localStorage.setItem(STORE, JSON.stringify(kept));
    return kept;
  } catch {
    // Without browser storage, the ballot is kept in memory.
    return fresh;
  }
}

/**
 * Sends the voter's choice to the server.
 * @param {number} choice
 */
async function send(choice) {
  const vote = shown?.vote;
  const body = JSON.stringify({ vote, voter: own.voter, choice });
  try {
    const answer = await fetch("vote/ballot", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (!answer.ok) {
      say(await answer.text());
      return;
    }
  } catch {
    say("Not sent: no connection. Tap again.");
    return;
  }
  Object.assign(own, { vote, choice });
  try {
    localStorage.setItem(STORE, JSON.stringify(own));
  } catch { /* The ballot is then kept in memory. */ }
  draw();
}

/**
 * Shows a message in the status line.
 * @param {string} text
 */
function say(text) {
  const line = place.querySelector("[role=status]");
  if (line) line.textContent = text;
}

/** @type {(part: number, total: number) => string} */
const percent = (part, total) => `${total ? Math.round(100 * part / total) : 0}%`;

function draw() {
  if (!shown) return;
  const { status, question, choices, voters, counts, answer, shares, says, vote } = shown;
  const mine = own.vote === vote ? own.choice : undefined;
  /** @type {(name: string, part: string, kind?: string) => HTMLElement} */
  const bar = (name, part, kind = "") => {
    const made = element("div", { class: `bar ${kind}` }, element("span", {}, name), element("span", {}, part));
    made.style.setProperty("--part", part.replace(" ", ""));
    return made;
  };
  const listed = choices.map((choice, number) => {
    if (status === "open") {
      return element("button", { type: "button", "aria-pressed": String(number === mine), onclick: () => send(number) }, choice);
    }
    return element("div", { class: `choice ${number === mine ? "mine" : ""}` }, number === answer ? `✓ ${choice}` : choice,
      ...(counts ? [bar("audience", percent(counts[number], voters))] : []),
      ...(shares?.length ? [bar("model", percent(shares[number], 1), "model")] : []));
  });
  const line = {
    none: "No vote is open. Keep this page open: the next question appears here.",
    open: mine === undefined ? "Tap your answer." : "Your vote is in. You can change it until the vote is closed.",
    closed: `${mine === undefined ? "" : "Your vote is in. "}The vote is closed.`,
    revealed: `${mine === undefined ? "" : mine === answer ? "You were right. " : "You were wrong. "}${says ?? ""}`,
  }[status];
  place.replaceChildren(element("h1", {}, question || "Vote"), ...(status === "none" ? [] : listed),
    element("p", { role: "status" }, line));
}

/** @type {(milliseconds: number) => Promise<void>} */
const pause = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

async function follow() {
  for (;;) {
    try {
      const answer = await fetch(`vote/state?stage=${shown?.stage ?? ""}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const state = await answer.json();
      const same = state.stage === shown?.stage;
      shown = state;
      if (!same) draw();
      // A server that cannot hold more waiting requests answers at once, so the next request must wait here.
      else await pause(RETRY_DELAY);
    } catch {
      say("No connection. Trying again …");
      shown = undefined;
      await pause(RETRY_DELAY);
    }
  }
}

follow();
