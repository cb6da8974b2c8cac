// Tracks which input device is used on a component, so that the component's hints fit the device.

/** @typedef {"mouse" | "touch" | "keys"} InputKind */

/**
 * Returns whether a held modifier key makes the browser handle a clicked link itself, for example in a new tab.
 * @param {MouseEvent} event
 */
export const opensElsewhere = ({ ctrlKey, metaKey, shiftKey, altKey }) => ctrlKey || metaKey || shiftKey || altKey;

/**
 * Returns an object whose `kind` is always the input device last used on `root`. Until a device is used, the type of
 * screen decides.
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
