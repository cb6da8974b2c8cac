"""Cache with one compressed copy of each static file, for all browsers.

Streamlit sends its own files (five megabytes on a first visit) uncompressed, because it would otherwise compress them
again for each user. A hundred phones would fill a lecture hall's network with these files for most of a minute.
"""

import gzip

# Maximum size of all copies together, in bytes. Streamlit's files take a quarter of this.
MAX_BYTES = 16 * 2**20
COMPRESSION_LEVEL = 6
# Content types that compress well; other images and fonts are already compressed.
COMPRESSIBLE_TYPES = (b"text/", b"application/javascript", b"application/json", b"image/svg+xml")
# Headers that do not apply to a compressed copy.
STALE_HEADERS = (b"content-length", b"accept-ranges", b"etag")


class StaticCopies:
    """HTTP responses with compressed bodies, by path."""

    def __init__(self) -> None:
        self._responses: dict[bytes, bytes] = {}
        self._bytes = 0

    def get(self, path: bytes) -> bytes | None:
        return self._responses.get(path)

    def keep(self, path: bytes, response: bytes) -> None:
        """Store a response if the size limit allows it."""
        if path not in self._responses and self._bytes + len(response) <= MAX_BYTES:
            self._responses[path] = response
            self._bytes += len(response)


def compressible_length(head: bytes) -> int | None:
    """Return the length of a body that is worth compressing and caching; None for any other body.

    Only files that browsers may cache forever are cached, because they are the same for all users.

    Args:
        head: head of the response.
    """
    line, *_ = head.split(b"\r\n", 1)
    fields = {name.lower(): value.strip() for name, value in _fields(head)}
    length = fields.get(b"content-length", b"")
    worth = (
        line.split(b" ")[1:2] == [b"200"]
        and b"immutable" in fields.get(b"cache-control", b"")
        and fields.get(b"content-type", b"").startswith(COMPRESSIBLE_TYPES)
        and b"content-encoding" not in fields
    )
    return int(length) if worth and length.isdigit() and int(length) <= MAX_BYTES else None


def compress(head: bytes, body: bytes) -> bytes:
    """Return the whole response with a compressed body."""
    line, *_ = head.split(b"\r\n", 1)
    packed = gzip.compress(body, COMPRESSION_LEVEL, mtime=0)
    fields = [name + b":" + value for name, value in _fields(head) if name.lower() not in STALE_HEADERS]
    more = [b"Content-Encoding: gzip", b"Vary: Accept-Encoding", b"Content-Length: %d" % len(packed), b"", b""]
    return b"\r\n".join([line, *fields, *more]) + packed


def _fields(head: bytes) -> list[tuple[bytes, bytes]]:
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")[1:]
    return [(name, value) for name, _, value in (line.partition(b":") for line in lines)]
