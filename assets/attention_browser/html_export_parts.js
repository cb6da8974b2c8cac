// Draws nothing: keeps what the server sends once the attention browser is drawn, so that the browser can write the HTML
// export of all three kinds by itself.

class HtmlExportParts {
  /** @type {Server} */
  server;

  /** @param {Uint8Array<ArrayBuffer>} data */
  show(data) {
    this.data = data;
    globalThis.attentionExport = data;
  }

  close() {
    // The next page may have brought its own by now.
    if (globalThis.attentionExport === this.data) delete globalThis.attentionExport;
  }
}
