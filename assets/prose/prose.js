// A paragraph in which the names of attention heads are links to the heads' maps.

import { element } from "../shared/element.js";
import { opensElsewhere } from "../shared/input.js";
import { Component, mount } from "../shared/mount.js";

/** @typedef {{ kind: string, page: string, prefix: string, layer: number, head: number, text: string }} HeadLink */

class Prose extends Component {
  /** @type {string} the current content, as JSON */
  message;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("p", { class: "prose" }));
  }

  /** @param {{ parts: (string | HeadLink)[] }} data */
  show({ parts }) {
    // Unchanged links are not replaced, because replacing a focused link removes the focus.
    if (JSON.stringify(parts) === this.message) return;
    this.message = JSON.stringify(parts);
    this.root.replaceChildren(...parts.map((part) => (typeof part === "string" ? part : this.link(part))));
  }

  /**
   * Returns a link to the map of a head.
   * @param {HeadLink} head
   */
  link({ kind, page, prefix, layer, head, text }) {
    const link = element("a", { onclick: (/** @type {MouseEvent} */ event) => {
      if (opensElsewhere(event)) return;
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
