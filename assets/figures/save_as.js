// "Save as" below a figure of Altair or Plotly, or of one of our components.

import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";
import { page } from "../shared/page.js";
import { saveMenu } from "./save_menu.js";
/** @import { SaveOptions } from "./save_menu.js" */

/** The message from the server (pages/ui/components/save_as.py).
 * @typedef {{ file: string, title: string, sentence: string, label: string }} SaveAsMessage
 */

class SaveAs extends Component {
  /** @type {SaveAsMessage | undefined} */
  message;

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent, element("div", { class: "save-as" }));
  }

  /** @param {SaveAsMessage} message */
  show(message) {
    // An open menu stays open while its figure changes.
    if (message.label !== this.message?.label) {
      this.root.replaceChildren(saveMenu((format, options) => this.save(format, options), [], () => true, message.label));
    }
    this.message = message;
  }

  /**
   * @param {string} format
   * @param {SaveOptions} options
   */
  async save(format, options) {
    const node = this.root.getRootNode();
    const place = (node instanceof ShadowRoot ? node.host : this.root).closest("[class*='st-key-figure_']");
    if (!page.saveFigure || !place || !this.message) throw new Error("The page is not complete yet; try again in a moment.");
    await page.saveFigure(/** @type {HTMLElement} */ (place), format, this.message, options);
  }
}

export default mount(SaveAs);
