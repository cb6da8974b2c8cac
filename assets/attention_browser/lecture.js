// The attention browser in a lecture: one head as large as the screen, two lines above it, and nothing else.

/** @typedef {{ width: number, height: number | null }} Room in units; where the height is null, there is any */

/**
 * The strongest link of a head, to a word that is not the start or end symbol nor the one that looks.
 * @param {KindHeader} header
 * @param {Arranged} arranged
 * @returns {{ row: number, column: number } | null}
 */
function strongestLink({ kind, special }, { rows, columns, values, masked }) {
  let best = null;
  let most = 0;
  for (let row = 0, at = 0; row < rows.length; row++) {
    for (let column = 0; column < columns.length; column++, at++) {
      const { positions } = columns[column];
      const itself = kind !== "cross" && positions[0] === rows[row].positions[0];
      if (masked[at] || itself || values[at] <= most || positions.some((one) => special.includes(one))) continue;
      best = { row, column };
      most = values[at];
    }
  }
  return best;
}

class LectureView {
  /** @param {AttentionBrowser} browser */
  constructor(browser) {
    this.browser = browser;
    this.sentence = element("p", { class: "sentence" });
    this.says = element("p", { class: "look-for" });
    this.head = element("div", { class: "head", hidden: true }, this.sentence, this.says);
    this.endSteps = onStep((by) => this.step(by));
    this.onResize = () => { if (this.shown) this.browser.draw(); };
    addEventListener("resize", this.onResize);
  }

  close() {
    this.endSteps();
    removeEventListener("resize", this.onResize);
  }

  // "page" where it is all of the page, "figure" where words stand beside it; empty outside lectures.
  get shown() {
    const header = this.browser.data?.header;
    if (!header?.lecture || header.glance) return "";
    return header.beside ? "figure" : "page";
  }

  // How much larger than its units the figure is drawn.
  get zoom() {
    return this.shown ? lectureZoom() : 1;
  }

  /** @returns {Room} */
  room() {
    const { figure } = this.browser;
    if (!this.shown) return { width: figure.clientWidth, height: null };
    return lectureRoom(figure.clientWidth, figure.getBoundingClientRect().top);
  }

  // Before anything is measured: the lines take room from the figure.
  reflect() {
    const { browser } = this;
    browser.root.classList.toggle("lecture-page", this.shown === "page");
    browser.root.classList.toggle("lecture-figure", this.shown === "figure");
    this.head.hidden = this.shown !== "page";
    if (this.head.hidden) return;
    const { choice, data: { header } } = browser;
    const { kind, shown: { source, target } } = header;
    const title = { encoder: "Encoder", decoder: "Masked", cross: "Cross" }[kind];
    const text = { encoder: source, decoder: target, cross: `${source} → ${target}` }[kind];
    /** @type {(words: string) => void} */
    const say = (words) => this.sentence.replaceChildren(element("b", {}, `${title} attention: `), words);
    say(header.written ? `${source} → ${header.written}` : text);
    // The words of the sentence stand above the columns, too; what is written does not.
    const { scrollHeight, clientHeight } = this.sentence;
    if (scrollHeight > clientHeight + 1 && (kind === "cross" || header.written)) say(header.written || target);
    const name = header.names[choice.layer * header.heads + choice.head];
    this.says.replaceChildren(
      element("b", {}, `Layer ${choice.layer + 1}, head ${choice.head + 1}${name ? ` (${name})` : ""}: `), this.lookFor(),
      header.written ? ` (${header.version})` : "");
  }

  // What is pointed at or pinned, else the strongest link.
  lookFor() {
    const { browser } = this;
    const arranged = browser.arranged();
    const selected = browser.selected(arranged);
    const at = this.place(arranged);
    if (!at || browser.hover || selected.rows.size || selected.columns.size) {
      return described(arranged, browser.hover, selected);
    }
    const { row, column } = at;
    return `${named(arranged.rows, row, "row")} looks at ${named(arranged.columns, column, "column")}: `
      + typeset(arranged.values[row * arranged.columns.length + column], 2);
  }

  /**
   * The cell to look at, where nothing is pointed at or pinned.
   * @param {Arranged} arranged
   */
  place(arranged) {
    const { browser } = this;
    const { rows, columns } = browser.selected(arranged);
    if (!this.shown || rows.size || columns.size) return null;
    return strongestLink(browser.data.header, arranged);
  }

  /**
   * The next head or the one before, through all layers.
   * @param {number} by
   */
  step(by) {
    const { browser } = this;
    if (this.shown !== "page") return;
    const { layers, heads } = browser.data.header;
    const at = clamped(browser.choice.layer * heads + browser.choice.head + by, layers * heads);
    browser.change({ layer: Math.floor(at / heads), head: at % heads });
  }
}
