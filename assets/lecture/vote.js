// The lecturer's view of a vote: the question with the QR code, the result as bars, and the model's own answer.

import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";

/** @typedef {{ question: string, choices: string[], answer: number, shares: number[], says: string }} Asked */
/**
 * The message from the server (pages/ui/bets/vote.py).
 * @typedef {{ opened: boolean, address: string, image: string | null, problem: string, asked: Asked | null }} VoteMessage
 */
/** @import { ShownVote } from "../vote/phone.js" */

// Milliseconds to wait between requests for the vote's state, and before a retry after an error. The interval is long
// enough that the votes of a hundred phones arrive in a few updates.
const REQUEST_INTERVAL = 150;
const RETRY_DELAY = 2000;

class Vote extends Component {
  /** @type {VoteMessage | undefined} */
  data;
  /** @type {ShownVote | undefined} */
  state;
  /** @type {AbortController | undefined} */
  following;
  problem = "";

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "vote" }));
    this.dialog = element("dialog", { class: "vote-dialog", "aria-label": "Vote", onclose: () => this.leave() });
    this.root.append(element("button", { type: "button", class: "open-vote", title: "Let the audience vote",
      onclick: () => this.server.setTriggerValue("act", "open") }, "Vote"), this.dialog);
  }

  close() {
    this.following?.abort();
    super.close();
  }

  /** @param {VoteMessage} data */
  show(data) {
    this.data = data;
    if (data.opened && !this.dialog.open) {
      this.dialog.showModal();
      this.follow();
    }
    this.draw();
  }

  leave() {
    this.following?.abort();
    this.server.setTriggerValue("act", "close");
  }

  get path() {
    return new URL(this.data?.address ?? location.href).pathname;
  }

  async follow() {
    this.following?.abort();
    const { signal } = this.following = new AbortController();
    while (!signal.aborted) {
      let pause = REQUEST_INTERVAL;
      try {
        const { stage = "", voters = 0 } = this.state ?? {};
        const answer = await fetch(`${this.path}/state?stage=${stage}&voters=${voters}`, { signal });
        this.take(await answer.json());
      } catch {
        pause = RETRY_DELAY;
      }
      await new Promise((done) => { setTimeout(done, pause); });
    }
  }

  /**
   * Shows a new state of the vote.
   * @param {ShownVote} state
   */
  take(state) {
    this.state = state;
    this.draw();
  }

  /**
   * Sends the lecturer's action to the server, and shows the result or the error.
   * @param {Record<string, unknown>} act
   */
  async act(act) {
    try {
      const answer = await fetch(`${this.path}/act`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(act) });
      this.problem = answer.ok ? "" : await answer.text();
      if (answer.ok) this.take(await answer.json());
    } catch {
      this.problem = "No connection to the server. Try again.";
    }
    this.draw();
  }

  draw() {
    if (!this.data || !this.dialog.open) return;
    const { asked, address, image, problem } = this.data;
    const status = this.state?.status ?? "none";
    const shown = status === "none" ? asked : this.state;
    // Only the page that asked the question has the model's answer.
    const known = asked && asked.question === this.state?.question && String(asked.choices) === String(this.state.choices);
    /** @type {(label: string, onclick: () => void, name?: string) => HTMLElement} */
    const button = (label, onclick, name = "") => element("button", { type: "button", class: name, onclick }, label);
    const buttons = {
      none: asked ? [button("Open the vote", () => this.act({ act: "open", question: asked.question, choices: asked.choices }), "main")] : [],
      open: [button("Close the vote", () => this.act({ act: "close" }), "main")],
      closed: [
        ...(known ? [button("Reveal", () => this.act({ act: "reveal", answer: asked.answer, shares: asked.shares, says: asked.says }), "main")] : []),
        button("Another question", () => this.act({ act: "clear" }))],
      revealed: [
        element("a", { href: `${this.path}/results.csv`, download: "vote.csv" }, "Results as CSV"),
        button("Another question", () => this.act({ act: "clear" }), "main")],
    }[status];
    const voters = this.state?.voters ?? 0;
    const line = {
      none: asked ? "" : "This page has no question to vote on. The attention pages, “Decoding step by step”, “Switch heads off” and “What mattered” have one.",
      open: `${voters} ${voters === 1 ? "vote" : "votes"}`,
      closed: `Closed with ${voters} ${voters === 1 ? "vote" : "votes"}.${known ? "" : " To reveal the answer, open the page and the sentence of this question."}`,
      revealed: this.state?.says ?? "",
    }[status];
    // Phones can join until the vote is closed, so the QR code is shown until then.
    const scan = status === "none" || status === "open";
    const focus = this.dialog.querySelector(":focus")?.textContent;
    this.dialog.replaceChildren(
      element("h2", {}, shown?.question ?? "Vote"),
      element("div", { class: "room" },
        element("div", { class: "choices" }, ...(shown?.choices ?? []).map((choice, at) => this.choice(choice, at)),
          element("p", { role: "status" }, line)),
        ...(scan ? [element("div", { class: "scan" }, ...(image ? [element("img", { src: image, alt: `QR code for ${address}` })] : []),
          element("p", {}, problem || address.replace(/^https?:\/\//, "")))] : [])),
      ...(this.problem ? [element("p", { class: "problem", role: "alert" }, this.problem)] : []),
      element("div", { class: "buttons" }, ...buttons, button("Back to the page", () => this.dialog.close())));
    // The focus stays in the dialog, so that a clicker does not move the slide behind it.
    const main = this.dialog.querySelector("button.main") ?? this.dialog.querySelector("button");
    const again = [...this.dialog.querySelectorAll("button")].find((one) => one.textContent === focus) ?? main;
    if (again instanceof HTMLElement) again.focus();
  }

  /**
   * Returns the row of a choice, with the audience's bar and, once the answer is revealed, the model's bar.
   * @param {string} choice
   * @param {number} at
   */
  choice(choice, at) {
    const { counts, voters = 0, shares, answer } = this.state?.status === "none" ? {} : this.state ?? {};
    /** @type {(name: string, part: number, kind: string) => HTMLElement} */
    const bar = (name, part, kind) => {
      const made = element("div", { class: `line ${kind}` }, element("span", { class: "fill" }),
        element("span", { class: "part" }, `${name} ${Math.round(100 * part)}%`));
      made.style.setProperty("--part", String(part));
      return made;
    };
    return element("div", { class: answer === at ? "option right" : "option" },
      element("b", {}, answer === at ? `✓ ${choice}` : choice),
      ...(counts ? [bar("audience", voters ? counts[at] / voters : 0, "audience")] : []),
      ...(shares?.length ? [bar("model", shares[at], "model")] : []));
  }
}

export default mount(Vote);
