"""Reads the body of a request, up to the size limit."""

from __future__ import annotations

from collections.abc import AsyncIterator

from transformer.serving.protocol import MAX_BYTES


async def read_body(announced: int, chunks: AsyncIterator[bytes]) -> bytes | None:
    """The body; None if it is too large, and then the rest of it is not read.

    Args:
        announced: the number of bytes in the head of the request; 0 if it is missing.
        chunks: the parts of the body in the order of arrival.
    """
    if announced > MAX_BYTES:
        return None
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)
