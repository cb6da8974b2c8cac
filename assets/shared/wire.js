// Parses messages from the server: a header, and weights as 16-bit codes (written by attention_atlas/browser/wire.py).

// Weights are sent in steps of 1/60,000, with an offset that preserves four decimals: the received weight and the
// tensor's weight round to the same number. Weights on ordinary tokens, but not on special tokens, are
// multiplied by a power of two. The header gives the exponent for each row (attention_atlas/browser/payload.py).
const WEIGHT_STEPS = 60000;
export const MASKED_CODE = 65535;

/**
 * Splits a message from the server into its header and the bytes after it.
 * @param {ArrayBuffer | Uint8Array} bytes
 * @returns {{ header: any, body: Uint8Array<ArrayBuffer> }}
 */
export function unframe(bytes) {
  const message = new Uint8Array(bytes);
  const length = new DataView(message.buffer).getUint32(0, true);
  return { header: JSON.parse(new TextDecoder().decode(message.subarray(4, 4 + length))), body: message.subarray(4 + length) };
}

/**
 * Returns the decompressed body as a `Response`.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export function inflated(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

/**
 * Returns the header and the codes of a message that contains weights.
 * @param {ArrayBuffer | Uint8Array} bytes
 * @returns {Promise<{ header: any, codes: Uint16Array }>}
 */
export async function unpack(bytes) {
  const { header, body } = unframe(bytes);
  const planes = new Uint8Array(await inflated(body).arrayBuffer());
  const count = planes.length / 2;
  const codes = new Uint16Array(count);
  for (let i = 0; i < count; i++) codes[i] = planes[i] | (planes[count + i] << 8);
  return { header, codes };
}

/**
 * Returns the weight for a code; 0 for a masked cell.
 * @param {number} code
 */
export function weightOf(code) {
  if (code === MASKED_CODE || code <= 3) return 0;
  return Math.min(1, (code - 2.5) / WEIGHT_STEPS);
}
