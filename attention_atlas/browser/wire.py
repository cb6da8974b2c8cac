"""The bytes that a component of JavaScript receives: a header, and 16-bit codes of weights.

`assets/shared/wire.js` is the other end. Pure.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

# A weight is sent as floor(60,000 w + 3), so each number of four decimals has six codes. Rounding a received weight
# then gives the four decimals of the tensor. Steps of 1/65,535 would not.
STEPS = 60_000
PER_DECIMAL = 6
MASKED_CODE = 65_535
LENGTH_BYTES = 4


def codes(weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Weights as 16-bit numbers.

    Args:
        weights: [..., R, C], 0 to 1.
        mask: bool [R, C], True = may look.

    Returns:
        uint16 [..., R, C]; MASKED_CODE where the mask is False.
    """
    numbers = np.floor(weights.astype(np.float64) * STEPS + PER_DECIMAL / 2)
    return np.where(mask, numbers, MASKED_CODE).astype(np.uint16)


def frame(header: Mapping[str, Any], body: bytes) -> bytes:
    """A little-endian length, a JSON header of that many bytes, and a body."""
    # JSON has neither NaN nor infinity.
    head = json.dumps(header, allow_nan=False).encode("ascii")
    return len(head).to_bytes(LENGTH_BYTES, "little") + head + body


def unframe(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and body of a message."""
    end = LENGTH_BYTES + int.from_bytes(message[:LENGTH_BYTES], "little")
    return json.loads(message[LENGTH_BYTES:end]), message[end:]


def with_more(message: bytes, **more: Any) -> bytes:
    """The same message with more in its header, which is not empty."""
    length = int.from_bytes(message[:LENGTH_BYTES], "little")
    added = json.dumps(more, allow_nan=False).encode("ascii")[1:-1] + b", "
    return (length + len(added)).to_bytes(LENGTH_BYTES, "little") + b"{" + added + message[LENGTH_BYTES + 1 :]


def pack(header: Mapping[str, Any], numbers: np.ndarray) -> bytes:
    """A message whose body is codes, compressed: all low bytes, then all high ones.

    Args:
        numbers: uint16, any shape.
    """
    planes = (numbers & 0xFF).astype(np.uint8).tobytes() + (numbers >> 8).astype(np.uint8).tobytes()
    return frame(header, zlib.compress(planes, level=1))


def unpack(message: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """Header and codes of a message, uint16 [N]."""
    header, body = unframe(message)
    low, high = np.frombuffer(zlib.decompress(body), dtype=np.uint8).reshape(2, -1).astype(np.uint16)
    return header, low | (high << 8)
