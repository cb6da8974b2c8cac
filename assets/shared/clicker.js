// A lecturer's clicker. Every component is a module of its own: the controls of the lecture tell the figures by an event.

/** @typedef {{ by: number, slides: boolean }} LectureStep 1, or -1 for back; whether there are slides to go on to */

/**
 * Goes on in the figure of the page; returns whether a figure did.
 * @param {number} by 1, or -1 for back
 * @param {boolean} slides whether there are slides: then only figures go on that come to an end
 */
export function stepFigure(by, slides) {
  return !dispatchEvent(new CustomEvent("lecturestep", { detail: { by, slides }, cancelable: true }));
}

/**
 * @param {(by: number) => boolean | void} go returns whether it went on, where it goes on among slides
 * @param {{ amongSlides?: boolean }} [when] also where there are slides to go on to
 * @returns {() => void} what ends it
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
