"""One command that starts several processes of the app behind one address."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from functools import partial

import psutil
import pytest

from attention_atlas import app_processes, command_line
from attention_atlas.reverse_proxy import Backend

PATIENCE = 120
COMMAND = (sys.executable, "-m", "attention_atlas", "--processes", "2")


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def ask(port: int, cookie: str = "") -> str:
    """The cookie that the app gives; empty for who has one already."""
    wish = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Cookie": cookie})
    with urllib.request.urlopen(wish, timeout=PATIENCE) as answer:
        assert b'<div id="root">' in answer.read()
        return answer.headers.get("Set-Cookie", "").partition(";")[0]


def is_warm(port: int, number: int) -> bool:
    """Whether a process has nothing left to load before it draws a page."""
    wish = urllib.request.Request(
        f"http://127.0.0.1:{port}/", headers={"Cookie": f"attention_atlas_{port}={number}"}
    )
    with urllib.request.urlopen(wish, timeout=PATIENCE) as answer:
        return b'data-seconds="0"' in answer.read()


def until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.thorough
def test_what_ends_is_started_again_and_ctrl_c_ends_everything(port):
    process = subprocess.Popen(
        [*COMMAND, f"--server.port={port}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # What a shell starts in the background ignores Ctrl-C, and so would the app of tests that run there.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    try:
        said = [process.stdout.readline() for _ in range(3)]
        assert said == ["\n", f"  Open http://localhost:{port}\n", "\n"]
        assert is_warm(port, 0) and is_warm(port, 1), "nobody has to open it first"
        app = psutil.Process(process.pid)
        first, second = app.children()
        assert {ask(port) for _ in range(4)} == {f"attention_atlas_{port}=0", f"attention_atlas_{port}=1"}
        first.kill()
        # Nobody waits for it: its visitors go to the other one at once.
        assert ask(port, f"attention_atlas_{port}=0") in (f"attention_atlas_{port}=1", "")
        until(lambda: len(app.children()) == 2 and first not in app.children())
        until(lambda: ask(port) == f"attention_atlas_{port}=0")
        assert is_warm(port, 0)
        processes = app.children()
        assert second in processes
    finally:
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and printed == ""
    assert errors == "A process of the app has ended (-9). Another is started; visitors go to the rest.\n"
    assert not psutil.wait_procs(processes, timeout=0)[1]
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_its_processes_end_with_it_whichever_way_it_ends(port):
    process = subprocess.Popen([*COMMAND, f"--server.port={port}"], stderr=subprocess.PIPE, text=True)
    until(lambda: psutil.Process(process.pid).children())
    processes = psutil.Process(process.pid).children()
    process.kill()
    assert process.communicate()[1] == ""
    assert not psutil.wait_procs(processes, timeout=PATIENCE)[1]


def test_what_is_wrong_is_said_once(port):
    done = subprocess.run([*COMMAND, f"--server.port={port}", "--nonsense"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("No such option") == 1
    assert done.stderr.endswith("error: the app did not start\n")


def test_a_process_that_has_ended_has_no_port():
    async def start() -> None:
        backend, listens, up = Backend(port=1), asyncio.Event(), asyncio.get_running_loop().create_future()
        await app_processes.keep_running(backend, ["--nonsense"], listens, up)
        assert backend.port is None and isinstance(up.exception(), app_processes.StartError)

    asyncio.run(start())


@pytest.mark.parametrize(("options", "address"), [
    (["--processes=2"], "localhost"), (["--lecture=10.1.2.3", "--processes=1"], "0.0.0.0"),
], ids=["two", "lecture"])
def test_a_port_that_is_taken_is_one_line(monkeypatch, capsys, port, options, address):
    """And nothing has been announced."""
    with socket.create_server(("127.0.0.1", port)):
        monkeypatch.setattr(sys, "argv", ["attention-atlas", *options, "--server.port", str(port)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
    message = str(ended.value)
    assert message.startswith(f"error: the app cannot be opened at {address}:{port} (") and "\n" not in message
    assert f"--server.port {port + 1}" in message and capsys.readouterr() == ("", "")


@pytest.mark.parametrize("options", [
    ("--processes", "0"), ("--processes=100000",), ("--processes=2", "--server.sslCertFile=cert.pem"),
    ("--lecture=10.1.2.3", "--processes=1", "--server.sslCertFile=cert.pem"),
], ids=" ".join)
def test_what_cannot_be_is_one_line(monkeypatch, options):
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *options])
    with pytest.raises(SystemExit, match="^error: .*--processes.*$"):
        command_line.main()


@pytest.mark.parametrize("port", ["85010", "-1", "0", "none", "²", "9" * 30])
@pytest.mark.parametrize("options", [("--processes=2",), ("--processes=1",), ("--lecture=10.1.2.3",)], ids=" ".join)
def test_a_port_that_is_none_is_one_line(monkeypatch, options, port):
    message = "^error: the app's port, .*, is a number from 1 to 65535, not .*$"
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *options, "--server.port", port])
    with pytest.raises(SystemExit, match=message):
        command_line.main()
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", port)
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *options])
    with pytest.raises(SystemExit, match=message):
        command_line.main()


def test_the_port_that_is_advised_is_one():
    with socket.create_server(("127.0.0.1", 65_535)), pytest.raises(SystemExit, match="--server.port 65534$"):
        app_processes.listen("127.0.0.1", 65_535)


def test_a_hall_has_a_process_for_each_processor_that_has_memory(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    for memory, count in (None, 4), (64_000_000_000, 4), (2_500_000_000, 2), (300_000_000, 1):
        monkeypatch.setattr(app_processes, "memory_available", lambda found=memory: found)
        assert app_processes.processes_for_many() == count
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert app_processes.processes_for_many() == 1


@pytest.mark.parametrize(("address", "expected"), [
    ("localhost", "http://localhost:8501"), ("0.0.0.0", "http://0.0.0.0:8501"), ("::1", "http://[::1]:8501"),
    ("", "http://localhost:8501"),
])
def test_the_address_that_is_printed_can_be_opened(address, expected):
    assert app_processes.url(address, 8501) == expected
