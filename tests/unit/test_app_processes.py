"""Tests of the command that starts several app processes behind one port."""

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
    """Return the cookie that the app sets, or an empty string if it sets none."""
    wish = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Cookie": cookie})
    with urllib.request.urlopen(wish, timeout=PATIENCE) as answer:
        assert b'<div id="root">' in answer.read()
        return answer.headers.get("Set-Cookie", "").partition(";")[0]


def is_warm(port: int, number: int) -> bool:
    """Return whether a worker process has loaded everything needed to render a page."""
    wish = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Cookie": f"attention_atlas_{port}={number}"})
    with urllib.request.urlopen(wish, timeout=PATIENCE) as answer:
        return b'data-seconds="0"' in answer.read()


def until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.thorough
def test_exited_process_is_restarted_and_ctrl_c_stops_all_processes(port):
    process = subprocess.Popen(
        [*COMMAND, f"--server.port={port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background processes ignore Ctrl-C, and child processes inherit this setting, so restore the
        # default.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    try:
        said = [process.stdout.readline() for _ in range(5)]
        assert said[:3] == ["\n", f"  Open http://localhost:{port}\n", "\n"]
        assert f"http://localhost:{port}/vote/lecturer?" in said[3]
        assert is_warm(port, 0) and is_warm(port, 1), "nobody has to open it first"
        app = psutil.Process(process.pid)
        first, second = app.children()
        assert {ask(port) for _ in range(4)} == {f"attention_atlas_{port}=0", f"attention_atlas_{port}=1"}
        first.kill()
        # No user waits for the restart: users of the dead process move to the other process at once.
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
    assert errors == "A worker exited with code -9; restarting it. Users are served by the other workers.\n"
    assert not psutil.wait_procs(processes, timeout=0)[1]
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_worker_processes_end_when_their_parent_is_killed(port):
    process = subprocess.Popen([*COMMAND, f"--server.port={port}"], stderr=subprocess.PIPE, text=True)
    until(lambda: psutil.Process(process.pid).children())
    processes = psutil.Process(process.pid).children()
    process.kill()
    assert process.communicate()[1] == ""
    assert not psutil.wait_procs(processes, timeout=PATIENCE)[1]


def test_startup_error_of_several_processes_is_reported_once(port):
    done = subprocess.run([*COMMAND, f"--server.port={port}", "--nonsense"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("No such option") == 1
    assert done.stderr.endswith("error: the app did not start: its process exited with code 2\n")


def test_users_are_not_sent_to_an_exited_process():
    async def start() -> None:
        backend, listens, up = Backend(port=1), asyncio.Event(), asyncio.get_running_loop().create_future()
        await app_processes.keep_running(backend, ["--nonsense"], listens, up)
        assert backend.port is None and isinstance(up.exception(), app_processes.StartError)

    asyncio.run(start())


@pytest.mark.parametrize(
    ("options", "address"),
    [(["--processes=2"], "localhost"), (["--lecture=10.1.2.3", "--processes=1"], "0.0.0.0")],
    ids=["two", "lecture"],
)
def test_occupied_port_is_reported_in_one_line(monkeypatch, capsys, port, options, address):
    """Also checks that the app prints no URL before the error."""
    with socket.create_server(("127.0.0.1", port)):
        monkeypatch.setattr(sys, "argv", ["attention-atlas", *options, "--server.port", str(port)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
    message = str(ended.value)
    assert message.startswith(f"error: the app cannot listen on {address}:{port} (") and "\n" not in message
    assert f"--server.port {port + 1}" in message and capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "options",
    [
        ("--processes", "0"),
        ("--processes=100000",),
        ("--processes=2", "--server.sslCertFile=cert.pem"),
        ("--lecture=10.1.2.3", "--processes=1", "--server.sslCertFile=cert.pem"),
    ],
    ids=" ".join,
)
def test_invalid_number_of_processes_is_reported_in_one_line(monkeypatch, options):
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *options])
    with pytest.raises(SystemExit, match="^error: .*--processes.*$"):
        command_line.main()


@pytest.mark.parametrize("port", ["85010", "-1", "0", "none", "²", "9" * 30])
@pytest.mark.parametrize("options", [("--processes=2",), ("--processes=1",), ("--lecture=10.1.2.3",)], ids=" ".join)
def test_invalid_port_is_reported_in_one_line(monkeypatch, options, port):
    message = "^error: the app's port, .*, must be a number from 1 to 65535, not .*$"
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *options, "--server.port", port])
    with pytest.raises(SystemExit, match=message):
        command_line.main()
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", port)
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *options])
    with pytest.raises(SystemExit, match=message):
        command_line.main()


def test_error_about_the_occupied_port_65535_suggests_port_65534():
    with socket.create_server(("127.0.0.1", 65_535)), pytest.raises(SystemExit, match="--server.port 65534$"):
        app_processes.listen("127.0.0.1", 65_535)


def test_default_process_count_is_limited_by_cpus_memory_and_a_maximum(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    for memory, count in (None, 4), (64_000_000_000, 4), (2_500_000_000, 2), (300_000_000, 1):
        monkeypatch.setattr(app_processes, "memory_available", lambda found=memory: found)
        assert app_processes.default_process_count() == count
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert app_processes.default_process_count() == 1


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("localhost", "http://localhost:8501"),
        ("0.0.0.0", "http://0.0.0.0:8501"),
        ("::1", "http://[::1]:8501"),
        ("", "http://localhost:8501"),
    ],
)
def test_printed_url_has_an_address_that_a_browser_can_open(address, expected):
    assert app_processes.url(address, 8501) == expected
