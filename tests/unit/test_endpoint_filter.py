"""Tests which requests a real server with the shipped settings accepts."""

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest, BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLsRequest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from pages.ui.server.endpoint_filter import is_needed
from transformer.files.paths import APP

PATIENCE = 120
HANDSHAKE = (
    "GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Protocol: streamlit\r\n{more}\r\n"
)


# Starts a module as `python -m` does, and records name lookups, connections, listening sockets and child processes.
WATCHED = """
import runpy, socket, sys
notes = open(sys.argv.pop(1), "a", buffering=1)
def note(event, arguments):
    # Connecting a UDP socket sends nothing; Streamlit does so to find this machine's own address.
    if event in ("socket.connect", "socket.bind", "socket.sendto") and arguments[0].family != socket.AF_UNIX:
        if event != "socket.connect" or arguments[0].type == socket.SOCK_STREAM:
            print(event, arguments[1][0], file=notes)
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen"):
        print(event, arguments[0], file=notes)
sys.addaudithook(note)
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@contextmanager
def serving(*command: str, log: int | IO[str] = subprocess.DEVNULL) -> Iterator[int]:
    """Run a server in a Python process, and yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, *command, f"--server.port={port}"], cwd=APP, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            try:
                # Status 503 means that the app is still starting.
                if answer(port, "GET", "/")[0] != 503:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


@pytest.fixture(
    scope="module",
    params=[
        ("streamlit", "run", "app.py"),
        pytest.param(("attention_atlas", "--processes=2"), marks=pytest.mark.thorough),
    ],
    ids=["one process", "two processes"],
)
def port(request):
    """Yield the port of a server that is started as the README says."""
    with serving("-m", *request.param) as port:
        yield port


def knock(port: int, host: str, more: str = "") -> int:
    """Return the HTTP status of the server's response to a request for a websocket."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(HANDSHAKE.format(host=host, more=more).encode())
        return int(line.recv(1_000).split()[1])


def answer(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        line.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answered = line.getresponse()
        return answered.status, answered.read()
    finally:
        line.close()


def test_session_opens_only_for_host_names_of_this_machine(port):
    assert knock(port, f"localhost:{port}") == knock(port, f"127.0.0.1:{port}") == 101
    others = ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "")
    for name in others:
        assert knock(port, name) in (400, 403), name


@pytest.mark.parametrize(
    "command",
    [pytest.param(("streamlit", "run", "app.py"), marks=pytest.mark.thorough), ("attention_atlas",)],
    ids=" ".join,
)
def test_server_contacts_no_other_machine_at_startup_or_when_other_sites_connect(tmp_path, command):
    """Streamlit used to look up the server's public IP address whenever a page on another site tried to connect."""
    notes = tmp_path / "notes"
    with serving("-c", WATCHED, str(notes), *command) as port:
        for origin in ("http://evil.example", "https://evil.example:8501", "http://192.0.2.1", "null"):
            assert knock(port, f"localhost:{port}", f"Origin: {origin}\r\n") == 403, origin
    asked = [line.split() for line in notes.read_text().splitlines() if line.startswith("socket.")]
    assert ["socket.bind", "127.0.0.1"] in asked or ["socket.bind", "localhost"] in asked, "the notes are kept"
    assert {host for _, host in asked} <= {"127.0.0.1", "localhost", "::1"}, asked


def test_connection_to_any_address_but_loopback_fails(port):
    addresses = {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        if address.startswith("127."):
            continue
        with pytest.raises(OSError):
            socket.create_connection((address, port), timeout=2).close()


@pytest.mark.parametrize(
    "path",
    [
        "/app/static/examples.json",
        "/app/static/../app.py",
        "/static/../../../app.py",
        "/app.py",
        "/.streamlit/config.toml",
        "/static/%2e%2e/%2e%2e/app.py",
        "/media/../app.py",
        "/assets/models/en-de/config.json",
        "//etc/passwd",
        "/component/x/../../app.py",
        "/_stcore/bidi-components/x/../../../../app.py",
        "/_stcore/agent/interact",
    ],
)
def test_server_does_not_serve_project_files(port, path):
    """Requests for these paths get Streamlit's page or an error. The app's content is sent only through a session."""
    status, body = answer(port, "GET", path)
    assert status in (400, 403, 404, 405) or b'<div id="root">' in body, (status, body[:200])
    assert b"streamlit as st" not in body and b"d_model" not in body and b"root:" not in body


@pytest.mark.thorough
def test_server_warms_up_without_a_user(port):
    deadline = time.monotonic() + PATIENCE
    while b'data-seconds="0"' not in answer(port, "GET", "/decoding")[1]:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def stream(port: int) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=[Subprotocol("streamlit")])


