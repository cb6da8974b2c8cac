"""HTTP to a model's server, over connections that are kept."""

from __future__ import annotations

import selectors
import time
import weakref
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from transformer.errors import ServerError
from transformer.serving.answers import ARCHIVE, JSON, Reply

# Seconds until a machine that is there must have accepted a connection, and until the longest run has an answer.
CONNECTING, ANSWERING = 3.0, 120.0
# Seconds between two looks at whether anybody still waits for an answer.
LOOK = 0.2
# Seconds before each try. A run changes nothing, so it may be asked for again when its replica has died.
TRIES = (0.0, 0.1, 0.5, 2.0)


class Connection:
    """What one app sends to one server. Threads may share one; each of them has a line of its own while it asks.

    Args:
        address: as http://10.0.0.5:8600.

    Raises:
        ServerError: it is no such address.
    """

    def __init__(self, address: str) -> None:
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
            # As the library does for every request, which has no name for what it cannot write.
            (host or "").encode("idna")
            parts.path.encode("ascii")
        except ValueError:
            host = port = parts = None
        if parts is None or not host or parts.scheme not in ("http", "https"):
            raise ServerError(f"{address!r} is no address of a model's server: write it as http://10.0.0.5:8600.")
        self.address = address.rstrip("/")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._folder = host, port, parts.path.rstrip("/")
        # A list, whose ends threads take from one at a time.
        self._idle: list[HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)

    def ask(self, path: str, body: bytes | None = None, waiting: Callable[[], object] | None = None) -> Reply:
        """Send a request, with a body by POST, and wait for the reply.

        Args:
            waiting: called again and again until there is an answer; what it raises ends the request.

        Raises:
            ServerError: there is none.
        """
        reason = ""
        for pause in TRIES:
            time.sleep(pause)
            try:
                reply = self._once(path, body, waiting)
            except ConnectionRefusedError as error:
                # Nobody listens; asking again would only keep the reader waiting.
                raise self._gone("nobody listens there") from error
            except TimeoutError as error:
                raise self._gone("it took too long") from error
            except (OSError, HTTPException) as error:
                # The line broke: the server, or what stands before it, has just ended.
                reason = str(error) or type(error).__name__
                continue
            if reply.kind in (ARCHIVE, JSON):
                return reply
            # Somebody else's words: a replica died, and the server says so in its own way.
            reason = f"HTTP status {reply.status}"
            if reply.status < 500:
                break
        raise self._gone(reason)

    def _once(self, path: str, body: bytes | None, waiting: Callable[[], object] | None) -> Reply:
        while self._idle:
            try:
                line = self._idle.pop()
            except IndexError:
                break
            try:
                return self._over(line, path, body, waiting)
            except TimeoutError:
                raise
            except (OSError, HTTPException):
                # The server has closed it since; so it may have done with the others.
                continue
        line = self._kind(self._host, self._port, timeout=CONNECTING)
        line.connect()
        line.sock.settimeout(ANSWERING)
        return self._over(line, path, body, waiting)

    def _over(
        self, line: HTTPConnection, path: str, body: bytes | None, waiting: Callable[[], object] | None
    ) -> Reply:
        try:
            headers = {} if body is None else {"Content-Type": JSON}
            line.request("GET" if body is None else "POST", self._folder + path, body, headers)
            if waiting is not None:
                _wait(line, waiting)
            response: HTTPResponse = line.getresponse()
            kind = response.headers.get_content_type()
            reply = Reply(response.status, kind, response.read())
        except BaseException:
            line.close()
            raise
        if response.will_close:
            line.close()
        else:
            self._idle.append(line)
        return reply

    def _gone(self, reason: str) -> ServerError:
        return ServerError(
            f"The model's server at {self.address} does not answer ({reason}): try again, or ask whoever runs it to "
            "start it."
        )


def _wait(line: HTTPConnection, waiting: Callable[[], object]) -> None:
    """Until an answer begins.

    Raises:
        TimeoutError: it does not.
    """
    deadline = time.monotonic() + ANSWERING
    with selectors.DefaultSelector() as selector:
        selector.register(line.sock, selectors.EVENT_READ)
        while not selector.select(LOOK):
            waiting()
            if time.monotonic() > deadline:
                raise TimeoutError


def _close(lines: list[HTTPConnection]) -> None:
    while lines:
        lines.pop().close()
