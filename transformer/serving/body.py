"""Reads an HTTP request body, up to a size limit."""

from collections.abc import AsyncIterator

from transformer.serving.protocol import MAX_BYTES


async def read_body(announced: int, chunks: AsyncIterator[bytes]) -> bytes | None:
    """Return a request's body; None if the body is too large, in which case reading stops.

    Args:
        announced: length in the Content-Length header, in bytes; 0 if the header is missing.
        chunks: parts of the body in order of arrival.
    """
    if announced > MAX_BYTES:
        return None
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)
