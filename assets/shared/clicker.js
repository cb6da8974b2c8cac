// Reports presses of the lecturer's clicker to the figures. Events are used, because components are separate scripts
// and cannot call each other.

const LEAVE_EVENT = "lectureleave";

/**
 * @typedef {{ by: number, slides: boolean }} LectureStep `by` is 1, or -1 for back; `slides` says whether there are
 * slides
 */

/**
 * Moves the page's figure by one step; returns whether a figure moved.
 * @param {number} by 1, or -1 for back
 * @param {boolean} slides whether there are slides; if so, only figures that listen with `amongSlides` move
 */
export function stepFigure(by, slides) {
  return !dispatchEvent(new CustomEvent("lecturestep", { detail: { by, slides }, cancelable: true }));
}

/** Announces that another slide was requested, so that the figures of the current slide discard unsent changes. */
export function leaveSlide() {
  dispatchEvent(new Event(LEAVE_EVENT));
}

/**
 * Calls `cancel` when another slide is requested.
 * @param {() => void} cancel
 * @returns {() => void} function that stops listening
 */
export function onLeaveSlide(cancel) {
  addEventListener(LEAVE_EVENT, cancel);
  return () => removeEventListener(LEAVE_EVENT, cancel);
}

/**
 * Calls `go` when the lecturer presses the clicker.
 * @param {(by: number) => boolean | void} go returns whether the figure moved, which matters only with `amongSlides`
 * @param {{ amongSlides?: boolean }} [when] whether the figure also moves if there are slides
 * @returns {() => void} function that stops listening
 */
export function onStep(go, { amongSlides = false } = {}) {
  /** @param {Event} event */
  const hear = (event) => {
    const { by, slides } = /** @type {CustomEvent<LectureStep>} */ (event).detail;
    if ((!slides || amongSlides) && go(by)) event.preventDefault();
  };
  addEventListener("lecturestep", hear);
  return () => removeEventListener("lecturestep", hear);
}
