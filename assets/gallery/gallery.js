// The gallery: every exhibit is a head, and sentences whose words have the colours of where it looks. All are links.

/**
 * A sentence, or only a head: where the link leads.
 * @typedef {{ label: string, href: string }} Destination
 * @typedef {{ before: string, looking: string, after: string, direction: "ltr" | "rtl", words: { label: string, weight: number, aim: boolean }[] }} Strip
 * @typedef {Destination & Strip & { about: string }} ExampleCard
 * @typedef {{ title: string, meaning: string, head: Destination, numbers: string, examples: ExampleCard[] }} ExhibitCard
 */

// Of the saved picture, in CSS pixels.
const WIDEST = 760;
// Frames in which a page that comes back may still be growing.
const GROWING = 40;
/** @type {{ top: number, back: boolean } | null} how far the page was scrolled when a link was followed, and whether Back was used since */
let left = null;
addEventListener("popstate", () => { if (left) left.back = true; });

class HeadGallery {
  /** @type {Server} */
  server;
  /** @type {string} what is shown */
  message;
  shades = shadesOf("viridis");
  /** @type {ExhibitCard[]} */
  exhibits = [];
  // The exhibit that a lecture shows.
  at = 0;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    this.root = Object.assign(element("div", { class: "gallery", "data-figure": "" }), {
      picture: (/** @type {number | null} */ width, /** @type {Theme | null} */ theme) => (
        galleryPicture(this.exhibits, width ?? Math.min(this.root.clientWidth, WIDEST), theme ?? themeOf(this.root), this.shades)),
    });
    parent.append(this.root);
    this.endSteps = onStep((by) => this.step(by));
  }

  close() {
    this.endSteps();
    this.root.remove();
  }

  /**
   * @param {{ exhibits: ExhibitCard[], lecture?: boolean }} data in a lecture, one exhibit is seen at a time
   */
  show({ exhibits, lecture = false }) {
    this.root.classList.toggle("lecture", lecture);
    const message = JSON.stringify(exhibits);
    // Shown again, a link would lose the focus.
    if (message === this.message) return;
    this.message = message;
    this.exhibits = exhibits;
    this.root.replaceChildren(...exhibits.map((exhibit, number) => this.card(exhibit, number)));
    this.step(0);
    this.root.dataset.drawn = "gallery";
    if (left?.back) this.scrollTo(left.top, GROWING);
    left = null;
  }

  // The part of the page that scrolls.
  get page() {
    const root = this.root.getRootNode();
    return root instanceof ShadowRoot ? root.host.closest("[data-testid=stMain]") : null;
  }

  /**
   * Scrolls once the page is long enough.
   * @param {number} top
   * @param {number} frames that it is waited for
   */
  scrollTo(top, frames) {
    const { page } = this;
    if (!page || !frames) return;
    page.scrollTop = top;
    // Streamlit scrolls a page that comes to its top.
    requestAnimationFrame(() => this.scrollTo(top, frames - 1));
  }

  /**
   * The next exhibit of a lecture, or the one before.
   * @param {number} by
   */
  step(by) {
    this.at = clamped(this.at + by, this.root.childElementCount);
    [...this.root.children].forEach((card, number) => card.classList.toggle("here", number === this.at));
  }

  /**
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
   * @param {ExampleCard} example
   * @param {number[]} place
   */
  sentence(example, place) {
    const { before, looking, after, direction, words, about } = example;
    const strip = words.map(({ label, weight, aim }) => tinted("span",
      { class: aim ? "word aim" : "word", dir: "auto", title: `${label}: ${weight.toFixed(4)}` }, this.shades, weight, label));
    return this.link(example, place, element("span", { class: "looks" }, before, element("b", { dir: "auto" }, looking), after),
      element("span", { class: "strip", dir: direction, "aria-hidden": "true" }, ...strip), element("span", { class: "about" }, about));
  }

  /**
   * @param {Destination} to
   * @param {number[]} place what the server is told when it is clicked
   * @param {(Node | string)[]} inside
   */
  link({ label, href }, place, ...inside) {
    return element("a", { href, "aria-label": label, onclick: (/** @type {MouseEvent} */ event) => {
      // With a key held, the browser opens a tab or a window.
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      left = { top: this.page?.scrollTop ?? 0, back: false };
      this.server.setTriggerValue("open", place);
    } }, ...inside);
  }
}
