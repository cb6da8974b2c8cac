// The Transformer as a drawing whose boxes are links to the pages: small in the head of every page, where it says which
// part is open, and large on the first one, with the reader's sentence, its translation, and three maps of its attention.
// On the page Inside a layer, its boxes are the parts that a sentence goes through there.

/** @typedef {{ here: string, stages: Record<string, string> }} PartsMessage the first stage of each part */

// Small: the pages that are steps of the way from the sentence to the translation, by their own names; two rows, the
// encoder's below the decoder's as in the paper. Each box: page, name, place and width.
const SMALL_WIDTH = 368;
const SMALL_HEIGHT = 54;
/** @type {[string, string, number, number, number][]} */
const SMALL_BOXES = [
  ["masked_attention", "Masked attention", 0, 0, 112],
  ["cross_attention", "Cross attention", 120, 0, 104],
  ["decoding", "Decoding step by step", 232, 0, 136],
  ["translate", "Translate", 0, 29, 72],
  ["positional_encoding", "Positional encoding", 80, 29, 126],
  ["encoder_attention", "Encoder attention", 214, 29, 118],
];
const SMALL_BOX = { height: 25 };

// Parts of the model, as the paper stacks them: name of the part, label, place.
const PARTS_WIDTH = 330;
const PARTS_HEIGHT = 148;
/** @type {[string, string, number, number][]} */
const PARTS_BOXES = [
  ["encoder.", "Into the encoder", 1, 119],
  ["encoder.self_attention.", "Encoder attention", 1, 90],
  ["encoder.feed_forward.", "Feed-forward", 1, 61],
  ["decoder.", "Into the decoder", 181, 119],
  ["decoder.self_attention.", "Masked attention", 181, 90],
  ["decoder.cross_attention.", "Cross attention", 181, 61],
  ["decoder.feed_forward.", "Feed-forward", 181, 32],
  ["generator.", "To the word", 181, 3],
];
const PARTS_BOX = { width: 148, height: 23 };
// Of a language model: one stack, and nothing beside it.
/** @type {[string, string, number, number][]} */
const PARTS_OF_ONE_STACK = [
  ["decoder.", "Into the model", 91, 119],
  ["decoder.self_attention.", "Masked attention", 91, 83],
  ["decoder.feed_forward.", "Feed-forward", 91, 47],
  ["generator.", "To the next piece", 91, 11],
];

function smallDrawing() {
  const { height } = SMALL_BOX;
  return [
    arrowHead(),
    arrow([72, 41.5], [79, 41.5]), arrow([206, 41.5], [213, 41.5]), arrow([219, 29], [219, 26]),
    arrow([112, 12.5], [119, 12.5]), arrow([224, 12.5], [231, 12.5]),
    ...SMALL_BOXES.map(([page, name, x, y, width]) =>
      linkBox(page, name, { x, y, width, height }, svgText(name, x + width / 2, y + 17))),
  ];
}

/** @param {PartsMessage} data */
function partsDrawing({ stages }) {
  const { width, height } = PARTS_BOX;
  const source = "encoder." in stages;
  const boxes = source ? PARTS_BOXES : PARTS_OF_ONE_STACK;
  const upwards = boxes.filter(([part]) => !["encoder.feed_forward.", "generator."].includes(part));
  const gap = source ? 5 : 12;
  return [
    arrowHead(),
    ...upwards.map(([, , x, y]) => arrow([x + width / 2, y], [x + width / 2, y - gap])),
    ...(source ? [arrow([150, 72.5], [180, 72.5])] : []),
    ...boxes.map(([part, label, x, y]) => {
      const box = linkBox("inside_a_layer", label, { x, y, width, height }, svgText(label, x + width / 2, y + 16));
      Object.assign(box.dataset, { part, stage: stages[part] });
      return box;
    }),
  ];
}

class Diagram {
  /** @type {Server} */
  server;
  /** @type {DrawingMessage | PartsMessage | { here: string } | undefined} */
  data;
  /** @type {string} what is drawn */
  message;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    this.root = element("nav", { class: "diagram" });
    this.root.onclick = (event) => this.follow(event);
    // The address grows with every choice, and a link that is opened in another tab takes it along.
    this.root.onpointerover = () => this.address();
    this.root.addEventListener("focusin", () => this.address());
    parent.append(this.root);
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.root);
  }

  close() {
    this.resizing.disconnect();
    this.root.remove();
  }

  /** @param {DrawingMessage | PartsMessage | { here: string }} data */
  show(data) {
    this.data = data;
    this.draw();
  }

  draw() {
    const { data } = this;
    if (!data) return;
    // Out of sight, in a lecture, it has no width.
    const room = this.root.clientWidth || LEAST_ROOM;
    const places = room < LEAST_ROOM ? STACKED : SIDE_BY_SIDE;
    // What is drawn follows the theme by itself; drawn again, it would lose the focus.
    const message = JSON.stringify([data, "kinds" in data ? places : null]);
    if (message === this.message) return;
    this.message = message;
    const [shapes, width, height, name] = "kinds" in data
      ? [largeDrawing(data, places), places.width, places.height, "The Transformer, part by part"]
      : "stages" in data ? [partsDrawing(data), PARTS_WIDTH, PARTS_HEIGHT, "Which part of the Transformer this is"]
        : [smallDrawing(), SMALL_WIDTH, SMALL_HEIGHT, "Where you are in the Transformer"];
    this.root.setAttribute("aria-label", name);
    this.root.classList.toggle("small", !("kinds" in data));
    this.root.replaceChildren(svgElement("svg", { viewBox: `0 0 ${width} ${height}`, "data-figure": "" }, ...shapes));
    this.root.classList.toggle("lecture", "kinds" in data && Boolean(data.lecture));
    this.root.classList.toggle("stacked", "kinds" in data && places === STACKED);
    for (const link of this.links()) {
      const { part, page } = link.dataset;
      if ((part ?? page) === data.here) link.setAttribute("aria-current", part === undefined ? "page" : "step");
    }
    this.address();
    this.root.dataset.drawn = data.here;
  }

  /** @returns {SVGAElement[]} */
  links() {
    return [...this.root.querySelectorAll("a")].filter((link) => link instanceof SVGAElement);
  }

  address() {
    for (const link of this.links()) {
      const { page, stage } = link.dataset;
      const parameters = new URLSearchParams(location.search);
      if (stage !== undefined) parameters.set("inside_stage", stage);
      link.setAttribute("href", `${page === "translate" ? "./" : page}?${parameters}`);
    }
  }

  /**
   * As a link of the menus: the session goes along. With a key held, the browser opens a tab or a window.
   * @param {MouseEvent} event
   */
  follow(event) {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!(link instanceof SVGAElement) || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    this.server.setTriggerValue("open", link.dataset.stage ?? link.dataset.page);
  }
}
