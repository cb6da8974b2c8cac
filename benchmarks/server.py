"""A server of the app as a process of its own, and what that holds and uses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def server(processes: int = 1) -> Iterator[tuple[str, int]]:
    """A fresh server, as `attention-atlas` starts it; gives its address without the protocol, and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attention_atlas", f"--processes={processes}", f"--server.port={port}",
               "--server.address=127.0.0.1"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def family(process: int) -> list[int]:
    """A process, and those that it has started."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(int(child) for task in tasks for child in task.read_text(encoding="ascii").split())]


def memory(process: int, field_name: str) -> float:
    """MB that a process and those that it has started hold (VmRSS), or held at most since each began (VmHWM)."""
    status = (Path(f"/proc/{each}/status").read_text(encoding="ascii") for each in family(process))
    return sum(int(text.split(f"{field_name}:")[1].split()[0]) for text in status) / 1024


def processor(process: int) -> float:
    """Seconds of processor time that a process and those that it has started have used."""
    stat = (Path(f"/proc/{each}/stat").read_text(encoding="ascii") for each in family(process))
    fields = (text.rsplit(")", 1)[1].split() for text in stat)
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
