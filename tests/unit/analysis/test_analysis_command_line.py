from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from transformer.analysis.statistics import Statistics, statistics_of

SENTENCES = Path(__file__).parents[3] / "assets" / "sentences.txt"


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "transformer.analysis", *map(str, arguments)], capture_output=True, text=True,
        encoding="utf-8",
    )


def test_measures_the_sentences_of_a_file(model_folder, small_translator, tmp_path):
    sentences, output = tmp_path / "sentences.txt", tmp_path / "heads.json"
    sentences.write_text("I have a dream.\n\nA dog\n", encoding="utf-8")
    done = command("--sentences", sentences, "--output", output, "--model", model_folder, "--device", "cpu")
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("2 sentences\n")
    found = Statistics.from_json(output.read_text(encoding="utf-8"))
    traces = [small_translator.translate(text) for text in ("I have a dream.", "A dog")]
    expected = statistics_of(traces, small_translator.tokenizer.scores, small_translator.version)
    assert (found.sentences, found.model) == (2, small_translator.version)
    np.testing.assert_allclose(
        found.heads["encoder"].values["entropy"], expected.heads["encoder"].values["entropy"], atol=1e-4
    )


def test_errors_are_one_line(model_folder, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n", encoding="utf-8")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Grün".encode("latin-1"))
    for sentences in (empty, latin, tmp_path / "nowhere.txt"):
        done = command("--sentences", sentences, "--output", tmp_path / "heads.json", "--model", model_folder)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_the_shipped_sentences():
    sentences = SENTENCES.read_text(encoding="utf-8").splitlines()
    assert len(sentences) == len(set(sentences)) == 200
    assert all(3 <= len(sentence.split()) <= 20 for sentence in sentences)
    assert sum(sentence.endswith("?") for sentence in sentences) >= 20
    assert not any("Tom" in sentence for sentence in sentences)
