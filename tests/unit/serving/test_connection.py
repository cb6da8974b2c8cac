"""Tests of connections to slow servers, and to servers that are not model servers."""

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from transformer.errors import ServerError
from transformer.serving import connection
from transformer.serving.connection import Connection

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@contextmanager
def dripping_server(at_once: bytes) -> Iterator[str]:
    """Run a server that sends the bytes `at_once` immediately, and the rest of its response one byte at a time."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(10_000)
            with suppress(OSError):
                self.request.sendall(at_once)
                for byte in (HEAD + b"1" * 100)[len(at_once) :]:
                    time.sleep(0.02)
                    self.request.sendall(bytes([byte]))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextmanager
def server(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that gives every client the same response; yield its URL and the list of requests received."""
    asked: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            asked.append(self.request.recv(10_000))
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}", asked
        listening.shutdown()


@pytest.mark.parametrize("at_once", [b"", HEAD[:20], HEAD], ids=["nothing", "a status", "all but the body"])
def test_slow_response_times_out(at_once):
    with dripping_server(at_once) as address, pytest.raises(ServerError, match="not send a complete answer in time"):
        Connection(address).ask("/", b"{}", seconds=0.5)


def test_slow_response_within_the_timeout_is_complete():
    with dripping_server(HEAD) as address:
        assert Connection(address).ask("/").body == b"1" * 100


@pytest.mark.parametrize("length", [10**14, 2**29 + 1])
def test_client_does_not_read_an_oversized_response(length):
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {length}\r\n\r\n"
    with server(head.encode()) as (address, asked), pytest.raises(ServerError, match="it is too long"):
        Connection(address).ask("/")
    assert len(asked) == 1


@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_request_is_retried_when_a_gateway_answers_with_status_503(monkeypatch, kind):
    monkeypatch.setattr(connection, "RETRY_DELAYS", (0.0, 0.0, 0.0))
    answer = f"HTTP/1.1 503 Unavailable\r\nContent-Type: {kind}\r\nContent-Length: 2\r\n\r\n{{}}"
    with server(answer.encode()) as (address, asked), pytest.raises(ServerError, match="HTTP status 503"):
        Connection(address).ask("/")
    assert len(asked) == 3
