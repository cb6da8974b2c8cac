"""Reverse proxy: one URL in front of several app processes.

A connection carries one request or one websocket. The proxy reads the head of the request, chooses a process, changes a
few headers, and adds a cookie or compression to some responses. All other bytes pass through unchanged, in both
directions and no faster than the receiver accepts them. The process therefore checks `Host`, `Origin`, cookies and
tokens as if there were no proxy. The proxy makes the process close the connection after its response. A second
request, whose head the proxy has not read, therefore never reaches the process. The proxy itself answers requests to
the vote endpoint and requests for static files that it has cached.
"""

import asyncio
import re
import socket
from dataclasses import dataclass
from ipaddress import ip_address

from attention_atlas.static_copies import StaticCopies, compress, compressible_length
from attention_atlas.vote_endpoint import VoteEndpoint, vote_request

# Size limits in bytes: for a request's head, which is long if the URL encodes slides, and for each chunk passed on.
MAX_HEAD = 1 << 16
CHUNK = 1 << 16
# Timeouts in seconds, for a request's head to arrive and for an app process to accept a connection. The first is long,
# because browsers open connections before they need them.
HEAD_TIMEOUT = 60.0
CONNECT_TIMEOUT = 2.0
# Seconds within which a newly loaded page is expected to open its websocket.
ARRIVAL_TIMEOUT = 10.0
# The paths of Streamlit's own files contain this part, whatever the app's base path is.
STATIC_PATH = b"/static/"
# Line endings that an app process or another server accepts, but this proxy does not.
BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)")

STARTING = b"Attention Atlas is starting. This page opens in a few seconds."
UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
    b"Retry-After: 2\r\nRefresh: 2\r\nConnection: close\r\n\r\n%b" % (len(STARTING), STARTING)
)
# End of an HTTP response without a body, after which the connection closes.
NO_BODY = b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
BAD_REQUEST = b"HTTP/1.1 400 Bad Request" + NO_BODY
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large" + NO_BODY


@dataclass
class Backend:
    """An app process behind the proxy.

    Attributes:
        port: local port on which the process listens; None while it is not listening.
        websockets: number of open websockets, one per open page.
        expected: number of users sent to the process in the last ARRIVAL_TIMEOUT seconds, with or without a websocket.
        turn: number of the latest new user sent to the process; 0 for none. All processes share one numbering of users.
    """

    port: int | None = None
    websockets: int = 0
    expected: int = 0
    turn: int = 0


@dataclass(frozen=True)
class ProxiedRequest:
    """Parsed head of a request.

    Attributes:
        head: head as it is sent to the app process.
        backend: index of the process that the browser's cookie names; None without a cookie.
        websocket: whether the request opens a websocket.
        repeatable: whether the request has no body, so that it can be sent to another process if the first one exits
            before it responds.
        file: path of one of Streamlit's own files, if the browser accepts a compressed copy of the whole file;
            otherwise None.
    """

    head: bytes
    backend: int | None
    websocket: bool
    repeatable: bool
    file: bytes | None


def read_request(head: bytes, cookie: str, peer: str) -> ProxiedRequest:
    """Parse the head of a request.

    Args:
        head: head of the request, including the empty line at the end.
        cookie: name of the cookie with the index of an app process.
        peer: IP address of the client.

    Raises:
        ValueError: a line ends in a lone CR or LF, so the app process might split the head into different lines.
    """
    if BARE_LINE_END.search(head):
        raise ValueError("a line of the request head ends in a lone CR or LF")
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    fields_by_name = [(field.partition(b":")[0].lower(), field) for field in fields]
    method, _, target = line.rpartition(b" ")[0].partition(b" ")
    # A websocket needs both upgrade headers. If one is missing, the app process answers normally and then waits for
    # another request, so the connection must not be treated as a websocket.
    websocket = method == b"GET" and all(
        any(name == header and token in field.lower() for name, field in fields_by_name)
        for header, token in ((b"connection", b"upgrade"), (b"upgrade", b"websocket"))
    )
    left_out: set[bytes] = set()
    if not websocket:
        # Make the app process close the connection after its response: a proxy in the network may share one connection
        # among several browsers, so the next request may come from another browser.
        left_out |= {b"connection", b"keep-alive", b"upgrade"}
    if not ip_address(peer.partition("%")[0]).is_loopback:
        # An app process trusts X-Forwarded headers from this machine, so remove those that a remote client sent.
        left_out |= {name for name, _ in fields_by_name if name.startswith(b"x-forwarded-")}
    passed_fields = [field for name, field in fields_by_name if name not in left_out]
    if not websocket:
        passed_fields.append(b"Connection: close")
    passed_fields.append(b"X-Forwarded-For: " + peer.encode("ascii"))
    wanted = re.compile(rb"[:;]\s*" + re.escape(cookie.encode("ascii")) + rb"=(\d{1,3})\s*(?:;|$)")
    cookie_match = next(
        (match for name, field in fields_by_name if name == b"cookie" and (match := wanted.search(field))), None
    )
    names = {name for name, _ in fields_by_name}
    packed = any(name == b"accept-encoding" and b"gzip" in field for name, field in fields_by_name)
    file = b"?" not in target and STATIC_PATH in target[:-1]
    is_whole = not names & {b"range", b"if-none-match", b"if-modified-since"}
    return ProxiedRequest(
        b"\r\n".join([line, *passed_fields, b"", b""]),
        int(cookie_match[1]) if cookie_match else None,
        websocket,
        repeatable=method in (b"GET", b"HEAD"),
        file=target if method == b"GET" and file and packed and is_whole else None,
    )


