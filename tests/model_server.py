"""A model server without Ray: the real service behind Python's own HTTP server."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from transformer.serving.answers import Reply
from transformer.serving.service import Service


class Broken(Exception):
    """Raised by a service to simulate a dying replica; the server then answers with status 500, in plain text."""


@contextmanager
def model_server(service: Service, port: int = 0) -> Iterator[str]:
    """Run a server for a service, and yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.respond(b"")

        def do_POST(self) -> None:
            self.respond(self.rfile.read(int(self.headers["Content-Length"])))

        def respond(self, body: bytes) -> None:
            try:
                run = service.parse(self.command, self.path, body)
                reply = run if isinstance(run, Reply) else service.answer(run)
            except Broken:
                reply = Reply(500, "text/plain", b"Internal Server Error")
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def __init__(self) -> None:
            super().__init__(("127.0.0.1", port), Handler)
            self.lines: list[socket.socket] = []

        def get_request(self):
            line = super().get_request()
            self.lines.append(line[0])
            return line

        def close_lines(self) -> None:
            """Close all open client connections, as an exiting process does."""
            for line in self.lines:
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
                line.close()

    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
            server.close_lines()
