"""Tests of the reverse proxy with small servers; test_app_processes.py tests it with real app processes."""

import asyncio
import gzip
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Origin, Subprotocol

from attention_atlas import reverse_proxy
from attention_atlas.reverse_proxy import MAX_HEAD, Backend, ReverseProxy, read_request
from attention_atlas.static_copies import MAX_BYTES, StaticCopies
from attention_atlas.vote_endpoint import VoteEndpoint

PATIENCE = 30
COOKIE = "attention_atlas_8501"
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def test_forwarded_request_has_the_client_address_and_closes_the_connection():
    read = read_request(
        b"GET /?text=a HTTP/1.1\r\nHost: 10.1.2.3:8501\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n"
        b"Origin: http://10.1.2.3:8501\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n"
        b"cookie: a=1;attention_atlas_8501=12; b=2\r\n\r\n",
        COOKIE,
        "10.9.9.9",
    )
    assert read.head == (
        b"GET /?text=a HTTP/1.1\r\nHost: 10.1.2.3:8501\r\nOrigin: http://10.1.2.3:8501\r\n"
        b"cookie: a=1;attention_atlas_8501=12; b=2\r\nConnection: close\r\nX-Forwarded-For: 10.9.9.9\r\n\r\n"
    )
    assert read.backend == 12 and read.repeatable and not read.websocket


def test_local_proxy_is_trusted_and_a_websocket_is_forwarded():
    head = (
        b"GET /_stcore/stream HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
        b"X-Forwarded-For: 10.9.9.9\r\nX-Forwarded-Proto: https\r\n"
    )
    read = read_request(head + b"\r\n", COOKIE, "127.0.0.1")
    assert read.head == head + b"X-Forwarded-For: 127.0.0.1\r\n\r\n"
    assert read.backend is None and read.websocket


@pytest.mark.parametrize(
    ("target", "served"),
    [
        (b"/static/a.js", True),
        (b"/atlas/static/a.js", True),
        (b"/static/", False),
        (b"/static/a.js?x", False),
        (b"/media/a.js", False),
        (b"/static/" * 200_000 + b"?", False),
    ],
    ids=range(6),
)
def test_path_of_a_streamlit_file_is_recognised(target, served):
    found = read_request(b"GET " + target + b" HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n", COOKIE, "::1").file
    assert found == (target if served else None)


@pytest.mark.parametrize(
    "cookie",
    [
        b"other=attention_atlas_8501=1",
        b"attention_atlas_85011=1",
        b"xattention_atlas_8501=1",
        b"attention_atlas_8501=-1",
        b"attention_atlas_8501=1x",
        b"attention_atlas_8501=",
        b"attention_atlas_8501=99999999999",
    ],
)
def test_cookie_that_names_no_process_is_ignored(cookie):
    assert read_request(b"GET / HTTP/1.1\r\nCookie: " + cookie + b"\r\n\r\n", COOKIE, "::1").backend is None


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        (b"GET", b"Upgrade: websocket\r\n"),
        (b"GET", b"Connection: keep-alive\r\nUpgrade: websocket\r\n"),
        (b"GET", b"Connection: Upgrade\r\n"),
        (b"GET", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"),
        (b"POST", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    ],
    ids=repr,
)
def test_plain_http_connection_carries_only_one_request(method, fields):
    read = read_request(method + b" / HTTP/1.1\r\n" + fields + b"\r\n", COOKIE, "10.9.9.9")
    assert read.head == method + b" / HTTP/1.1\r\nConnection: close\r\nX-Forwarded-For: 10.9.9.9\r\n\r\n"
    assert not read.websocket


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\r\n", b"\n\r\n"], ids=repr)
def test_request_with_ambiguous_line_endings_is_rejected(end):
    async def visit() -> None:
        async with server(says("a")) as a, proxy([Backend(a)]) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nA: b" + end + b"X-Forwarded-For: 6.6.6.6\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
            writer.close()

    within(visit)


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[int]:
    """Run a server that handles each connection with `answer`; yield its port."""
    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()


@asynccontextmanager
async def proxy(backends: list[Backend]) -> AsyncIterator[int]:
    """Run a proxy in front of the given servers; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running = await ReverseProxy(backends, 8501, VoteEndpoint(8501, print)).start(listening)
        try:
            yield listening.getsockname()[1]
        finally:
            running.close()


def says(name: str, more: str = "") -> Answer:
    """Return a handler that answers every request with a name, after the header lines in `more`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\n{more}Content-Length: {len(name)}\r\n\r\n{name}".encode())
        writer.close()

    return answer


