// A lecturer's clicker. Every component is a module of its own: the controls of the lecture tell the figures by an event.

/**
 * Goes on in the figure of the page, where there are no slides to go on to.
 * @param {number} by 1, or -1 for back
 */
function stepFigure(by) {
  dispatchEvent(new CustomEvent("lecturestep", { detail: by }));
}

/**
 * @param {(by: number) => void} go
 * @returns {() => void} what ends it
 */
function onStep(go) {
  /** @param {CustomEvent<number>} event */
  const hear = ({ detail }) => go(detail);
  addEventListener("lecturestep", hear);
  return () => removeEventListener("lecturestep", hear);
}
