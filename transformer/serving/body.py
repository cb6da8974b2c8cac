"""The body of a request, of which no more is read than a request may have."""

from __future__ import annotations

from collections.abc import AsyncIterator

from transformer.serving.protocol import MOST_BYTES


async def read_body(announced: int, chunks: AsyncIterator[bytes]) -> bytes | None:
    """The body; None where it is too large, and then the rest of it is left unread.

    Args:
        announced: the bytes that the head of the request says there are; 0 where it does not say so.
        chunks: as they come.
    """
    if announced > MOST_BYTES:
        return None
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)
