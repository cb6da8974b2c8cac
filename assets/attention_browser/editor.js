// The attention browser in which the user edits rows by clicking, by dragging, in a panel, or with keys.

import { CHOSEN_COLOUR } from "../shared/colours.js";
import { mount } from "../shared/mount.js";
import { arrange, entryName } from "./arrangement.js";
import { ChangedAttention } from "./changed_attention.js";
import { EDIT_KEYS, editByKey } from "./edit_keys.js";
import { EditPanel } from "./edit_panel.js";
import { affects, preview, NO_EDITS, parseEdits, withEdit, withShare, editsText } from "./edits.js";
import { ATTENTION_KEYS } from "./keys.js";
import { pinnedCell } from "./pins.js";
import { hitLarge } from "./pointer.js";
/** @import { Theme } from "../shared/colours.js" */
/** @import { InputKind } from "../shared/input.js" */
/** @import { Surface } from "../shared/surface.js" */
/** @import { Label, Place } from "./arrangement.js" */
/** @import { Edit, Span } from "./edits.js" */

const UNDO = "undo";
/** @type {Record<InputKind, string>} */
const EDITING_HINTS = {
  mouse: "Hover over a cell to read it.",
  touch: "Tap a cell to make its row look only there.",
  keys: "In the large figure, press arrow keys to read a cell, and Enter to make its row look only there.",
};
// In pixels: how far the pointer may move during a click, and the drag distance that changes a weight from 0 to 100%.
const CLICK_TOLERANCE = 5;
const FULL_DRAG = 240;

