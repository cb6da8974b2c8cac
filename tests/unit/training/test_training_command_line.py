from __future__ import annotations

import json
import subprocess
import sys

import pytest


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "transformer.training", *map(str, arguments)], capture_output=True, text=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize("name", ["prepare", "train", "evaluate"])
def test_help(name):
    done = command(name, "--help")
    assert done.returncode == 0 and "--" in done.stdout


def test_from_pairs_to_scores(tmp_path, tokenizer):
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"the dog number {i}\tder Hund Nummer {i}\n" for i in range(40)), encoding="utf-8")
    run, given = tmp_path / "run", tmp_path / "given"
    given.mkdir()
    (given / "tokenizer.model").write_bytes(tokenizer.serialized)
    done = command("prepare", "--run", run, "--data", data, "--validation", data, "--from", given)
    assert done.returncode == 0, done.stderr
    sizes = ("--d-model", 16, "--heads", 2, "--layers", 1, "--d-ff", 16, "--steps", 2, "--batch-pieces", 256)
    done = command("train", "--run", run, "--device", "cpu", *sizes)
    assert done.returncode == 0, done.stderr
    done = command("evaluate", "--model", run / "model", "--data", data, "--device", "cpu", "--beam", 2, "--json")
    assert done.returncode == 0, done.stderr
    assert {"bleu", "chrf", "bleu_signature", "chrf_signature", "sentences"} <= json.loads(done.stdout).keys()


def test_errors_are_one_line(tmp_path):
    done = command("train", "--run", tmp_path / "nowhere")
    assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
