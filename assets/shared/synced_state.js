// What a component tells the server of its state, and when.

/** @import { Server } from "./mount.js" */

// Milliseconds. Long enough that holding an arrow key sends one message, short enough to seem immediate.
const TELL_AFTER = 250;

/**
 * A state of a component that the server holds as well.
 *
 * What the server knows already is not sent: a message that changes nothing may only overtake the address that the
 * server has just written. What is sent carries its time: Streamlit calls nobody where a state is the one it had before,
 * even if the server asked for another one in between. It also carries the request that was answered last: if the server
 * has asked for another state since, it asks for this one again, for the reader's word counts.
 */
export class SyncedState {
  /**
   * That of the component that left the page last. Where something appears or vanishes above a component, the page builds
   * it anew and gives it the same request again.
   * @type {SyncedState | null}
   */
  static left = null;
  /** @type {number | null} the number of the request of the server that was taken last */
  number = null;
  /** @type {Record<string, any>} what was sent last, or what the server asked for since */
  known = {};
  /** @type {number | undefined} */
  timer;

  /**
   * @param {{ server: Server, [field: string]: any }} component
   * @param {string} name of the state, and of the field of the component that holds it
   * @param {() => Record<string, any>} current a copy of the state as it is now, as the server gets it
   */
  constructor(component, name, current) {
    this.component = component;
    this.name = name;
    this.current = current;
  }

  /**
   * Makes the state what a request of the server asks for, or what the reader had made of it before the component was
   * built anew.
   * @param {number} number of the request
   * @param {Record<string, any>} asked
   */
  take(number, asked) {
    const { left } = SyncedState;
    const before = left?.number === number ? left : null;
    this.component[this.name] = { ...(before ? before.component[this.name] : asked) };
    this.known = before?.known ?? this.current();
    this.number = number;
    // What the reader did last may not have been sent.
    if (before) this.send();
  }

  // Sends the state as it then is, once however often it changes until then.
  send(after = TELL_AFTER) {
    this.cancel();
    this.timer = setTimeout(() => {
      const state = this.current();
      if (JSON.stringify(state) === JSON.stringify(this.known)) return;
      this.known = state;
      this.component.server.setStateValue(this.name, { ...state, request: this.number, sent: Date.now() });
    }, after);
  }

  cancel() {
    clearTimeout(this.timer);
  }

  // Called when the component leaves the page.
  leave() {
    this.cancel();
    SyncedState.left = this;
  }
}
