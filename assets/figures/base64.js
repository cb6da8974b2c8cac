// Bytes as text.

/**
 * @param {BlobPart} bytes
 * @returns {Promise<string>}
 */
function base64(bytes) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1]);
    reader.readAsDataURL(new Blob([bytes]));
  });
}
