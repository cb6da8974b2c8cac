"""Tests of behaviour that all commands share: Ctrl-C, a closed pipe, and letters that the terminal cannot encode."""

import io
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from transformer.commands.terminal import INTERRUPTED_STATUS, errors_without_traceback


def start(*arguments, encoding="utf-8", **more):
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)],
        stderr=subprocess.PIPE,
        encoding=encoding,
        **more,
        # A shell's background processes ignore Ctrl-C, and child processes inherit this setting, so restore the
        # default.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def interrupted(process: subprocess.Popen) -> str:
    """Send Ctrl-C until a process ends, and return its stderr."""
    while True:
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired:
            # The signal arrived between Python's last check and the blocking read, so the read was not interrupted.
            continue


def side_to_write(pipe: Path, reader: subprocess.Popen) -> int:
    """Return the write end of a named pipe, once the process `reader` has opened the read end."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert reader.poll() is None, "it reads nothing from a pipe"
            time.sleep(0.05)


def test_ctrl_c_prints_one_line_if_the_terminal_cannot_encode_a_letter(monkeypatch, capsys):
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", written)
    with pytest.raises(SystemExit) as ended, errors_without_traceback():
        print("日")
        raise KeyboardInterrupt
    written.flush()
    assert ended.value.code == INTERRUPTED_STATUS and capsys.readouterr().err == "stopped\n"
    assert written.buffer.getvalue() == b"\\u65e5\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("transformer.training", "overlap", "--data", "none", "--held-out"),
        *(
            pytest.param(arguments, marks=pytest.mark.thorough)
            for arguments in (
                ("attention_atlas", "importance", "--output", "heads.json", "--sentences"),
                ("transformer.analysis", "gallery", "--output", "heads.json", "--sentences"),
                ("transformer.language_modelling", "continue", "--file"),
            )
        ),
    ],
    ids=" ".join,
)
def test_ctrl_c_is_reported_in_one_line(tmp_path, arguments):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    process = start(*arguments, path)
    with os.fdopen(side_to_write(path, process), "w"):
        # The command waits for input that never arrives.
        errors = interrupted(process)
    assert (process.returncode, errors) == (130, "stopped\n")


@pytest.mark.thorough
def test_ctrl_c_is_reported_in_one_line_while_several_processes_load(tmp_path):
    sentences, output = tmp_path / "sentences.txt", tmp_path / "heads.json"
    sentences.write_text("A dog.\n", encoding="utf-8")
    process = start(
        "attention_atlas",
        "measure",
        "--processes",
        "2",
        "--sentences",
        sentences,
        "--output",
        output,
        start_new_session=True,
    )
    app = psutil.Process(process.pid)
    # One child process only tracks the semaphores of the other processes, so wait for a second child process.
    while len(app.children()) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    # Send the signal to the whole process group, as a terminal does.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 1 and errors.startswith("stopped; results are saved only") and errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == [sentences]


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [("attention_atlas", "lessons", "claims"), ("transformer", "info")], ids=" ".join)
def test_closed_output_pipe_causes_no_error_message(model_folder, arguments):
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes) as output:
        process = start(*arguments, *(("--model", model_folder) if "info" in arguments else ()), stdout=output)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (141, "")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("encoding", "shown"), [("ascii", r"Ein H\xfcnd \u65e5\u672c."), ("cp1252", r"Ein Hünd \u65e5\u672c.")]
)
def test_letter_that_the_terminal_cannot_encode_is_replaced(model_folder, encoding, shown):
    process = start(
        "attention_atlas",
        "translate",
        "A dog.",
        "--target",
        "Ein Hünd 日本.",
        "--model",
        model_folder,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        encoding=encoding,
    )
    assert process.communicate() == (f"{shown}\n", "") and process.returncode == 0
