// Keeps the state of a component in step with the server: decides what to send, and when.

import { onLeaveSlide } from "./clicker.js";
/** @import { Server } from "./mount.js" */

// Delay in milliseconds: long enough that holding an arrow key sends one message, short enough to seem immediate.
const SEND_DELAY = 250;

/**
 * A component's state that the server also stores.
 *
 * A state that the server already knows is not sent, because the message could undo a URL that the server has just
 * written. Each message contains the time: otherwise, Streamlit would call no callback if a component sent a state
 * twice, even if the server requested another state between the two messages. Each message also contains the number of
 * the last request that the component followed. If the server has made a newer request, the server replaces that
 * request with the state in the message, because the user's choice wins.
 */
export class SyncedState {
  /**
   * The state of the component that left the page last. If something appears or disappears above a component, Streamlit
   * rebuilds the component, and the server sends its last request again. The new component then takes over this state.
   * @type {SyncedState | null}
   */
  static left = null;
  /** @type {number | null} number of the request that was applied last */
  number = null;
  /** @type {Record<string, any>} the state sent last, or the state that the server has requested since then */
  known = {};
  /** @type {number | undefined} */
  timer;

  /**
   * @param {{ server: Server, [field: string]: any }} component
   * @param {string} name of the state, and of the component's field that contains it
   * @param {() => Record<string, any>} current returns a copy of the current state, in the form in which it is sent
   */
  constructor(component, name, current) {
    this.component = component;
    this.name = name;
    this.current = current;
    // A state that is sent after a change of slides would bring back the previous slide.
    this.stayOnSlide = onLeaveSlide(() => this.cancel());
  }

  /**
   * Sets the state that the server requests. If the server repeats a request because the component was rebuilt, keeps
   * the user's state instead.
   * @param {number} number of the request
   * @param {Record<string, any>} asked
   */
  take(number, asked) {
    const { left } = SyncedState;
    const before = left?.number === number ? left : null;
    this.component[this.name] = { ...(before ? before.component[this.name] : asked) };
    this.known = before?.known ?? this.current();
    this.number = number;
    // The user's last change may not have been sent yet.
    if (before) this.send();
  }

  // Sends the latest state after a delay. Changes made during the delay are sent together.
  send(after = SEND_DELAY) {
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

  // Runs when the component leaves the page.
  leave() {
    this.cancel();
    this.stayOnSlide();
    // A component that never received a request has no state to pass on.
    if (this.number !== null) SyncedState.left = this;
  }
}
