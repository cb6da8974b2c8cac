"""Binary message format for JavaScript components: header and 16-bit weights (see `assets/shared/wire.js`)."""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

# A weight w is sent as floor(60,000 w + 3), so every value with four decimal places has six codes. The browser's weight
# and the tensor's are therefore equal when rounded to four decimal places. Steps of 1/65,535 would not guarantee this.
STEPS = 60_000
STEPS_PER_DECIMAL = 6
MASKED_CODE = 65_535
LENGTH_BYTES = 4


def codes(weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Encode weights as 16-bit codes.

    Args:
        weights: attention weights, 0 to 1, [..., R, C].
        mask: whether the query may see the key, bool [R, C].

    Returns:
        Codes, uint16 [..., R, C]; MASKED_CODE where the mask is False.
    """
    numbers = np.floor(weights.astype(np.float64) * STEPS + STEPS_PER_DECIMAL / 2)
    return np.where(mask, numbers, MASKED_CODE).astype(np.uint16)


def frame(header: Mapping[str, Any], body: bytes) -> bytes:
    """Return a message: length of the header (little-endian), header as JSON, and body."""
    # Standard JSON has neither NaN nor infinity.
    head = json.dumps(header, allow_nan=False).encode("ascii")
    return len(head).to_bytes(LENGTH_BYTES, "little") + head + body


def unframe(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a message into header and body."""
    end = LENGTH_BYTES + int.from_bytes(message[:LENGTH_BYTES], "little")
    return json.loads(message[LENGTH_BYTES:end]), message[end:]


def with_fields(message: bytes, **more: Any) -> bytes:
    """Add fields to a message's header and return the message; neither `more` nor the header may be empty."""
    length = int.from_bytes(message[:LENGTH_BYTES], "little")
    added = json.dumps(more, allow_nan=False).encode("ascii")[1:-1] + b", "
    return (length + len(added)).to_bytes(LENGTH_BYTES, "little") + b"{" + added + message[LENGTH_BYTES + 1 :]


def pack(header: Mapping[str, Any], numbers: np.ndarray) -> bytes:
    """Return a message with compressed codes as the body: first all low bytes, then all high bytes.

    Args:
        header: header of the message.
        numbers: codes, uint16, any shape.
    """
    planes = (numbers & 0xFF).astype(np.uint8).tobytes() + (numbers >> 8).astype(np.uint8).tobytes()
    return frame(header, zlib.compress(planes, level=1))


def unpack(message: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """Split a message into the header and the encoded weights, uint16 [N]."""
    header, body = unframe(message)
    low, high = np.frombuffer(zlib.decompress(body), dtype=np.uint8).reshape(2, -1).astype(np.uint16)
    return header, low | (high << 8)
