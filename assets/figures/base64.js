// Encodes bytes as base64 text, and decodes base64 text.

/**
 * Returns bytes as base64.
 * @param {BlobPart} bytes
 * @returns {Promise<string>}
 */
export function base64(bytes) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1]);
    reader.readAsDataURL(new Blob([bytes]));
  });
}

/**
 * Returns the bytes that a base64 string encodes.
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
