// Collects clicker keys and corrects the browser history before the page is drawn. In every script run, app.py inserts
// this file first. It is a classic script, because a module would wait for the document.

(() => {
  const page = /** @type {import("../shared/page.js").Page} */ (globalThis);
  if (page.early) return;
  // Collects clicker keys that are pressed while the page loads. lecture.js replays them when it takes over.
  /** @type {string[]} */
  const keys = [];
  /** @param {KeyboardEvent} event */
  const hear = ({ key, target }) => {
    if ((key === "PageUp" || key === "PageDown") && target === document.body) keys.push(key);
  };
  if (!page.clickerHeard) addEventListener("keydown", hear, true);
  page.early = { keys, hear };

  // When the user changes the page, Streamlit changes the URL in up to three steps: it drops the old page's parameters,
  // adds those of the next page, and changes the path. Only the last step may leave an entry in the browser's history.
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
  // The user's next action gets its own history entry.
  for (const done of ["pointerdown", "keydown"]) addEventListener(done, () => { half = ""; }, true);
})();