class ReverseProxy:
    """Assigns each browser to one app process, and keeps it there with a cookie.

    A browser must stay with its process, because its session and the files of its pages exist only there. An IP address
    cannot identify a browser, because a whole lecture hall shares one address.

    Args:
        backends: app processes; their ports may change at any time.
        public_port: port of the app, which is part of the cookie's name, because all ports of a machine share cookies.
        endpoint: endpoint that answers requests about votes.
    """

    def __init__(self, backends: list[Backend], public_port: int, endpoint: VoteEndpoint) -> None:
        self._endpoint = endpoint
        self._backends = backends
        self._cookie = f"attention_atlas_{public_port}"
        self._turns = 0
        self._copies = StaticCopies()

    async def start(self, listening: socket.socket) -> asyncio.Server:
        """Start answering requests on a socket."""
        return await asyncio.start_server(self._answer, sock=listening, limit=MAX_HEAD)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection from a browser, from the first byte to the last."""
        peer = writer.get_extra_info("peername")
        try:
            async with asyncio.timeout(HEAD_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
            # A client that disconnected at once has no address.
            if peer is None:
                return
            try:
                request = read_request(head, self._cookie, peer[0])
            except ValueError:
                writer.write(BAD_REQUEST)
                return
            if (vote := vote_request(head)) is not None:
                writer.write(await self._endpoint.answer(vote, reader))
                return
            await self._pass_on(request, reader, writer)
        except asyncio.LimitOverrunError:
            writer.write(TOO_LARGE)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The browser or the app process has disconnected, the HTTP head took too long, or the proxy is stopping.
            # In each case, a response is impossible or not expected.
            pass
        finally:
            writer.close()

    async def _pass_on(
        self, request: ProxiedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if request.file is not None and (copy := self._copies.get(request.file)) is not None:
            writer.write(copy)
            return
        tried: set[int] = set()
        while (opened := await self._connect(request, tried)) is not None:
            number, app_reader, app_writer = opened
            backend = self._backends[number]
            backend.websockets += request.websocket
            sending: asyncio.Task[None] | None = None
            try:
                app_writer.write(request.head)
                if not request.repeatable:
                    sending = asyncio.create_task(_send(reader, app_writer))
                try:
                    head = await app_reader.readuntil(b"\r\n\r\n")
                    if (packed := await self._packed(request, head, app_reader)) is not None:
                        writer.write(packed)
                        return
                except (OSError, asyncio.IncompleteReadError):
                    # The app process has just exited, so try another one if possible.
                    if request.repeatable:
                        continue
                    break
                if request.websocket and not head.startswith(b"HTTP/1.1 101 "):
                    # The browser expects the bytes of a websocket only after
                    # status 101, so send nothing but the status of the rejection.
                    writer.write(head.partition(b"\r\n")[0] + NO_BODY)
                    return
                sending = sending or asyncio.create_task(_send(reader, app_writer))
                # Proxies may cache an immutable file for all users, so it must not carry a cookie.
                if request.backend != number and b"immutable" not in head:
                    cookie = f"Set-Cookie: {self._cookie}={number}; Path=/; HttpOnly; SameSite=Lax\r\n\r\n"
                    head = head.removesuffix(b"\r\n") + cookie.encode("ascii")
                writer.write(head)
                await _pump(app_reader, writer)
                return
            finally:
                backend.websockets -= request.websocket
                if sending is not None:
                    sending.cancel()
                app_writer.close()
        writer.write(UNAVAILABLE)

    async def _packed(self, request: ProxiedRequest, head: bytes, app_reader: asyncio.StreamReader) -> bytes | None:
        """Cache and return a compressed copy of a whole response; None if the response passes through unchanged."""
        if request.file is None or (length := compressible_length(head)) is None:
            return None
        packed = await asyncio.to_thread(compress, head, await app_reader.readexactly(length))
        self._copies.keep(request.file, packed)
        return packed

    async def _connect(
        self, request: ProxiedRequest, tried: set[int]
    ) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Connect to an app process that is not in `tried`; return its index and the connection, or None if there is no
        such process.
        """
        while (number := self._choose(request.backend, tried)) is not None:
            tried.add(number)
            backend = self._backends[number]
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    reader, writer = await asyncio.open_connection("127.0.0.1", backend.port, limit=MAX_HEAD)
            except OSError:
                # The app process has just exited or does not respond, so try another one.
                continue
            if request.backend != number:
                self._turns += 1
                backend.turn = self._turns
                if not request.websocket:
                    backend.expected += 1
                    asyncio.get_running_loop().call_later(ARRIVAL_TIMEOUT, self._arrived, backend)
            return number, reader, writer
        return None

    def _choose(self, wanted: int | None, tried: set[int]) -> int | None:
        """Return `wanted` if it runs and is not in `tried`, else such a process with the fewest pages, or None."""
        there = [
            number for number, backend in enumerate(self._backends) if backend.port is not None and number not in tried
        ]
        if wanted in there:
            return wanted

        def pages(number: int) -> tuple[int, int]:
            backend = self._backends[number]
            return backend.websockets + backend.expected, backend.turn

        return min(there, key=pages, default=None)

    @staticmethod
    def _arrived(backend: Backend) -> None:
        backend.expected -= 1


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes until the sender closes the connection, as fast as the receiver accepts them."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()


async def _send(reader: asyncio.StreamReader, app_writer: asyncio.StreamWriter) -> None:
    """Send an app process everything that a browser sends after the request head.

    Errors are ignored, because the process may respond without reading everything.
    """
    try:
        await _pump(reader, app_writer)
        # The browser has disconnected.
        app_writer.close()
    except OSError:
        pass
