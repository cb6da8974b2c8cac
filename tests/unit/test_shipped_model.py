"""Tests of the shipped model: translations recorded after training, and the variety of its heads."""

import json
from pathlib import Path

import numpy as np
import pytest

from transformer.analysis.heads.gallery import Gallery
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.heads.statistics import Statistics
from transformer.analysis.view import view_of
from transformer.running.translator import MODEL
from transformer.values.trace import KINDS

TRANSLATIONS = json.loads(Path(__file__).with_name("shipped_translations.json").read_text(encoding="utf-8"))


# A tenth of the sentences suffices in most test runs, because another test checks all of them at once.
@pytest.mark.parametrize(
    "english",
    [
        english if number % 10 == 0 else pytest.param(english, marks=pytest.mark.thorough)
        for number, english in enumerate(TRANSLATIONS)
    ],
)
def test_shipped_model_reproduces_the_translations_on_its_model_card(shipped, english):
    assert shipped.trace(english).target_text == TRANSLATIONS[english]


def test_model_card_contains_every_tested_translation(shipped):
    assert [
        english for english, german in TRANSLATIONS.items() if f"- {english} → *{german}*" not in shipped.card
    ] == []


def test_batched_and_single_sentences_have_the_same_translations(shipped):
    written = {}
    shipped.trace_together(list(TRANSLATIONS), written.setdefault)
    assert [written[number].target_text for number in range(len(written))] == list(TRANSLATIONS.values())


def test_recorded_head_statistics_belong_to_the_shipped_model(shipped):
    statistics = Statistics.from_json((MODEL.parents[1] / "head_statistics.json").read_text(encoding="utf-8"))
    assert statistics.model == shipped.version


def test_shipped_gallery_belongs_to_the_shipped_model(shipped):
    """Regenerate the gallery with `python -m transformer.analysis gallery` whenever the model or the sentences
    change.
    """
    gallery = Gallery.from_json((MODEL.parents[1] / "head_gallery.json").read_text(encoding="utf-8"))
    assert gallery.model == shipped.version and gallery.sentences == 200
    assert sum(exhibit.passes for exhibit in gallery.exhibits) >= 6, "heads of a trained model do something"
    for exhibit in gallery.exhibits:
        assert exhibit.share > exhibit.everyone and len(exhibit.examples) == 3, exhibit.task
        example = exhibit.examples[0]
        trace = shipped.trace(example.text)
        assert trace.target_text == example.target
        view = view_of(trace, exhibit.kind, words=example.words)
        row = view.axes.row_positions.index(example.rows)
        weights = view.weights[exhibit.layer, exhibit.head, row][view.mask[row]]
        np.testing.assert_allclose(weights, example.weights, atol=1e-3, err_msg=exhibit.task)


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_half_of_the_shipped_heads_differ_from_uniform_attention(shipped, kind):
    """More than half of the heads of each kind differ from uniform attention by more than 0.1 nats of entropy."""
    trace = shipped.trace("The old man is reading a newspaper in the garden.")
    entropy = head_metrics(trace, kind, shipped.tokenizer.scores).values["entropy"]
    even = np.log(trace.mask(kind).sum(axis=1)).mean()
    assert (even - entropy > 0.1).sum() > entropy.size / 2
    assert entropy.std() > 0.1
