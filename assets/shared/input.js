// Tracks the input device that is used on a component, so that its advice fits the device.

/** @typedef {"mouse" | "touch" | "keys"} InputKind */

/**
 * Returns whether a click on a link opens a tab or a window. With one of these keys held, the browser opens it.
 * @param {MouseEvent} event
 */
export const opensElsewhere = ({ ctrlKey, metaKey, shiftKey, altKey }) => ctrlKey || metaKey || shiftKey || altKey;

/**
 * Returns the last input device used on an element. Before any is used, it is the device that the screen is made for.
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
