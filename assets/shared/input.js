// By what a component is used, so that its advice is something that its user can do.

/** @typedef {"mouse" | "touch" | "keys"} InputKind */

/**
 * Whether a click on a link opens a tab or a window: with a key held, the browser does.
 * @param {MouseEvent} event
 */
export const opensElsewhere = ({ ctrlKey, metaKey, shiftKey, altKey }) => ctrlKey || metaKey || shiftKey || altKey;

/**
 * What was used last on an element; before anything is, what the screen is made for.
 * @param {HTMLElement} root
 * @returns {{ kind: InputKind }}
 */
export function followInput(root) {
  /** @type {{ kind: InputKind }} */
  const input = { kind: matchMedia("(hover: none)").matches ? "touch" : "mouse" };
  /** @param {PointerEvent} event */
  const pointed = ({ pointerType }) => { input.kind = pointerType === "touch" ? "touch" : "mouse"; };
  root.addEventListener("pointerdown", pointed, true);
  root.addEventListener("pointermove", pointed, true);
  root.addEventListener("keydown", () => { input.kind = "keys"; }, true);
  return input;
}