async def ask(port: int, cookie: str = "", request: str = "GET / HTTP/1.1", body: bytes = b"") -> tuple[str, str]:
    """Send a request; return the headers and the body of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{request}\r\nHost: a\r\nCookie: {cookie}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    head, _, said = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return head, said


def given(head: str) -> str:
    """Return the cookie that a response sets, or an empty string."""
    found = re.search(r"^Set-Cookie: ([^;]+); Path=/; HttpOnly; SameSite=Lax\r?$", head, flags=re.MULTILINE)
    return found[1] if found else ""


def within(what: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine with a timeout."""

    async def timed() -> None:
        async with asyncio.timeout(PATIENCE):
            await what()

    asyncio.run(timed())


def test_users_are_spread_evenly_and_keep_their_process():
    async def visit() -> None:
        async with server(says("a")) as a, server(says("b")) as b, proxy([Backend(a), Backend(b)]) as port:
            met = []
            for _ in range(10):
                head, name = await ask(port)
                cookie = given(head)
                assert cookie == f"attention_atlas_8501={'ab'.index(name)}"
                for _ in range(3):
                    head, again = await ask(port, cookie)
                    assert again == name and not given(head)
                met.append(name)
            assert sorted(met) == ["a"] * 5 + ["b"] * 5
            # A user counts towards the assigned process even before the page opens a websocket.
            async with proxy([Backend(a, websockets=2), Backend(b)]) as other:
                assert [(await ask(other))[1] for _ in range(4)] == ["b", "b", "a", "b"]

    within(visit)


def test_cached_static_files_get_no_cookie():
    async def visit() -> None:
        kept = "Cache-Control: public, immutable, max-age=31536000\r\n"
        async with server(says("a", kept)) as a, proxy([Backend(a)]) as port:
            head, name = await ask(port)
            assert name == "a" and not given(head)

    within(visit)


