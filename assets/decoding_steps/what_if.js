// Shows alternatives: a step's candidates with buttons to take or ban them, a box for typing another token, and the
// visited translations.

import { keepingFocus } from "../shared/controls.js";
import { quote } from "../shared/direction.js";
import { element } from "../shared/element.js";
import { typeset } from "../shared/numbers.js";
import { term } from "../shared/terms.js";
import { candidatesOf, NATS, probabilityOf, roughProbability } from "./translation.js";
/** @import { Candidate, Decoded, Translation, Visited } from "./translation.js" */

/**
 * Returns the list of a step's candidates.
 * @param {{ take: (token: number) => void, ban: (token: number) => void, type: (text: string) => void }} act
 */
export function candidates({ take, ban, type }) {
  const list = element("ol", { class: "candidates" });
  const covered = element("p", { class: "note" });
  const typed = element("input",
    { type: "text", "aria-label": "Another token or word", placeholder: "or type a word …" });
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    if (typed.value.trim()) type(typed.value);
  };
  const form = element("form", { class: "typed", onsubmit: submit }, typed,
    element("button", { type: "submit" }, "Take it"));
  const part = element("section", { class: "what-if" },
    element("h4", {}, "Candidates"), list, covered, form);

  /**
   * Returns the list item of a candidate, with buttons that take or ban it.
   * @param {Candidate} candidate
   * @param {number} index
   * @param {{ id: number, banned: Set<number> }} step
   */
  function candidate([token, label, logProb], index, { id, banned }) {
    const bar = element("span", { class: "amount" });
    bar.style.width = `${100 * Math.exp(logProb)}%`;
    const key = index < 10 ? ` (key ${(index + 1) % 10})` : "";
    const row = element("li", {},
      element("button", {
        type: "button", class: "take", "aria-pressed": String(token === id), onclick: () => take(token),
        title: `probability ${probabilityOf(logProb)}, log-probability ${typeset(logProb, 4)} nats; continue with this token${key}`,
      }, element("span", { class: "name", dir: "auto" }, label), element("span", { class: "scale" }, bar),
      element("span", { class: "number" }, roughProbability(logProb))),
      element("button", {
        type: "button", class: "ban", "aria-pressed": String(banned.has(token)), onclick: () => ban(token),
        "aria-label": `Ban ${label} from here on`, title: "Ban this token from here on",
      }, "⊘"));
    row.classList.toggle("banned", banned.has(token));
    return row;
  }

  /** @type {(translation: Translation, step: number) => void} */
  const reflect = (translation, step) => keepingFocus(list, "button", () => {
    const { candidates: likeliest, id, rank, entropy } = translation.steps[step];
    const banned = new Set(translation.suppressed.map(([token]) => token));
    const listed = candidatesOf(translation.steps[step]);
    list.replaceChildren(...listed.map((each, index) => candidate(each, index, { id, banned })));
    const sum = likeliest.reduce((total, each) => total + Math.exp(each[2]), 0);
    const these = listed.length > likeliest.length ? `The last candidate has rank ${rank}. The ${likeliest.length} above it` : "These candidates";
    covered.replaceChildren(`${these} cover ${(100 * sum).toFixed(1)}% of the probability; the `,
      term("entropy", "entropy"), ` over all tokens is ${entropy.toFixed(2)} `, term("nats", "nats"), ".");
  });
  return Object.assign(part, { reflect });
}

/**
 * Returns the visited translations as a list, the first one on top, with the forced and the banned tokens below the
 * list. In all other translations, the part that differs from the first one is marked.
 * @param {{
 *   follow: (params: Decoded, parts: number | null) => void, readElsewhere: () => void, release: () => void,
 *   allow: (token: number) => void,
 * }} act
 */
export function translations({ follow, readElsewhere, release, allow }) {
  const title = element("h4");
  const elsewhere = element("button", { type: "button", onclick: readElsewhere,
    title: "Makes all other pages, such as Masked attention and Cross attention, use this translation" },
  "Use this translation on all pages");
  const head = element("div", { class: "translations-head" }, title, elsewhere);
  const list = element("ol", { class: "translations", "aria-label": "Translations tried" });
  const forcedWords = element("span");
  const forced = element("p", { class: "forced-tokens" }, forcedWords, " ", term("?", "teacher forcing"), " ",
    element("button", { type: "button", onclick: release }, "Let the model choose"));
  const banned = element("p", { class: "banned-tokens" });
  const part = element("div", {}, head, list, forced, banned);

  /**
   * Returns the list item of a visited translation. A click shows this translation again.
   * @param {Visited} visited
   */
  function translation({ common, own, current, read, how, logProb, count, params, parts }) {
    return element("li", {}, element("button", {
      type: "button", "aria-pressed": String(current), onclick: () => follow(params, parts),
      title: parts === null ? "the first translation" : `differs from the first translation starting at step ${parts + 1}`,
    }, element("span", { class: "words", dir: "auto" }, common, element("mark", {}, own)),
    element("span", { class: "number" }, `${how} · ${NATS(logProb)} nats · ${count} tokens`,
      ...(read ? [element("span", { class: "read" }, " · used on the other pages")] : []))));
  }

  // Scrolls the list until the current translation is visible.
  function reveal() {
    const shown = list.querySelector("[aria-pressed=true]");
    if (!shown) return;
    const [own, room] = [shown, list].map((each) => each.getBoundingClientRect());
    if (own.bottom > room.bottom) list.scrollTop += own.bottom - room.bottom + 4;
    if (own.top < room.top) list.scrollTop -= room.top - own.top + 4;
  }

  /**
   * Disables "Use this translation on all pages" while the server computes another translation.
   * @type {(busy: boolean) => void}
   */
  const wait = (busy) => { elsewhere.disabled = busy; };

  /** @type {(translation: Translation) => void} */
  const reflect = ({ translations: taken, suppressed, forced: beginning, readable, count, noun }) => {
    list.hidden = head.hidden = taken.length < 2;
    title.textContent = `${noun === "translation" ? "Translations" : "Continuations"} tried: ${taken.length}`;
    elsewhere.hidden = !readable || taken.some(({ current, read }) => current && read);
    keepingFocus(list, "button", () => list.replaceChildren(...taken.map(translation)));
    reveal();
    forced.hidden = !beginning;
    if (beginning) {
      const all = beginning.count === count;
      const tokens = beginning.count === 1 ? "first token" : `first ${beginning.count} tokens`;
      forcedWords.replaceChildren(...(beginning.given
        ? ["Forced from beginning to end: this translation was given, and the model only reads it."]
        : [`Forced with every decoding method: ${all ? "all tokens" : `the ${tokens}`}, `, element("b", {}, quote(beginning.text)), "."]));
    }
    banned.hidden = !suppressed.length;
    banned.replaceChildren("Banned: ", ...suppressed.flatMap(([token, label]) => [element("button", {
      type: "button", "aria-label": `Allow ${label} again`, title: "Allow it again", onclick: () => allow(token),
    }, `${label} ×`), " "]));
  };
  return Object.assign(part, { reflect, wait });
}
