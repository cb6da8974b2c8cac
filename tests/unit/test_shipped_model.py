"""The model that ships: what it wrote when it was trained, and that its heads do something."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from transformer.analysis.heads import head_metrics
from transformer.analysis.statistics import Statistics
from transformer.trace import KINDS
from transformer.translator import MODEL, Translator

TRANSLATIONS = json.loads(Path(__file__).with_name("shipped_translations.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shipped():
    return Translator.load(device="cpu")


@pytest.mark.parametrize("english", TRANSLATIONS)
def test_it_writes_what_its_card_says(shipped, english):
    assert shipped.translate(english).target_text == TRANSLATIONS[english]
    assert f"- {english} → *{TRANSLATIONS[english]}*" in shipped.card


def test_the_numbers_over_many_sentences_are_of_this_model(shipped):
    statistics = Statistics.from_json((MODEL.parents[1] / "head_statistics.json").read_text(encoding="utf-8"))
    assert statistics.model == shipped.version


@pytest.mark.parametrize("kind", KINDS)
def test_its_heads_differ(shipped, kind):
    """No kind has all of its heads within 0.1 nats of even attention."""
    trace = shipped.translate("The old man is reading a newspaper in the garden.")
    entropy = head_metrics(trace, kind, shipped.tokenizer.scores).values["entropy"]
    even = np.log(trace.mask(kind).sum(axis=1)).mean()
    assert (even - entropy > 0.1).sum() > entropy.size / 2
    assert entropy.std() > 0.1
