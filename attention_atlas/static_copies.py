"""Compresses files once for all browsers, each of which fetches them once.

Streamlit sends its own files uncompressed, five megabytes for a first visit, because it would compress them again for
each user. A hundred phones fill the network of a lecture hall with that for most of a minute.
"""

from __future__ import annotations

import gzip

# Bytes of all copies: Streamlit's files take a fourth of it.
MAX_BYTES = 16 * 2**20
LEVEL = 6
# Content types that compress well; pictures and fonts are already compressed.
KINDS = (b"text/", b"application/javascript", b"application/json", b"image/svg+xml")
# Headers that are no longer true of a copy.
CHANGED = (b"content-length", b"accept-ranges", b"etag")


class StaticCopies:
    """HTTP answers with compressed bodies, by path."""

    def __init__(self) -> None:
        self._answers: dict[bytes, bytes] = {}
        self._bytes = 0

    def get(self, path: bytes) -> bytes | None:
        return self._answers.get(path)

    def keep(self, path: bytes, answer: bytes) -> None:
        """Keep an answer, if there is room."""
        if path not in self._answers and self._bytes + len(answer) <= MAX_BYTES:
            self._answers[path] = answer
            self._bytes += len(answer)


def length_if_worth(head: bytes) -> int | None:
    """The length of a body that is worth a copy; None if it is not worth one.

    Args:
        head: of the answer. A file that browsers cache forever is the same for all, and its head says so.
    """
    line, *_ = head.split(b"\r\n", 1)
    fields = {name.lower(): value.strip() for name, value in _fields(head)}
    length = fields.get(b"content-length", b"")
    worth = (
        line.split(b" ")[1:2] == [b"200"]
        and b"immutable" in fields.get(b"cache-control", b"")
        and fields.get(b"content-type", b"").startswith(KINDS)
        and b"content-encoding" not in fields
    )
    return int(length) if worth and length.isdigit() and int(length) <= MAX_BYTES else None


def compressed(head: bytes, body: bytes) -> bytes:
    """The whole answer, with its body compressed."""
    line, *_ = head.split(b"\r\n", 1)
    packed = gzip.compress(body, LEVEL, mtime=0)
    kept = [name + b":" + value for name, value in _fields(head) if name.lower() not in CHANGED]
    more = [b"Content-Encoding: gzip", b"Vary: Accept-Encoding", b"Content-Length: %d" % len(packed), b"", b""]
    return b"\r\n".join([line, *kept, *more]) + packed


def _fields(head: bytes) -> list[tuple[bytes, bytes]]:
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")[1:]
    return [(name, value) for name, _, value in (line.partition(b":") for line in lines)]
