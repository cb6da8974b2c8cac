// The panel of the editor. It shows the chosen cell, and has controls for the cell's weight, for the scope of a change,
// and for the cell's row.

import { select } from "../shared/controls.js";
import { element } from "../shared/element.js";
import { entryName } from "./arrangement.js";
/** @import { AttentionEditor } from "./editor.js" */
/** @import { Edit } from "./edits.js" */

const SCOPES = [["head", "this head"], ["layer", "every head of this layer"], ["model", "every head of every layer"]];

export class EditPanel {
  /** @param {AttentionEditor} editor */
  constructor(editor) {
    this.editor = editor;
    /** @type {(text: string, title: string, onclick: () => void) => HTMLButtonElement} */
    const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
    this.what = element("p", { class: "what" });
    this.scopes = select("Apply to", SCOPES, () => {});
    this.slider = element("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": "Weight of the chosen cell, in percent",
      oninput: () => editor.preview(Number(this.slider.value)), onchange: () => editor.give(Number(this.slider.value)) });
    this.share = element("output");
    this.buttons = {
      all: button("100%", "Make the row look only at this cell", () => editor.give(100)),
      even: button("Spread evenly", "Make the row look at everything equally", () => editor.even()),
      back: button("Reset row", "Restore the model's own weights in this row", () => editor.back()),
      undo: button("Undo", "Undo the last change", () => editor.undo()),
    };
    this.root = element("section", { class: "panel", "aria-label": "Change what it looks at" }, this.what,
      element("div", { class: "bar" }, this.scopes,
        element("label", { class: "field" }, element("span", {}, "Weight ", this.share), this.slider),
        ...Object.values(this.buttons)));
  }

  // The scope of a change: a head, a layer or the whole model.
  get scope() {
    return this.scopes.box.value;
  }

  /**
   * Selects the scope of a change that was made elsewhere, so that the next change has the same scope.
   * @param {Edit} edit
   */
  follow({ layer, head }) {
    this.scopes.box.value = layer === null ? "model" : head === null ? "layer" : "head";
  }

  reflect() {
    const { editor } = this;
    const { refused } = editor;
    const { row, column } = editor.chosen();
    const { rows, columns, values, masked } = editor.changed();
    const onMap = editor.choice.look === "map";
    const cell = onMap && row !== undefined && column !== undefined ? row * columns.length + column : null;
    const share = cell === null ? 0 : Math.round(100 * values[cell]);
    this.what.textContent = refused || (!onMap ? "You can change rows only in the map, not in the lines."
      : row === undefined ? "Click a cell to make its row look only there. Drag sideways to set a weight."
      : `${entryName(rows, row, "row")}${column === undefined ? ": click a cell in its row" : ` → ${entryName(columns, column, "column")}`}`);
    this.what.classList.toggle("refused", Boolean(refused));
    this.slider.value = String(share);
    this.share.textContent = `${share}%`;
    this.slider.disabled = this.buttons.all.disabled = cell === null || Boolean(masked[cell]);
    this.buttons.even.disabled = row === undefined || !onMap;
    this.buttons.back.disabled = row === undefined || !editor.isGiven(rows[row]);
  }
}
