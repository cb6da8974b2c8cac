"""JavaScript that records the script runs that a Streamlit page requests, and whether each has ended."""

# Runs before the page's own scripts. Streamlit's attribute `data-test-script-state` does not suffice, because it
# stays `notRunning` between a click and the start of its script run. It is also `notRunning` between the end of a run
# that requested another run and the start of that other run.
RUNS = """(() => {
    // Tags (field number and wire type) of the messages in Streamlit's BackMsg.proto and ForwardMsg.proto.
    const RERUN_SCRIPT = 0x5a, HASH = 0x0a, METADATA = 0x12, NEW_SESSION = 0x22, SCRIPT_FINISHED = 0x30;
    const EARLY_FOR_RERUN = 2;
    const runs = window.runs = { asked: true, running: false };
    const received = (message) => {
        let at = 0;
        while (message[at] === HASH || message[at] === METADATA) {
            let length = 0, shift = 0;
            do {
                at += 1;
                length |= (message[at] & 0x7f) << shift;
                shift += 7;
            } while (message[at] & 0x80);
            at += 1 + length;
        }
        if (message[at] === NEW_SESSION) Object.assign(runs, { asked: false, running: true });
        if (message[at] === SCRIPT_FINISHED) runs.running = message[at + 1] === EARLY_FOR_RERUN;
    };
    window.WebSocket = class extends WebSocket {
        constructor(...options) {
            super(...options);
            this.addEventListener("message", ({ data }) => received(new Uint8Array(data)));
        }
        send(data) {
            if (data[0] === RERUN_SCRIPT) runs.asked = true;
            super.send(data);
        }
    };
})();"""
# JavaScript: whether all requested script runs have ended and their output, which arrives slightly later, is on the
# page.
SETTLED = """() => {
    const app = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
    const ended = !runs.asked && !runs.running && app?.querySelector("[data-testid=stElementContainer]");
    runs.quiet = ended ? (runs.quiet ?? 0) + 1 : 0;
    return runs.quiet > 3;
}"""
