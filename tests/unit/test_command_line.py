from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from transformer.trace import Trace


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "transformer", *map(str, arguments)], capture_output=True, text=True, encoding="utf-8"
    )


def test_translates_and_writes_the_trace(model_folder, small_translator, tmp_path):
    path = tmp_path / "dream.npz"
    done = command("translate", "I have a dream.", "--model", model_folder, "--device", "cpu", "--trace", path)
    assert done.returncode == 0 and done.stderr == ""
    trace = small_translator.translate("I have a dream.")
    assert done.stdout.rstrip("\n") == trace.target_text
    written = Trace.from_npz(path)
    np.testing.assert_allclose(written.cross, trace.cross, atol=1e-6)
    assert written.encoder.shape == trace.encoder.shape


def test_prints_json_of_a_given_translation(model_folder):
    done = command("translate", "A dog.", "--target", "Ein Hund.", "--model", model_folder, "--json")
    assert json.loads(done.stdout)["target_text"] == "Ein Hund."


def test_info_names_every_part(model_folder, small_translator):
    done = command("info", "--model", model_folder)
    assert "multi-head cross-attention" in done.stdout and f"{small_translator.parameters:,}" in done.stdout


def test_errors_are_one_line(model_folder, tmp_path):
    for arguments in (
        ("translate", "", "--model", model_folder),
        ("info", "--model", tmp_path),
        ("translate", "x", "--model", model_folder, "--trace", tmp_path / "no" / "such" / "folder.npz"),
    ):
        done = command(*arguments)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