def test_immutable_file_is_compressed_only_once():
    text, asked = "const head = 1;\n" * 5_000, 0
    kept = "cache-control: public, immutable, max-age=31536000\r\nETag: x\r\nContent-Type: "

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        line = await reader.readline()
        kind = "font/woff2" if b"font" in line else "application/javascript; charset=utf-8"
        more = kept + kind + ("\r\nContent-Encoding: br" if b"packed" in line else "")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\n{more}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        writer.close()

    async def fetch(port: int, path: str, more: str = "Accept-Encoding: gzip, br\r\n") -> tuple[bytes, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return head, body

    async def visit() -> None:
        async with server(answer) as a, proxy([Backend(a)]) as port:
            for _ in range(3):
                head, body = await fetch(port, "/static/a.js")
                assert gzip.decompress(body).decode() == text and len(body) < len(text) / 50
                assert f"Content-Length: {len(body)}".encode() in head and b"Content-Encoding: gzip" in head
                assert b"Vary: Accept-Encoding" in head
                assert b"immutable" in head and b"ETag" not in head and b"Set-Cookie" not in head
            assert asked == 1
            for path, more in (
                ("/static/a.js", ""),
                ("/static/a.js", "Accept-Encoding: gzip\r\nRange: bytes=0-9\r\n"),
                ("/static/a.js?x", "Accept-Encoding: gzip\r\n"),
                ("/static/font", "Accept-Encoding: gzip\r\n"),
                ("/static/packed", "Accept-Encoding: gzip\r\n"),
                ("/media/a.js", "Accept-Encoding: gzip\r\n"),
                ("/static/a.js", "Accept-Encoding: gzip\r\nIf-None-Match: x\r\n"),
                ("/static/a.js", "Accept-Encoding: gzip\r\nIf-Modified-Since: Sat, 21 Nov 2026 08:00:00 GMT\r\n"),
            ):
                head, body = await fetch(port, path, more)
                assert body.decode() == text and b"gzip" not in head and b"ETag: x" in head, (path, more)
            assert asked == 9

    within(visit)


def test_static_file_is_not_cached_if_the_cache_is_full():
    copies = StaticCopies()
    for number in range(5):
        copies.keep(b"/%d" % number, bytes(MAX_BYTES // 4))
    assert [copies.get(b"/%d" % number) is not None for number in range(5)] == [True, True, True, True, False]


def test_users_of_an_exited_process_move_or_wait_if_none_is_left():
    async def visit() -> None:
        async with server(says("b")) as b:
            async with server(says("a")) as a:
                pass
            backends = [Backend(a), Backend(b)]
            async with proxy(backends) as port:
                head, name = await ask(port, "attention_atlas_8501=0")
                assert name == "b" and given(head) == "attention_atlas_8501=1"
                backends[1].port = None
                head, said = await ask(port, "attention_atlas_8501=1")
                assert head.startswith("HTTP/1.1 503 ") and "opens in a few seconds" in said
                assert f"Content-Length: {len(said)}\r\n" in head
                backends[1].port = b
                assert (await ask(port, "attention_atlas_8501=7"))[1] == "b"

    within(visit)


def test_request_moves_to_another_process_if_the_first_exits():
    async def ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def visit() -> None:
        async with server(ends) as a, server(says("b")) as b:
            async with proxy([Backend(a)]) as port:
                assert (await ask(port))[0].startswith("HTTP/1.1 503 ")
            async with proxy([Backend(a), Backend(b)]) as port:
                head, name = await ask(port, "attention_atlas_8501=0")
                assert name == "b" and given(head) == "attention_atlas_8501=1"
                # The body of the request has been consumed, so the proxy cannot ask another process.
                head, _ = await ask(port, "attention_atlas_8501=0", "POST / HTTP/1.1", b"body")
                assert head.startswith("HTTP/1.1 503 ")

    within(visit)


def test_proxy_forwards_a_large_body_and_rejects_a_too_long_header():
    async def counts(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(1_000_000)
        writer.write(f"HTTP/1.1 200 OK\r\n\r\n{len(body)}".encode())
        writer.close()

    async def visit() -> None:
        async with server(counts) as a, proxy([Backend(a)]) as port:
            assert (await ask(port, request="POST / HTTP/1.1", body=bytes(1_000_000)))[1] == "1000000"
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /" + b"a" * (MAX_HEAD + 1))
            assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")
            writer.close()

    within(visit)


def test_idle_connection_is_closed(monkeypatch):
    monkeypatch.setattr(reverse_proxy, "HEAD_TIMEOUT", 0.05)

    async def visit() -> None:
        async with proxy([]) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\n")
            assert await reader.read() == b""
            writer.close()

    within(visit)


def test_proxy_sends_no_faster_than_a_slow_browser_reads():
    sent = 0

    async def sends_much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(bytes(1 << 20))
                await writer.drain()
                sent += 1 << 20
        except OSError:
            # The browser has disconnected, and the proxy has closed its connection to the process.
            gone.set()

    gone = asyncio.Event()

    async def visit() -> None:
        async with server(sends_much) as a, proxy([Backend(a)]) as port:
            with socket.socket() as browser:
                browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                browser.setblocking(False)
                await asyncio.get_running_loop().sock_connect(browser, ("127.0.0.1", port))
                await asyncio.get_running_loop().sock_sendall(browser, b"GET / HTTP/1.1\r\n\r\n")
                before = -1
                while sent > before:
                    before = sent
                    await asyncio.sleep(0.5)
            # The server has sent no more than the buffers of three sockets can hold.
            assert sent < 100 << 20
            await gone.wait()

    within(visit)


@pytest.mark.parametrize("status", [b"200 OK", b"403 Forbidden", b"426 Upgrade Required"], ids=repr)
def test_connection_closes_after_a_rejected_websocket(status):
    """The proxy used to stop parsing requests after a rejection, so a forwarded request could claim a local address."""
    reached = []

    async def keeps(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer several requests on one connection, although the proxy asks for only one."""
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                reached.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\nno")
        writer.close()
        gone.set()

    gone = asyncio.Event()

    async def visit() -> None:
        backend = Backend()
        async with server(keeps) as backend.port, proxy([backend]) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            # The second request arrives before the response to the first.
            writer.write(
                b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                b"GET /again HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n"
            )
            answered = await reader.read()
            await gone.wait()
            writer.close()
        assert answered == b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        assert len(reached) == 1 and backend.websockets == 0

    within(visit)


def test_websocket_is_forwarded_unchanged_and_counts_as_an_open_page():
    async def echo(line: ServerConnection) -> None:
        assert line.request is not None
        for name in ("Host", "Origin", "Cookie"):
            await line.send(line.request.headers[name])
        async for message in line:
            await line.send(message)

    async def visit() -> None:
        async with AsyncExitStack() as stack:
            listening = [
                await stack.enter_async_context(serve(echo, "127.0.0.1", 0, subprotocols=[Subprotocol("streamlit")]))
                for _ in range(2)
            ]
            backends = [Backend(each.sockets[0].getsockname()[1]) for each in listening]
            port = await stack.enter_async_context(proxy(backends))
            origin = f"http://127.0.0.1:{port}"
            for number in range(4):
                line = await stack.enter_async_context(
                    connect(
                        f"ws://127.0.0.1:{port}/_stcore/stream",
                        subprotocols=[Subprotocol("streamlit")],
                        origin=Origin(origin),
                        additional_headers={"Cookie": f"_streamlit_xsrf={number}"},
                    )
                )
                assert line.subprotocol == "streamlit" and line.response is not None
                assert line.response.headers["Set-Cookie"].startswith("attention_atlas_8501=")
                heard = [await line.recv() for _ in range(3)]
                assert heard == [f"127.0.0.1:{port}", origin, f"_streamlit_xsrf={number}"]
                for message in (b"\x00\xff", bytes(range(256)) * 2_000, "ä"):
                    await line.send(message)
                    assert await line.recv() == message
            assert [each.websockets for each in backends] == [2, 2]
        # Users who have left are no longer counted.
        while any(each.websockets for each in backends):
            await asyncio.sleep(0.01)

    within(visit)
