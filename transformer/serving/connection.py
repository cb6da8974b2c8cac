"""Sends HTTP requests to a model server, over persistent connections."""

import selectors
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from transformer.errors import ServerError
from transformer.serving.answers import ARCHIVE, JSON, Reply, unreadable_error
from transformer.values.cancellation import check_cancelled

# Timeouts in seconds: to connect, to receive the server's identity, and to receive the result of the longest run.
CONNECT_TIMEOUT, IDENTITY_TIMEOUT, ANSWER_TIMEOUT = 3.0, 30.0, 120.0
# Maximum length of an answer, in bytes. With the shipped model, the largest answer takes 70 MB: two detailed traces
# of the longest possible text.
MAX_ANSWER_BYTES = 2**29
# HTTP statuses that only gateways in front of a model server send.
GATEWAY_STATUSES = (502, 503, 504)
# Seconds between two checks for cancellation.
CHECK_INTERVAL = 0.2
# Seconds to wait before each attempt. A run has no side effects, so it can be repeated if a replica dies.
RETRY_DELAYS = (0.0, 0.1, 0.5, 2.0)


class Connection:
    """Persistent HTTP connections to one model server. Thread-safe: simultaneous requests use separate sockets.

    Args:
        address: URL of the server, for example http://10.0.0.5:8600.

    Raises:
        ServerError: the URL is invalid.
    """

    def __init__(self, address: str) -> None:
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
            # Encode the host here, because http.client's error for an invalid host does not name the host.
            (host or "").encode("idna")
            parts.path.encode("ascii")
        except ValueError:
            host = port = parts = None
        if parts is None or not host or parts.scheme not in ("http", "https"):
            raise ServerError(
                f"{address!r} is not the address of a model server: enter a URL such as http://10.0.0.5:8600."
            )
        self.address = address.rstrip("/")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._folder = host, port, parts.path.rstrip("/")
        # A list's append() and pop() are atomic, so threads need no lock.
        self._idle: list[HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)

    def ask(self, path: str, body: bytes | None = None, *, seconds: float = ANSWER_TIMEOUT) -> Reply:
        """Send a request, and wait for the reply unless the current run is cancelled.

        Args:
            path: path on the server.
            body: body of a POST request; None for a GET request.
            seconds: timeout for the complete reply.

        Raises:
            ServerError: there is no valid reply.
        """
        reason = ""
        for pause in RETRY_DELAYS:
            time.sleep(pause)
            try:
                reply = self._once(path, body, seconds)
            except ConnectionRefusedError as error:
                # No process is listening at the URL, so retrying would only keep the user waiting.
                raise self._gone("no server is listening there") from error
            except TimeoutError as error:
                raise self._gone("the server did not send a complete answer in time") from error
            except AnswerTooLongError as error:
                raise unreadable_error(self.address, "it is too long") from error
            except (OSError, HTTPException) as error:
                # The connection broke, probably because the server or a gateway has just stopped. Try again.
                reason = str(error) or type(error).__name__
                continue
            if reply.kind in (ARCHIVE, JSON) and reply.status not in GATEWAY_STATUSES:
                return reply
            # The reply is from a gateway, or from Ray, which reports a dead replica in a different format.
            reason = f"HTTP status {reply.status}"
            if reply.status < 500:
                break
        raise self._gone(reason)

    def _once(self, path: str, body: bytes | None, seconds: float) -> Reply:
        while self._idle:
            try:
                line = self._idle.pop()
            except IndexError:
                break
            try:
                return self._over(line, path, body, seconds)
            except TimeoutError:
                raise
            except (OSError, HTTPException):
                # The server has closed this idle connection. Try the next idle one, or open a new one if none is left.
                continue
        line = self._kind(self._host, self._port, timeout=CONNECT_TIMEOUT)
        line.connect()
        line.sock.settimeout(None)
        return self._over(line, path, body, seconds)

    def _over(self, line: HTTPConnection, path: str, body: bytes | None, seconds: float) -> Reply:
        try:
            headers = {} if body is None else {"Content-Type": JSON}
            with _time_limit(seconds, line.sock):
                line.request("GET" if body is None else "POST", self._folder + path, body, headers)
                _wait_for_answer(line.sock)
                response: HTTPResponse = line.getresponse()
                kind = response.headers.get_content_type()
                reply = Reply(response.status, kind, _body(response))
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
            f"The model server at {self.address} does not answer ({reason}): try again, or ask its administrator to "
            "start it."
        )


def _body(response: HTTPResponse) -> bytes:
    """Read a response's body; raise AnswerTooLongError if its announced or actual length exceeds the limit."""
    if response.length is not None and response.length > MAX_ANSWER_BYTES:
        raise AnswerTooLongError
    body = response.read() if response.length is not None else response.read(MAX_ANSWER_BYTES + 1)
    if len(body) > MAX_ANSWER_BYTES:
        raise AnswerTooLongError
    return body


class AnswerTooLongError(Exception):
    """The answer exceeds the maximum length."""


@contextmanager
def _time_limit(seconds: float, line: socket.socket) -> Iterator[None]:
    """Shut down a connection if the answer is not complete in time.

    A socket timeout would not be enough: it limits the wait for each part of an answer, and there may be many small
    parts.

    Raises:
        TimeoutError: the answer is not complete in time.
    """
    over = threading.Event()

    def close() -> None:
        over.set()
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, close)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, HTTPException) as error:
        if not over.is_set():
            raise
        raise TimeoutError from error
    finally:
        timer.cancel()
    if over.is_set():
        # An answer that was cut off can look complete.
        raise TimeoutError


def _wait_for_answer(line: socket.socket) -> None:
    """Wait until an answer begins, the connection is closed, or the current run is cancelled."""
    with selectors.DefaultSelector() as selector:
        selector.register(line, selectors.EVENT_READ)
        while not selector.select(CHECK_INTERVAL):
            check_cancelled()


def _close(lines: list[HTTPConnection]) -> None:
    while lines:
        lines.pop().close()
