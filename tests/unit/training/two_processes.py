"""Training with two processes: the test process, and another that runs given Python code."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent

import pytest

from transformer.training.distributed import Process, process_group

ROOT = Path(__file__).parents[3]
SECOND = """
import sys
from pathlib import Path
from transformer.training.distributed import process_group
with process_group("cpu") as process:
{code}
# A thread that outlives the process group can abort the process when Python exits.
assert not [name for thread in Path("/proc/self/task").glob("*/comm") if "gloo" in (name := thread.read_text())]
"""


@contextmanager
def two_processes(code: str, folder: Path) -> Iterator[Process]:
    """Start a second process, and yield this one as the first of the two; at the end, check that the second succeeded.

    Args:
        code: Python code of the second process, which may use `process`, `sys` and `Path`.
        folder: passed to the second process as `sys.argv[1]`.
    """
    lines = SECOND.format(code=indent(code.strip(), "    "))
    # Set the variables that torchrun sets, but without name lookups, which can fail without a network. The port is
    # outside the range from which the system assigns ports.
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "PYTHONPATH": str(ROOT),
            "GLOO_SOCKET_IFNAME": loopback,
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(20_000 + os.getpid() % 10_000),
            "RANK": "0",
        }.items():
            patch.setenv(name, value)
        other = subprocess.Popen(
            [sys.executable, "-c", lines, str(folder)],
            env=os.environ | {"RANK": "1"},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            with process_group("cpu") as process:
                yield process
        finally:
            said = other.communicate(timeout=300)[0]
    assert other.returncode == 0, said
