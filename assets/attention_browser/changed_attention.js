// The attention browser for a changed run. It shows the attention after the change, the attention as trained, or the
// difference.

import { select } from "../shared/controls.js";
import { mount } from "../shared/mount.js";
import { unframe } from "../shared/wire.js";
import { AttentionBrowser } from "./attention_browser.js";
/** @import { KindData } from "./arrangement.js" */

const VERSIONS = [["after", "after the change"], ["before", "as trained"], ["difference", "the difference"]];

export class ChangedAttention extends AttentionBrowser {
  version = "after";
  versionControl = select("Show", VERSIONS, (value) => this.showVersion(value));

  /** @param {HTMLElement | ShadowRoot} parent */
  constructor(parent) {
    super(parent);
    this.toolbar.prepend(this.versionControl);
  }

  /**
   * Unpacks the messages of both runs, which are concatenated (pages/ui/components/changed_attention.py).
   * @param {ArrayBuffer | Uint8Array<ArrayBuffer>} bytes
   * @override
   */
  async read(bytes) {
    const { header: { sizes, edits, what, written, experiment, lecture }, body } = unframe(bytes);
    let start = 0;
    const messages = /** @type {number[]} */ (sizes).map((size) => body.slice(start, start += size));
    const [after, before] = await Promise.all(messages.map((message) => super.read(message)));
    /** @type {Record<string, KindData>} */
    const versions = {
      after, before, difference: { header: after.header, codes: after.codes, arranged: new Map(), difference: { after, before } },
    };
    for (const [name, version] of Object.entries(versions)) {
      const shown = { before: "as trained", after: what, difference: `${what}, minus the model as trained` }[name];
      Object.assign(version, { versions, header: { ...version.header, edits, version: shown, written, experiment, lecture } });
    }
    return versions[this.version];
  }

  /**
   * Shows the run of the changed model, the run of the model as trained, or their difference.
   * @param {string} version
   */
  showVersion(version) {
    this.version = version;
    this.versionControl.box.value = version;
    const shown = this.data?.versions?.[version];
    if (!shown) return;
    Object.assign(this, { data: shown, drawn: null });
    this.draw();
    this.description.say();
  }

  /** @override */
  describe() {
    super.describe();
    if (this.version === "difference" && !this.arranged().largest) {
      this.description.note.textContent = "The attention of these heads has not changed.";
    }
  }

  /**
   * Returns false, because this component shows two runs, but the HTML file with all kinds of attention contains one.
   * @override
   */
  exportsAll() {
    return false;
  }
}

export default mount(ChangedAttention);
