// Decoding step by step: stores the user's settings, shows the translation, and sends the settings to the server.

import { saveable } from "../figures/saveable.js";
import { onStep } from "../shared/clicker.js";
import { shadesOf } from "../shared/colours.js";
import { element } from "../shared/element.js";
import { headKeys, isShortcut, keysDialog } from "../shared/keys.js";
import { mount, PaintedComponent } from "../shared/mount.js";
import { Player } from "../shared/player.js";
import { SyncedState } from "../shared/synced_state.js";
import { term } from "../shared/terms.js";
import { unpack } from "../shared/wire.js";
import { attentionRows } from "./attention_rows.js";
import { logitLens } from "./logit_lens.js";
import { stepPicture } from "./picture.js";
import { settings, STEP_KEYS } from "./settings.js";
import { STEP_DURATION, stepControls, timeline } from "./timeline.js";
import { NATS, probabilityOf, sentenceOfStep, Translation } from "./translation.js";
import { tree } from "./tree.js";
import { candidates, translations } from "./what_if.js";
/** @import { Colour } from "../shared/colours.js" */
/** @import { Decoded, StepsParams } from "./translation.js" */

/**
 * If one of these settings changes, the server decodes again. All other settings change only what is shown.
 * @type {(keyof Decoded)[]}
 */
const DECODING_FIELDS = ["method", "beam_size", "length_penalty", "temperature", "top_k", "top_p", "seed", "forced", "suppressed"];

// Maximum width of the saved picture, in CSS pixels.
const WIDEST_PICTURE = 900;

