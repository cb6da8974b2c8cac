// Runs in every page that benchmarks/browser.py opens. Records tasks longer than 50 ms, and the time from each key press,
// click, and pointer move over a word to the next frame.
window.tasks = [];
window.answers = [];
new PerformanceObserver(list => tasks.push(...list.getEntries().map(task => task.duration)))
  .observe({ type: "longtask", buffered: true });
for (const kind of ["keydown", "click", "pointermove"]) {
  addEventListener(kind, event => {
    if (kind === "pointermove" && !event.composedPath()[0].matches?.(".word")) return;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => answers.push(performance.now() - event.timeStamp);
      port2.postMessage(0);
    });
  }, { capture: true });
}
window.atlas = () => {
  for (const host of [document, ...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")]) {
    const found = (host.shadowRoot ?? host).querySelector(".atlas");
    if (found) return found;
  }
};
window.nodes = (root = document) => {
  let count = 0;
  for (const one of root.querySelectorAll("*")) count += 1 + (one.shadowRoot ? nodes(one.shadowRoot) : 0);
  return count;
};
// Sets `shown` to a promise that resolves to the seconds between the next key press (Enter) and the first frame that
// shows a different sentence.
window.submitted = () => {
  const before = atlas().dataset.drawn;
  window.shown = new Promise(done => addEventListener("keydown", event => {
    const look = () => {
      const drawn = atlas()?.dataset.drawn;
      if (drawn && drawn !== before) done((performance.now() - event.timeStamp) / 1000);
      else requestAnimationFrame(look);
    };
    look();
  }, { once: true, capture: true }));
};
