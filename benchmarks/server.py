"""Starts the app's server in a separate process, and reads the memory and processor time of it and its children."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def server(processes: int = 1) -> Iterator[tuple[str, int, Callable[[], str]]]:
    """Start a new server as the command `attention-atlas` does, and stop it on exit.

    Yields:
        The server's address (host:port), its process id, and a function that returns the server's output so far.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "attention_atlas",
        f"--processes={processes}",
        f"--server.port={port}",
        "--server.address=127.0.0.1",
    ]
    with tempfile.TemporaryFile() as output:

        def printed() -> str:
            return os.pread(output.fileno(), 1 << 20, 0).decode()

        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.DEVNULL)
        try:
            # Wait until all processes are warm and the URL is printed.
            # Otherwise, the first process to answer would get all users.
            while processes > 1 and process.poll() is None and "http://" not in printed():
                time.sleep(0.1)
            while process.poll() is None:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"127.0.0.1:{port}", process.pid, printed
        finally:
            process.terminate()
            process.wait(timeout=30)


def family(process: int) -> list[int]:
    """Return the ids of a process and its child processes."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(int(child) for task in tasks for child in task.read_text(encoding="ascii").split())]


def memory(process: int, field_name: str) -> float:
    """Return the memory of a process and its children in MB: current for "VmRSS", peak for "VmHWM"."""
    status = (Path(f"/proc/{each}/status").read_text(encoding="ascii") for each in family(process))
    return sum(int(text.split(f"{field_name}:")[1].split()[0]) for text in status) / 1024


def processor(process: int) -> float:
    """Return the processor time, in seconds, used by a process and its child processes."""
    stat = (Path(f"/proc/{each}/stat").read_text(encoding="ascii") for each in family(process))
    fields = (text.rsplit(")", 1)[1].split() for text in stat)
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
