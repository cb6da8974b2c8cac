// Saves any figure on the page, and requests the PDF writer from the server on first use. Each page has one exporter.

import { mount } from "../shared/mount.js";
import { page } from "../shared/page.js";
import { withPicture } from "./page_figure.js";
import { savePicture } from "./picture_files.js";
/** @import { Server } from "../shared/mount.js" */

// Milliseconds to wait for the PDF writer from the server.
const PDF_TIMEOUT = 60_000;

class Exporter {
  /** @type {Server} */
  server;

  /** @param {{ colours: [string, string][] }} message the light colour for each dark one */
  show({ colours }) {
    const light = new Map(colours);
    page.saveFigure = async (place, format, { file, title, sentence, experiment }, options) => {
      const caption = { title, sentence, notes: "", description: title, experiment };
      await withPicture(place, file, options, light, (picture) => (
        savePicture(format, [file, picture.name].filter(Boolean).join("-"), picture, caption, options)));
    };
    page.writePdf ??= async (root, title) => (await this.pdfWriter())(root, title);
  }

  // The PDF writer is sent on demand, because it is larger than the rest of the page.
  async pdfWriter() {
    this.server.setTriggerValue("pdf", true);
    for (let waited = 0; !page.pdfWriter; waited += 100) {
      if (waited > PDF_TIMEOUT) throw new Error("The PDF writer has not arrived from the server. Save as SVG or PNG.");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return page.pdfWriter;
  }
}

export default mount(Exporter);