def heard(line: ClientConnection, last: str) -> list[ForwardMsg]:
    """Return the server's messages up to the first one of a given type."""
    said = [ForwardMsg()]
    while said[-1].WhichOneof("type") != last:
        data = line.recv(PATIENCE)
        assert isinstance(data, bytes)
        said.append(ForwardMsg.FromString(data))
    return said[1:]


def operation(name: str, **payload: Any) -> BackMsg:
    return BackMsg(backend_operation_request=BackendOperationRequest(request_id=name, **payload))


def test_server_answers_only_messages_that_a_page_needs(tmp_path):
    """A two-byte message once started git processes, which delayed all users. Another caused a response a hundred times
    as large as the message.
    """
    notes = tmp_path / "notes"
    with serving("-c", WATCHED, str(notes), "streamlit", "run", "app.py") as port, stream(port) as line:
        for message in (
            BackMsg(load_git_info=True),
            BackMsg(clear_cache=True),
            BackMsg(set_run_on_save=True),
            BackMsg(file_urls_request=FileURLsRequest(file_names=["a", "b"])),
            BackMsg(),
            operation("install", install_skills={}),
            operation("dismiss", dismiss_skills_nudge={}),
            operation("rows", dataframe_chunk={}),
            operation("nothing"),
            BackMsg(app_heartbeat=True),
            operation("file", deferred_file={}),
        ):
            line.send(message.SerializeToString())
        # The server handles messages in order, so the response to the last one comes after all other responses.
        said = heard(line, "backend_operation_response")
    assert [answer.WhichOneof("type") for answer in said] == ["heartbeat_ack", "backend_operation_response"]
    assert said[-1].backend_operation_response.request_id == "file"
    assert "subprocess.Popen git" not in notes.read_text().splitlines()


@pytest.mark.thorough
def test_invalid_message_ends_a_session_and_logs_nothing(tmp_path):
    """The server used to log a traceback for each binary message, and fifty lines for each text message."""
    with (tmp_path / "log").open("w+") as log:
        with serving("-m", "streamlit", "run", "app.py", log=log) as port:
            for nonsense in "text", "", b"\xff", BackMsg(rerun_script=ClientState()).SerializeToString()[:-1] + b"\xff":
                with stream(port) as line, pytest.raises(ConnectionClosed):
                    line.send(nonsense)
                    line.recv(PATIENCE)
            with stream(port) as line:
                line.send(BackMsg(app_heartbeat=True).SerializeToString())
                heard(line, "heartbeat_ack")
        log.seek(0)
        said = log.read()
    assert "Traceback" not in said and "rror" not in said, said


def test_no_client_can_clear_the_shared_caches():
    """Without the endpoint filter, Streamlit would clear the caches and send no response."""
    assert is_needed(BackMsg(rerun_script=ClientState())) and not is_needed(BackMsg(clear_cache=True))


def test_metrics_endpoint_does_not_publish_the_number_of_users(port):
    for path in ("/_stcore/metrics", "/_stcore/metrics?families=active_sessions"):
        status, body = answer(port, "GET", path)
        assert status == 404 or b'<div id="root">' in body, (status, body[:200])


def test_no_client_can_upload_a_file(port):
    """Covers a client that has a session and an XSRF token."""
    with stream(port) as line:
        line.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        answered = heard(line, "new_session")[-1]
        form = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + b"a" * 99 + b"\r\n--x--\r\n"
        token = generate_xsrf_token_string()
        session = answered.new_session.initialize.session_id
        # With several processes, a cookie identifies the process that holds the session.
        assert line.response is not None
        process = line.response.headers.get("Set-Cookie", "").partition(";")[0]
        status, said = answer(
            port,
            "PUT",
            f"/_stcore/upload_file/{session}/some-file",
            form,
            X_Xsrftoken=token,
            Content_Type="multipart/form-data; boundary=x",
            Cookie=f"_streamlit_xsrf={token}; {process}",
        )
    assert (status, said) == (413, b"File too large")