class DecodingSteps extends PaintedComponent {
  /** @type {ArrayBuffer | Uint8Array} the bytes as they arrived */
  bytes;
  /** @type {Translation} the unpacked bytes; undefined until the first message arrives */
  translation;
  /** @type {StepsParams} */
  params;
  /** @type {Translation | null} the translation shown by the timeline and the list of translations */
  filled = null;
  /** @type {Colour[]} */
  shades = shadesOf("viridis");
  speed = 1;
  player = new Player({
    count: () => this.translation.count, at: () => this.params.step, pace: () => STEP_DURATION / this.speed,
    show: (step) => { this.params.step = step; this.draw(); },
    changed: () => { if (this.player.playing) this.draw(); else this.view({}); },
  });
  synced = new SyncedState(this, "params", () => ({ ...this.params }));

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "steps" }));
    /** @param {number} step */
    const go = (step) => this.go(step);
    this.timeline = timeline(go);
    this.transport = stepControls({
      go, toggle: () => this.player.toggle(), hesitate: () => this.go(this.translation.hesitation),
      restart: () => this.ask("restart"), pace: (speed) => { this.speed = speed; if (this.player.playing) this.player.play(); },
    });
    this.keys = keysDialog(STEP_KEYS);
    this.settings = settings((part) => this.decode(part), (part) => this.view(part), {
      showKeys: () => this.keys.showModal(), showTree: () => this.tree.scrollIntoView({ block: "start" }),
    });
    this.translations = translations({
      follow: (params, parts) => this.decode(params, parts ?? this.params.step),
      readElsewhere: () => this.ask("read"), release: () => this.decode({ forced: [] }),
      allow: (token) => this.decode({ suppressed: this.params.suppressed.filter((other) => other !== token) }),
    });
    this.heading = element("h3", { class: "in-out" });
    this.numbers = element("p", { class: "numbers" });
    this.says = element("p", { class: "says", "aria-live": "polite" });
    this.candidates = candidates({
      take: (token) => this.take(token), ban: (token) => this.ban(token),
      type: (text) => this.type(text),
    });
    this.attentionRows = attentionRows((part) => this.view(part));
    this.layers = logitLens();
    this.tree = tree({ look: (node) => this.view({ node }),
      follow: (forced, step) => this.decode({ forced, suppressed: [] }, step) });
    this.root.append(this.timeline, this.transport, this.settings, this.translations,
      element("div", { class: "now" }, this.heading, this.numbers, this.says),
      element("div", { class: "stage" }, this.candidates, element("div", {}, this.attentionRows, this.layers)),
      this.tree, this.keys);
    saveable(this.root, (width, theme) => stepPicture(this.translation, this.params, width, theme, this.shades),
      { name: "decoding-steps", widest: WIDEST_PICTURE });
    this.root.onkeydown = (event) => this.press(event);
    const endSteps = onStep((by) => this.step(by), { amongSlides: true });
    this.leaving.push(endSteps, () => this.player.close(), () => this.synced.leave());
  }

  /** @param {ArrayBuffer | Uint8Array} bytes */
  async show(bytes) {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      const translation = new Translation(await unpack(bytes));
      if (bytes !== this.bytes) return; // Newer data has arrived in the meantime.
      // A new request number means that the server sends settings to use, for example those in a link. Otherwise, the
      // user's settings are kept.
      if (translation.asked.number !== this.synced.number) {
        this.player.pause();
        this.synced.take(translation.asked.number, translation.asked.params);
      }
      this.root.classList.toggle("lecture", translation.lecture);
      this.translation = translation;
      this.filled = null;
    }
    this.draw();
  }

  // Returns the IDs of all tokens written before the current step.
  before() {
    return this.translation.steps.slice(0, this.params.step).map(({ id }) => id);
  }

  /**
   * Pauses playback and shows the given step, or the first or last step if `step` is out of range.
   * @param {number} step
   */
  go(step) {
    this.player.pause();
    this.view({ step: Math.min(this.translation.count - 1, Math.max(0, step)) });
  }

  /**
   * Moves to the next or previous step when the lecturer presses the clicker. Returns whether the step has changed.
   * @param {number} by
   */
  step(by) {
    if (!this.translation || !this.root.classList.contains("lecture")) return false;
    const step = this.params.step + by;
    if (step < 0 || step >= this.translation.count) return false;
    this.go(step);
    return true;
  }

  /**
   * Forces a token at the current step, and decodes again.
   * @param {number} token
   */
  take(token) {
    this.decode({ forced: [...this.before(), token] });
  }

  /**
   * Bans a token from the current step on, or allows it again.
   * @param {number} token
   */
  ban(token) {
    const { suppressed } = this.params;
    const others = suppressed.filter((other) => other !== token);
    if (others.length < suppressed.length) {
      this.decode({ suppressed: others });
      return;
    }
    // Tokens forced at this and later steps stay forced, up to the banned token.
    const forced = this.params.forced.slice(this.params.step);
    const remaining = forced.includes(token) ? forced.slice(0, forced.indexOf(token)) : forced;
    this.decode({ forced: [...this.before(), ...remaining], suppressed: [...suppressed, token].sort((a, b) => a - b) });
  }

  /**
   * Sends a typed word. The server splits it into tokens and answers with a translation in which these
   * tokens begin at this step.
   * @param {string} text
   */
  type(text) {
    this.player.pause();
    this.synced.cancel();
    this.server.setTriggerValue("typed", { ...this.params, forced: this.before(), node: 0, text });
  }

  /**
   * Sends the server a request that carries no data.
   * @param {"restart" | "read"} what
   */
  ask(what) {
    this.player.pause();
    this.synced.cancel();
    this.server.setTriggerValue(what, true);
  }

  /**
   * Changes the view of this translation.
   * @param {Partial<StepsParams>} part
   */
  view(part) {
    Object.assign(this.params, part);
    this.draw();
    this.synced.send();
  }

  /**
   * Requests another translation. The model chooses all tokens that are not forced, even if the user had entered the
   * current translation.
   * @param {Partial<StepsParams>} part
   * @param {number} step
   */
  decode(part, step = this.params.step) {
    this.player.pause();
    Object.assign(this.params, { node: 0, search: true }, part, { step });
    this.draw();
    this.synced.send(0);
  }

  paint() {
    if (!this.translation) return;
    const { translation, params } = this;
    params.layer = Math.min(params.layer, translation.layers - 1);
    params.head = Math.min(params.head, translation.heads - 1);
    const busy = DECODING_FIELDS.some((name) => JSON.stringify(params[name]) !== JSON.stringify(translation.params[name]));
    this.root.classList.toggle("busy", busy);
    const step = Math.min(params.step, translation.count - 1);
    if (!busy) params.step = step;
    const theme = { shades: this.shades, text: getComputedStyle(this.root).color };
    if (this.filled !== translation) {
      this.timeline.fill(translation, theme.shades);
      this.translations.reflect(translation);
      this.filled = translation;
    }
    this.translations.wait(busy);
    this.timeline.mark(step);
    this.transport.reflect(step, translation.count, this.player.playing);
    this.settings.reflect(params, translation);
    this.describe(translation, step);
    this.candidates.reflect(translation, step);
    this.attentionRows.reflect(translation, { ...params, step }, theme);
    this.layers.reflect(translation, step);
    this.tree.reflect(translation, params, theme.shades);
    this.root.dataset.drawn = `${translation.id} ${step + 1}${busy ? " busy" : ""}`;
  }

  /**
   * Writes the tokens, numbers and description of a step.
   * @param {Translation} translation
   * @param {number} step
   */
  describe(translation, step) {
    const { logProb, rank, out, forced } = translation.steps[step];
    this.heading.replaceChildren("in: ", element("b", { dir: "auto" }, translation.read[translation.before + step]), " → out: ", element("b", { dir: "auto" }, out));
    this.numbers.replaceChildren(`probability ${probabilityOf(logProb)}, rank ${rank}, `,
      term("log-probability", "log-probability"), ` ${NATS(logProb)} `, term("nats", "nats"),
      `; sum ${NATS(translation.scoreAt(step))} so far, ${NATS(translation.scoreAt(translation.count - 1))} for all tokens`
        + (forced ? "; this token is forced" : ""));
    this.says.textContent = sentenceOfStep(translation, step);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (!this.translation || !isShortcut(event, this.keys)) return;
    const { params, translation } = this;
    /** @type {Record<string, () => void>} */
    const actions = {
      "ArrowLeft": () => this.go(params.step - 1), "ArrowRight": () => this.go(params.step + 1),
      "Home": () => this.go(0), "End": () => this.go(translation.count - 1),
      "h": () => this.go(translation.hesitation), "?": () => this.keys.showModal(),
      ...headKeys(params, translation, (part) => this.view(part)),
    };
    const act = actions[event.key];
    const index = /^[0-9]$/.test(event.key) ? (Number(event.key) + 9) % 10 : -1;
    const candidate = translation.steps[params.step]?.candidates[index];
    // The space bar presses the focused button. In the timeline, it plays or pauses instead.
    if (event.key === " " && (event.target === this.root || this.timeline.contains(/** @type {Node} */ (event.target)))) {
      this.player.toggle();
    } else if (candidate) {
      this.take(candidate[0]);
    } else if (act) {
      act();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

export default mount(DecodingSteps);
