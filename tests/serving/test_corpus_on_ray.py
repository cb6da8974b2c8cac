"""Heads measured over a corpus on a Ray cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from transformer.analysis.heads.statistics import Statistics
from transformer.corpus import PART, measure_corpus
from transformer.translator import Translator

pytestmark = pytest.mark.install

ROOT = Path(__file__).parents[2]
WORDS = ("dog", "cat", "child", "book", "garden", "house", "street")


def test_a_cluster_measures_what_one_process_does(python_with_ray, shipped: Translator, tmp_path):
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("".join(f"The {WORDS[n % 7]} is {n} years old.\n" for n in range(PART + 20)), encoding="utf-8")
    subprocess.run(
        [python_with_ray, "-m", "transformer.analysis", "measure", "--sentences", sentences,
         "--output", tmp_path / "heads.json", "--device", "cpu", "--cluster", "local"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, timeout=300,
    )
    part = measure_corpus(shipped, sentences, tmp_path / "state")
    expected = Statistics(shipped.version, part.sentences, part.heads)
    assert (tmp_path / "heads.json").read_text(encoding="utf-8") == expected.to_json() + "\n"
