// What a component tells the server of its state, and when.

// Milliseconds. Long enough that holding an arrow key sends one message, short enough to seem immediate.
const TELL_AFTER = 250;

/**
 * A state of a component that the server holds as well.
 *
 * What the server knows already is not sent: a message that changes nothing may only overtake the address that the
 * server has just written. What is sent carries its time: Streamlit calls nobody where a state is the one it had before,
 * even if the server asked for another one in between.
 */
class SyncedState {
  /** @type {Record<string, any>} what was sent last, or what the server asked for since */
  known = {};
  /** @type {number | undefined} */
  timer;

  /**
   * @param {{ server: Server }} component
   * @param {string} name
   * @param {() => Record<string, any>} current a copy of the state as it is now
   */
  constructor(component, name, current) {
    this.component = component;
    this.name = name;
    this.current = current;
  }

  // What is shown now is what the server asked for.
  accept() {
    this.known = this.current();
  }

  // Sends the state as it then is, once however often it changes until then.
  send(after = TELL_AFTER) {
    this.cancel();
    this.timer = setTimeout(() => {
      const state = this.current();
      if (JSON.stringify(state) === JSON.stringify(this.known)) return;
      this.known = state;
      this.component.server.setStateValue(this.name, { ...state, sent: Date.now() });
    }, after);
  }

  cancel() {
    clearTimeout(this.timer);
  }
}
