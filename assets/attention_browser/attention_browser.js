// The attention browser. It draws the attention of all heads, and sends the user's choices to the server.

import { PALETTES, shadesOf, themeOf } from "../shared/colours.js";
import { element } from "../shared/element.js";
import { followInput } from "../shared/input.js";
import { keysDialog } from "../shared/keys.js";
import { mount, PaintedComponent } from "../shared/mount.js";
import { page } from "../shared/page.js";
import { CanvasSurface } from "../shared/surface.js";
import { SyncedState } from "../shared/synced_state.js";
import { unpack } from "../shared/wire.js";
import { arrange } from "./arrangement.js";
import { Description } from "./description.js";
import { exportPartsOf, save } from "./exports.js";
import { gridGeometry, markGrid } from "./grid.js";
import { ATTENTION_KEYS, press } from "./keys.js";
import { picturedFigure } from "./large_figure.js";
import { zoomedSurface } from "./lecture_map.js";
import { LectureView } from "./lecture.js";
import { pinnedCell, pinnedIn, withPin } from "./pins.js";
import { followPointer } from "./pointer.js";
import { READING_HINTS, LINE_HINTS } from "./readout.js";
import { SmallMaps } from "./small_maps.js";
import { attentionToolbar } from "./toolbar.js";
import { lightGrid, linksOfWord, wordLinks } from "./word_links.js";
/** @import { Picture } from "../figures/svg_file.js" */
/** @import { Colour, Theme } from "../shared/colours.js" */
/** @import { InputKind } from "../shared/input.js" */
/** @import { Arranged, Choice, KindData, Metric, Pinned, Place } from "./arrangement.js" */
/** @import { GridGeometry, Head } from "./grid.js" */
/** @import { LinesGeometry } from "./lines.js" */
/** @import { MapGeometry } from "./map_geometry.js" */
/** @import { WordLinks } from "./word_links.js" */