export class AttentionEditor extends ChangedAttention {
  /** @type {Edit[]} */
  edits = [];
  /** @type {string[]} lists of edits, as text, that the server has not answered yet */
  sent = [];
  /** @type {Edit | null} the edit that is shown until the server answers */
  pending = null;
  /** @type {{ at: { row: number, column: number }, x: number, share: number, moved: boolean } | null} */
  drag = null;
  undoing = false;
  refused = "";

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent);
    this.panel = new EditPanel(this);
    this.stage.prepend(this.panel.root);
  }

  /** @override */
  invitations() {
    return EDITING_HINTS;
  }

  /** @override */
  keyList() {
    return [...EDIT_KEYS, ...ATTENTION_KEYS.filter(([key]) => key !== "Enter" && !key.startsWith("Shift"))];
  }

  /**
   * @param {ArrayBuffer | Uint8Array<ArrayBuffer>} bytes
   * @override
   */
  async read(bytes) {
    const data = await super.read(bytes);
    const { header } = data;
    const received = parseEdits(header.edits ?? NO_EDITS);
    // If the user edits faster than the server answers, the latest edit stays visible until its answer arrives.
    this.sent = this.sent.slice(this.sent.indexOf(editsText(received)) + 1);
    if (!this.sent.length) {
      const before = new Set(this.edits.map((edit) => editsText([edit])));
      const made = received.findLast((edit) => !before.has(editsText([edit])));
      if (made) this.panel.follow(made);
      this.edits = received;
      // A response to an earlier click may arrive during a drag. It must not replace the dragged weight.
      if (!this.drag?.moved) this.pending = null;
      if (this.undoing) this.undo();
    }
    return data;
  }

  /** @override */
  listen() {
    super.listen();
    const { onmousemove } = this.large;
    this.large.onpointerdown = (event) => this.press(event);
    this.large.onmousemove = (event) => {
      if (this.drag) this.pull(event.offsetX);
      else onmousemove?.call(this.large, event);
    };
    this.large.onpointercancel = () => this.release();
    this.large.onclick = (event) => {
      const { drag } = this;
      this.drag = null;
      if (drag?.moved) this.give(this.pending?.shares.at(-1)?.percent ?? 0);
      else this.pin(hitLarge(this, event));
    };
    const { onkeydown } = this.root;
    this.root.onkeydown = (event) => {
      if (!editByKey(this, event)) onkeydown?.call(this.root, event);
    };
  }

  /**
   * Handles a click. A click on a cell makes its row look only there. A click on a label chooses its row or column.
   * @param {Place | null} hit
   * @override
   */
  pin(hit) {
    if (!hit) return;
    this.choose(hit);
    if (hit.row !== undefined && hit.column !== undefined) this.give(100);
  }

  /** @param {Place} hit */
  choose({ row, column }) {
    this.refused = "";
    const { rows, columns } = this.arranged();
    this.change({
      ...(row === undefined ? {} : { rows: [...rows[row].positions] }),
      ...(column === undefined ? {} : { columns: [...columns[column].positions] }),
    });
  }

  // The chosen row and column in the current arrangement.
  chosen() {
    return pinnedCell(this.selected(super.arranged()));
  }

  /** @param {PointerEvent} event */
  press(event) {
    const hit = event.button === 0 ? hitLarge(this, event) : null;
    if (hit?.row === undefined || hit.column === undefined || this.choice.look !== "map") return;
    const { columns, values, masked } = this.changed();
    const cell = hit.row * columns.length + hit.column;
    if (masked[cell]) return;
    this.large.setPointerCapture(event.pointerId);
    this.drag = { at: { row: hit.row, column: hit.column }, x: event.offsetX, share: values[cell], moved: false };
  }

  // Previews the weight that corresponds to the drag distance.
  /** @param {number} x */
  pull(x) {
    const { drag } = this;
    if (!drag || (!drag.moved && Math.abs(x - drag.x) < CLICK_TOLERANCE)) return;
    if (!drag.moved) {
      drag.moved = true;
      this.choose(drag.at);
    }
    this.preview(Math.round(100 * Math.min(1, Math.max(0, drag.share + (x - drag.x) / FULL_DRAG))));
  }

  release() {
    this.drag = null;
    this.pending = null;
    this.draw();
  }

  /**
   * Returns the edit that sets the weight of the chosen cell. Returns null if no cell is chosen, or if the chosen cell
   * is masked. In the latter case, `refused` is set to the reason.
   * @param {number} percent
   * @returns {Edit | null}
   */
  edited(percent) {
    const { row, column } = this.chosen();
    const { rows, columns, masked } = this.changed();
    if (row === undefined || column === undefined) return null;
    this.refused = masked[row * columns.length + column]
      ? `${entryName(rows, row, "row")} cannot look at ${entryName(columns, column, "column")}: the cell is masked, so its weight stays 0.` : "";
    if (this.refused) {
      this.draw();
      return null;
    }
    const edit = this.place(row);
    return { ...edit, shares: withShare(this.given(edit), this.span(columns[column]), percent) };
  }

  /** @param {Label} label */
  span({ positions }) {
    return /** @type {Span} */ ([positions[0], positions[positions.length - 1]]);
  }

  /**
   * Returns an edit to a row, with the scope that the user chose and with `shares` empty.
   * @param {number} row
   * @returns {Edit}
   */
  place(row) {
    const { layer, head } = this.choice;
    const { scope } = this.panel;
    return { kind: this.data.header.kind, layer: scope === "model" ? null : layer, head: scope === "head" ? head : null,
      rows: this.span(super.arranged().rows[row]), shares: [] };
  }

  /**
   * Returns whether an edit sets this row of the displayed head.
   * @param {Label} label
   */
  isGiven(label) {
    return this.edits.some((edit) => affects(edit, this.data.header.kind, this.choice, this.span(label)));
  }

  /**
   * Returns the weights that an earlier edit to the same rows and heads has set.
   * @param {Edit} edit
   */
  given({ kind, layer, head, rows }) {
    return this.edits.find((one) => one.kind === kind && one.layer === layer && one.head === head
      && one.rows[0] === rows[0] && one.rows[1] === rows[1])?.shares ?? [];
  }

  /** @param {number} percent */
  preview(percent) {
    if (this.version !== "after") this.showVersion("after");
    this.pending = this.edited(percent);
    this.draw();
  }

  /** @param {number} percent */
  give(percent) {
    const edit = this.edited(percent);
    if (edit) this.apply(edit);
  }

  even() {
    const { row } = this.chosen();
    if (row !== undefined) this.apply(this.place(row));
  }

  back() {
    const { row } = this.chosen();
    if (row === undefined) return;
    const rows = this.span(super.arranged().rows[row]);
    this.send(this.edits.filter((edit) => !affects(edit, this.data.header.kind, this.choice, rows)));
  }

  // An edit that the server has not answered cannot be undone, so the undo waits for the answer.
  undo() {
    this.undoing = this.sent.length > 0;
    if (this.undoing) return;
    // Each undo has a unique number, because the server may receive it twice if one script run interrupts another.
    this.server.setTriggerValue("edited", `${UNDO} ${Date.now()}`);
  }

  /** @param {Edit} edit */
  apply(edit) {
    if (this.version !== "after") this.showVersion("after");
    this.pending = edit;
    this.send(withEdit(this.edits, edit));
  }

  /** @param {Edit[]} edits */
  send(edits) {
    this.edits = edits;
    const text = editsText(edits);
    this.sent.push(text);
    this.server.setTriggerValue("edited", text);
    this.draw();
    this.description.say();
  }

  /** @override */
  arranged(layer = this.choice.layer, head = this.choice.head) {
    return this.version === "after" ? this.changed(layer, head) : super.arranged(layer, head);
  }

  /** Returns a head's attention after the change, including an edit that the server has not answered yet. */
  changed(layer = this.choice.layer, head = this.choice.head) {
    const arranged = arrange(this.data.versions?.after ?? this.data, this.choice, layer, head);
    const { pending } = this;
    return pending && affects(pending, this.data.header.kind, { layer, head }) ? preview(arranged, pending) : arranged;
  }

  /**
   * Returns the large figure with a mark beside every edited row.
   * @param {number} [width]
   * @param {Theme} [theme]
   * @override
   */
  pictured(width, theme) {
    const picture = super.pictured(width, theme);
    const { geometry, arranged } = picture;
    if (!("cellHeight" in geometry)) return picture;
    const marked = arranged.rows.flatMap((label, row) => (this.isGiven(label) ? [row] : []));
    return { ...picture, draw: (/** @type {Surface} */ surface) => {
      picture.draw(surface);
      for (const row of marked) {
        surface.rect(geometry.left - 5, geometry.top + row * geometry.cellHeight + 2, 4, geometry.cellHeight - 4, CHOSEN_COLOUR);
      }
    } };
  }

  /** @override */
  describe() {
    super.describe();
    this.panel.reflect();
  }
}

export default mount(AttentionEditor);
