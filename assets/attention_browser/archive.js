// Draws nothing: keeps what the server sends once the attention browser is drawn, so that the browser can write the file
// of all three kinds by itself.

export default function archive({ data }) {
  globalThis.attentionArchive = data;
  return () => {
    // The next page may have brought its own by now.
    if (globalThis.attentionArchive === data) delete globalThis.attentionArchive;
  };
}