export class AttentionBrowser extends PaintedComponent {
  /** @type {ArrayBuffer | Uint8Array<ArrayBuffer>} the server's last message, still packed */
  bytes;
  /** @type {KindData} the unpacked message; undefined until the first message arrives */
  data;
  /** @type {Choice} */
  choice;
  /** @type {Theme} */
  theme;
  /** @type {Colour[]} */
  shades;
  /** @type {Metric | null} the metric that the bars below the heads show */
  metric;
  /** @type {GridGeometry} */
  gridGeometry;
  /** @type {MapGeometry | LinesGeometry} */
  geometry;
  smallMaps = new SmallMaps();
  synced = new SyncedState(this, "choice", () => {
    const { heads, ...choice } = this.choice;
    return { ...choice, id: this.data.header.id };
  });
  /** @type {Place | null} the cell, row or column of the large figure that the pointer or the keyboard has reached */
  hover = null;
  /** @type {Head & Place | null} the head and the cell, row or column under the pointer, if it is over a small map */
  hoveredHead = null;
  /** @type {WordLinks | null} links of the word under the pointer, or of the pinned word */
  links = null;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "atlas" }));
    this.toolbar = attentionToolbar((part) => this.change(part), (head) => this.toggleHead(head),
      (format, options) => save(this, format, options), () => this.exportsAll(), () => this.keys.showModal());
    this.large = element("canvas", { class: "large", tabindex: 0, role: "application" });
    this.grid = element("canvas", { class: "grid", tabindex: 0, role: "application" });
    this.description = new Description(this);
    this.keys = keysDialog(this.keyList());
    this.figure = element("div", { class: "figure" }, this.large);
    const { lit, legend, readout, noteLine, ranking } = this.description;
    this.overview = element("div", { class: "overview" }, lit, this.grid, legend);
    // map.css arranges these parts side by side or one below the other.
    this.stage = element("div", { class: "stage" }, this.overview, this.figure, this.toolbar, readout, noteLine, ranking);
    this.lecture = new LectureView(this);
    this.root.append(this.lecture.head, this.stage, this.description.spoken, this.keys);
    this.input = followInput(this.root);
    this.listen();
    document.addEventListener("attentionword", this.follow);
    this.leaving.push(() => document.removeEventListener("attentionword", this.follow), () => this.synced.leave());
  }

  // Redraws the small maps when the user points at a word elsewhere on the page.
  follow = () => { if (this.data?.header.glance) this.draw(); };

  /**
   * Shows new data from the server, or the same data in another theme.
   * @param {ArrayBuffer | Uint8Array<ArrayBuffer>} bytes
   * @param {Choice} [choice] the choice with which an exported file opens
   */
  async show(bytes, choice) {
    const fresh = bytes !== this.bytes;
    this.bytes = bytes;
    if (fresh) {
      const data = await this.read(bytes);
      if (bytes !== this.bytes) return; // Newer data has arrived in the meantime.
      const { header } = data;
      const before = this.data?.header;
      this.data = data;
      // If the message's number is new, the server sets the choice, for example from a link. If not, the choice stays.
      const asks = header.asked.number !== this.synced.number;
      if (asks) this.synced.take(header.asked.number, { heads: [], ...(choice ?? header.asked.choice) });
      if (header.id !== this.synced.known.id) {
        // Pins are positions in one sentence, so a new sentence clears them.
        Object.assign(this.choice, { rows: [], columns: [] });
        Object.assign(this.synced.known, { rows: [], columns: [], id: header.id });
      }
      // The hovered cell belongs to the previous choice, sentence or attention kind, so it is cleared.
      if (asks || header.id !== before.id || header.kind !== before.kind) this.hover = this.hoveredHead = null;
    }
    if (!this.data) return;
    this.root.classList.toggle("glance", this.data.header.glance);
    this.smallMaps.forget();
    this.draw();
  }

  /**
   * Unpacks the bytes that the server sent.
   * @param {ArrayBuffer | Uint8Array<ArrayBuffer>} bytes
   * @returns {Promise<KindData>}
   */
  async read(bytes) {
    return { ...await unpack(bytes), arranged: new Map() };
  }

  // Returns the keyboard shortcuts, each with a description.
  keyList() {
    return ATTENTION_KEYS;
  }

  /**
   * Returns hints on using the large figure, one for each input device.
   * @returns {Record<InputKind, string>}
   */
  invitations() {
    return this.choice.look === "lines" ? LINE_HINTS : READING_HINTS;
  }

  // Returns the hint that is shown while nothing is pointed at or pinned.
  invitation() {
    return this.invitations()[this.input.kind];
  }

  // Returns whether the data for an HTML file with all kinds of attention has arrived.
  exportsAll() {
    return exportPartsOf(this.data.header) !== null;
  }

  // Limits the choice to layers, heads, tokens, metrics and palettes that exist, and returns it.
  validChoice() {
    const { layers, heads, queries, keys, metrics } = this.data.header;
    const choice = this.choice;
    choice.layer = Math.min(choice.layer, layers - 1);
    choice.head = Math.min(choice.head, heads - 1);
    choice.rows = choice.rows.filter((row) => row < queries);
    choice.columns = choice.columns.filter((column) => column < keys);
    if (!metrics.some(({ key }) => key === choice.metric)) choice.metric = "";
    if (!(choice.palette in PALETTES)) choice.palette = "viridis";
    return choice;
  }

  /** @param {Partial<Choice>} part */
  change(part) {
    Object.assign(this.choice, part);
    // If the user chooses a head, the text describes it, even if the pointer is on another head.
    if ("layer" in part || "head" in part) this.hoveredHead = null;
    // Rows and columns are renumbered, so the hovered row or column would be wrong or missing.
    if ("words" in part || "hide" in part) this.hover = null;
    this.draw();
    this.description.say();
    this.synced.send();
  }

  /** @param {number} head */
  toggleHead(head) {
    if (head === this.choice.head) return;
    const { heads } = this.choice;
    this.change({ heads: heads.includes(head) ? heads.filter((other) => other !== head) : [...heads, head] });
  }

  /**
   * Returns the rows and columns of this arrangement that contain pinned tokens.
   * @param {Arranged} arranged
   * @returns {Pinned}
   */
  selected(arranged) {
    return pinnedIn(this.choice, arranged);
  }

  /**
   * Pins or unpins the clicked cell, row or column. With `add`, the other pins stay.
   * @param {Place | null} hit
   * @param {boolean} add
   */
  pin(hit, add) {
    this.change(withPin(this.choice, this.arranged(), hit, add));
  }

  /**
   * Returns the cell, row or column under the pointer in the large figure, or else the pinned one. A row or column
   * stands for a word.
   * @returns {Place}
   */
  word() {
    return this.hover ?? pinnedCell(this.selected(this.arranged()));
  }

  arranged(layer = this.choice.layer, head = this.choice.head) {
    return arrange(this.data, this.choice, layer, head);
  }

  paint() {
    if (!this.data) return;
    const choice = this.validChoice();
    const { header } = this.data;
    this.theme = themeOf(this.root);
    this.shades = shadesOf(this.data.difference ? "difference" : choice.palette);
    this.lecture.reflect();
    this.metric = header.metrics.find(({ key }) => key === choice.metric) ?? null;
    this.links = header.glance ? linksOfWord(this.data, choice, page.attentionWord?.places[header.kind] ?? null)
      : header.quiet ? null : wordLinks(this.data, choice, this.word());
    if (!this.lecture.shown) this.drawOverview();
    if (!header.glance) {
      this.toolbar.reflect(choice, header);
      this.drawFigure();
    }
    this.describe();
    this.root.dataset.drawn = `${header.kind} ${header.id} ${choice.layer + 1} ${choice.head + 1}`;
  }

  drawOverview() {
    const { header } = this.data;
    const { choice, theme, shades, metric } = this;
    const density = window.devicePixelRatio;
    const geometry = gridGeometry(header, this.overview.clientWidth, Boolean(metric), this.stacked());
    const surface = new CanvasSurface(this.grid, geometry.width, geometry.height, density);
    this.smallMaps.draw(surface, geometry, density, { data: this.data, choice, shades, theme, metric });
    if (this.links) lightGrid(surface, geometry, this.links, theme);
    markGrid(surface, geometry, this.chooses() ? choice : null, this.hoveredHead, theme);
    this.gridGeometry = geometry;
    this.grid.setAttribute("aria-label", `${header.title}: a grid of ${header.layers} layers by ${header.heads} heads. `
      + `Layer ${choice.layer + 1}, head ${choice.head + 1} is chosen; arrow keys choose another head.`);
  }

  // Returns whether the screen is so narrow that the grid is above the large figure. The small maps then have their
  // minimum height, which leaves room for the figure.
  stacked() {
    return !this.data.header.glance && this.figure.offsetLeft === this.overview.offsetLeft;
  }

  drawFigure() {
    const { large } = this;
    const { arranged, geometry, draw } = this.pictured();
    const { zoom } = this.lecture;
    draw(zoomedSurface(large, geometry, zoom));
    this.geometry = geometry;
    const { choice, data: { header } } = this;
    large.setAttribute("aria-label", `${header.title}, layer ${choice.layer + 1}, head ${choice.head + 1}, `
      + `${arranged.rows.length} by ${arranged.columns.length}. Use the arrow keys to read the cells.`);
  }

  /**
   * Returns the large figure: its content, its geometry, and a function that draws it on a surface.
   * @param {number} width in CSS pixels; 0 means the width on the screen
   * @param {Theme} theme
   * @returns {Picture & { arranged: Arranged, geometry: MapGeometry | LinesGeometry }}
   */
  pictured(width = 0, theme = this.theme) {
    return picturedFigure(this, width, theme);
  }

  // Returns whether the grid marks the chosen head. Without a large figure, it does so only with keyboard focus.
  chooses() {
    return !this.data.header.glance || this.grid.matches(":focus-visible");
  }

  describe() {
    this.description.reflect();
  }

  listen() {
    followPointer(this);
    this.grid.onfocus = this.grid.onblur = () => this.draw();
    this.root.onkeydown = (event) => press(this, event);
  }

  /**
   * Chooses a head in the grid. If there is only the grid, the head opens on the page of its attention kind.
   * @param {Head} head
   */
  open({ layer, head }) {
    if (this.data.header.glance) this.server.setTriggerValue("open", { layer, head });
    else this.change({ layer, head });
    // On a phone, the map scrolls into view, so that the user sees it change.
    if (this.stacked()) this.figure.scrollIntoView({ block: "nearest" });
  }
}

export default mount(AttentionBrowser);
