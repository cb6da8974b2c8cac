// The gallery: each exhibit is a head with sentences, whose words are coloured by the head's attention. Heads and
// sentences are links.

import { saveable } from "../figures/saveable.js";
import { onStep } from "../shared/clicker.js";
import { shadesOf, tintedElement } from "../shared/colours.js";
import { clamped } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { opensElsewhere } from "../shared/input.js";
import { Component, mount } from "../shared/mount.js";
import { galleryPicture } from "./picture.js";

/**
 * The target of a link: a head, with or without a sentence.
 * @typedef {{ label: string, href: string }} Destination
 * @typedef {{ before: string, looking: string, after: string, direction: "ltr" | "rtl", words: { label: string, weight: number, aim: boolean }[] }} Strip
 * @typedef {Destination & Strip & { about: string }} ExampleCard
 * @typedef {{ title: string, meaning: string, head: Destination, numbers: string, examples: ExampleCard[] }} ExhibitCard
 */

// Maximum width of the saved picture, in CSS pixels.
const WIDEST = 760;
// Number of frames in which a page may still grow after the user returns to it.
const MAX_GROWING = 40;
/**
 * @type {{ top: number, back: boolean } | null} scroll position when a link was last followed, and whether the user
 * then went back
 */
let left = null;
addEventListener("popstate", () => { if (left) left.back = true; });

class HeadGallery extends Component {
  /** @type {string} the exhibits that are shown, as JSON */
  message;
  shades = shadesOf("viridis");
  /** @type {ExhibitCard[]} */
  exhibits = [];
  // Index of the exhibit that lecture mode shows.
  at = 0;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "gallery" }));
    saveable(this.root, (width, theme) => galleryPicture(this.exhibits, width, theme, this.shades), { widest: WIDEST });
    this.leaving.push(onStep((by) => this.step(by)));
  }

  /**
   * @param {{ exhibits: ExhibitCard[], lecture?: boolean }} data in lecture mode, one exhibit is visible at a time
   */
  show({ exhibits, lecture = false }) {
    this.root.classList.toggle("lecture", lecture);
    const message = JSON.stringify(exhibits);
    // Unchanged links are not replaced, because the focused link would lose the focus.
    if (message === this.message) return;
    this.message = message;
    this.exhibits = exhibits;
    this.root.replaceChildren(...exhibits.map((exhibit, number) => this.card(exhibit, number)));
    this.step(0);
    this.root.dataset.drawn = "gallery";
    if (left?.back) this.scrollTo(left.top, MAX_GROWING);
    left = null;
  }

  // The element of the page that scrolls.
  get page() {
    const root = this.root.getRootNode();
    return root instanceof ShadowRoot ? root.host.closest("[data-testid=stMain]") : null;
  }

  /**
   * Scrolls the page again in each frame, because the page may still grow, and Streamlit scrolls to the top when a page
   * opens.
   * @param {number} top
   * @param {number} frames number of frames in which to scroll
   */
  scrollTo(top, frames) {
    const { page } = this;
    if (!page || !frames) return;
    page.scrollTop = top;
    requestAnimationFrame(() => this.scrollTo(top, frames - 1));
  }

  /**
   * Shows the next or previous exhibit in lecture mode.
   * @param {number} by
   */
  step(by) {
    this.at = clamped(this.at + by, this.root.childElementCount);
    [...this.root.children].forEach((card, number) => card.classList.toggle("here", number === this.at));
  }

  /**
   * Returns the card of an exhibit: title, meaning, head and example sentences.
   * @param {ExhibitCard} exhibit
   * @param {number} number
   */
  card({ title, meaning, head, numbers, examples }, number) {
    return element("section", { "aria-label": title },
      element("h3", {}, title), element("p", {}, meaning),
      element("p", { class: "numbers" }, this.link(head, [number], head.label), numbers),
      element("ul", {}, ...examples.map((example, at) => element("li", {}, this.sentence(example, [number, at])))));
  }

  /**
   * Returns an example sentence as a link, with its words coloured by the head's attention.
   * @param {ExampleCard} example
   * @param {number[]} place
   */
  sentence(example, place) {
    const { before, looking, after, direction, words, about } = example;
    const strip = words.map(({ label, weight, aim }) => tintedElement("span",
      { class: aim ? "word aim" : "word", dir: "auto", title: `${label}: ${weight.toFixed(4)}` }, this.shades, weight, label));
    return this.link(example, place, element("span", { class: "looks" }, before, element("b", { dir: "auto" }, looking), after),
      element("span", { class: "strip", dir: direction, "aria-hidden": "true" }, ...strip), element("span", { class: "about" }, about));
  }

  /**
   * Returns a link that opens its page within the session.
   * @param {Destination} to
   * @param {number[]} place indices of the exhibit and, if any, of the example; a click sends them to the server
   * @param {(Node | string)[]} inside
   */
  link({ label, href }, place, ...inside) {
    return element("a", { href, "aria-label": label, onclick: (/** @type {MouseEvent} */ event) => {
      if (opensElsewhere(event)) return;
      event.preventDefault();
      left = { top: this.page?.scrollTop ?? 0, back: false };
      this.server.setTriggerValue("open", place);
    } }, ...inside);
  }
}

export default mount(HeadGallery);
