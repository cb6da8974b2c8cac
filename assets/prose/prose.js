// A paragraph whose heads are links to their maps.

import { element } from "../shared/element.js";
import { mount } from "../shared/mount.js";
/** @import { Server } from "../shared/mount.js" */

/** @typedef {{ kind: string, page: string, prefix: string, layer: number, head: number, text: string }} HeadLink */

class Prose {
  /** @type {Server} */
  server;
  /** @type {string} what is shown */
  message;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    this.root = element("p", { class: "prose" });
    parent.append(this.root);
  }

  close() {
    this.root.remove();
  }

  /** @param {{ parts: (string | HeadLink)[] }} data */
  show({ parts }) {
    // Shown again, a link would lose the focus.
    if (JSON.stringify(parts) === this.message) return;
    this.message = JSON.stringify(parts);
    this.root.replaceChildren(...parts.map((part) => (typeof part === "string" ? part : this.link(part))));
  }

  /** @param {HeadLink} head */
  link({ kind, page, prefix, layer, head, text }) {
    const link = element("a", { onclick: (/** @type {MouseEvent} */ event) => {
      // With a key held, the browser opens a tab or a window.
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      this.server.setTriggerValue("open", { kind, layer, head });
    } }, text);
    const address = () => {
      const parameters = new URLSearchParams(location.search);
      parameters.set(`${prefix}layer`, String(layer + 1));
      parameters.set(`${prefix}head`, String(head + 1));
      link.href = `${page}?${parameters}`;
    };
    address();
    link.onpointerover = link.onfocus = address;
    return link;
  }
}

export default mount(Prose);
