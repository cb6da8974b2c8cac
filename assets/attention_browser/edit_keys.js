// The keyboard shortcuts of the editor, in addition to those of the attention browser.

import { clamped } from "../shared/controls.js";
import { isShortcut } from "../shared/keys.js";
/** @import { AttentionEditor } from "./editor.js" */

export const EDIT_KEYS = [
  ["Enter", "the row looks only at this cell"],
  ["+ and -", "increase or decrease this cell's weight"],
  ["e", "spread evenly"],
  ["Backspace", "reset the row"],
  ["u", "undo the last change"],
];
// Change in the weight per key press, in percentage points.
const STEP = 5;

/**
 * Runs the action of a key in the editor.
 * @param {AttentionEditor} editor
 * @param {KeyboardEvent} event
 * @returns {boolean} whether the key press was handled
 */
export function editByKey(editor, event) {
  if (event.target !== editor.large || !editor.data || !isShortcut(event, editor.keys)) return false;
  /** @type {(by: number) => void} */
  const more = (by) => {
    if (editor.hover?.row !== undefined && editor.hover.column !== undefined) editor.choose(editor.hover);
    const { row, column } = editor.chosen();
    if (row === undefined || column === undefined) return;
    const { columns, values } = editor.changed();
    editor.give(clamped(Math.round(100 * values[row * columns.length + column]) + by, 101));
  };
  const chooseRow = () => { if (editor.hover?.row !== undefined) editor.choose(editor.hover); };
  /** @type {Record<string, () => void>} */
  const actions = {
    "+": () => more(STEP), "=": () => more(STEP), "-": () => more(-STEP),
    "e": () => { chooseRow(); editor.even(); },
    "Backspace": () => { chooseRow(); editor.back(); },
    "u": () => editor.undo(),
  };
  const act = actions[event.key];
  if (!act) return false;
  act();
  event.preventDefault();
  event.stopPropagation();
  return true;
}
