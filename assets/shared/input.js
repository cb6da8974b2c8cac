// Tracks which input device is used on a component, so that its hints fit the device.

/** @typedef {"mouse" | "touch" | "keys"} InputKind */

/**
 * Returns whether a held modifier key makes the browser open a clicked link in a new tab or window.
 * @param {MouseEvent} event
 */
export const opensElsewhere = ({ ctrlKey, metaKey, shiftKey, altKey }) => ctrlKey || metaKey || shiftKey || altKey;

/**
 * Returns the last input device used on an element. Until one is used, the type of screen decides.
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
