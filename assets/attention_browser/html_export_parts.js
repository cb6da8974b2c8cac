// Stores data from the server, and draws nothing. With this data, the attention browser writes the HTML export of all
// three kinds of attention without the server. The data is requested only after the attention browser is drawn.

import { mount } from "../shared/mount.js";
import { page } from "../shared/page.js";
/** @import { Server } from "../shared/mount.js" */

class HtmlExportParts {
  /** @type {Server} */
  server;

  /** @param {Uint8Array<ArrayBuffer>} data */
  show(data) {
    this.data = data;
    page.attentionExport = data;
    document.dispatchEvent(new Event("attentionexport"));
  }

  close() {
    // The next page may already have set its own data.
    if (page.attentionExport === this.data) delete page.attentionExport;
  }
}

export default mount(HtmlExportParts);
