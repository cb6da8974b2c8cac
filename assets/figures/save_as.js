// The "Save as" menu below a figure from Altair, from Plotly or from one of our components.

import { element } from "../shared/element.js";
import { Component, mount } from "../shared/mount.js";
import { page } from "../shared/page.js";
import { inflated } from "../shared/wire.js";
import { fromBase64 } from "./base64.js";
import { saveFile } from "./picture_files.js";
import { saveMenu } from "./save_menu.js";
/** @import { SaveOptions } from "./save_menu.js" */

/** The message from the server (pages/ui/components/save_as.py).
 * @typedef {{ file: string, title: string, sentence: string, label: string, experiment: string }} SaveAsMessage
 */

const EXPERIMENT = "Experiment";

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
      this.root.replaceChildren(saveMenu(
        (format, options) => this.save(format, options), [EXPERIMENT],
        (format) => format !== EXPERIMENT || Boolean(this.message?.experiment), message.label));
    }
    this.message = message;
  }

  /**
   * Saves the figure above this menu, or the experiment that belongs to it.
   * @param {string} format
   * @param {SaveOptions} options
   */
  async save(format, options) {
    const node = this.root.getRootNode();
    const place = (node instanceof ShadowRoot ? node.host : this.root).closest("[class*='st-key-figure_']");
    if (!page.saveFigure || !place || !this.message) throw new Error("The page has not finished loading; try again in a moment.");
    if (format === EXPERIMENT) {
      const packed = fromBase64(this.message.experiment.split(":")[1]);
      saveFile(`${this.message.file}-experiment.json`, "application/json", await inflated(packed).text());
      return;
    }
    await page.saveFigure(/** @type {HTMLElement} */ (place), format, this.message, options);
  }
}

export default mount(SaveAs);
