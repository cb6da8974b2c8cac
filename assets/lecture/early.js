// What has to be there before the page is drawn; app.py runs it first of all, in every run. A script, because a module would wait for
// the document.

(() => {
  const page = /** @type {import("../shared/page.js").Page} */ (globalThis);
  if (page.early) return;
  // A clicker that is pressed while the page loads: Lecture takes over, and presses the keys again.
  /** @type {string[]} */
  const keys = [];
  /** @param {KeyboardEvent} event */
  const hear = ({ key, target }) => {
    if ((key === "PageUp" || key === "PageDown") && target === document.body) keys.push(key);
  };
  if (!page.clickerHeard) addEventListener("keydown", hear, true);
  page.early = { keys, hear };

  // Streamlit changes page in up to three steps: the page that is left without its address, then with that of the page
  // to come, then the page to come. The back button stops at the last one alone.
  const push = history.pushState.bind(history);
  let half = "";
  history.pushState = (state, unused, url) => {
    const { pathname, search, href } = new URL(url ?? location.href, location.href);
    const moves = pathname !== location.pathname;
    if (half === location.href && (!location.search || (moves && search === location.search))) {
      history.replaceState(state, unused, url);
    } else {
      push(state, unused, url);
    }
    half = !search || !moves ? href : "";
  };
  // What the reader does next is a step of its own.
  for (const done of ["pointerdown", "keydown"]) addEventListener(done, () => { half = ""; }, true);
})();
