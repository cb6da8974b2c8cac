"""Tests that files, names and URLs from the first releases are still valid. The files in tests/unit/former were
written by the code at commit 4d2b19a.
"""

from pathlib import Path

import numpy as np
import pytest

import transformer
from pages.ui.params.state import State
from pages.ui.params.switch_heads_off import OffParams
from pages.ui.params.what_mattered import MatteredParams
from transformer.checkpoints.checkpoint import load_language_model
from transformer.running.runs.scores import ContrastsRun
from transformer.running.wire_form import read_run, write_run
from transformer.values.trace import KINDS, Trace

FORMER = Path(__file__).parent / "former"
TEXT, TARGET = "I have a dream.", "Ich habe einen Traum."


@pytest.mark.parametrize("kept", ["npz", "json"])
def test_trace_saved_by_an_old_version_matches_a_new_trace(kept):
    translator = transformer.Translator.load(FORMER / "translator", "cpu")
    gates = transformer.Interventions({("cross", 0, 1): 0.5})
    if kept == "npz":
        former = Trace.from_npz(FORMER / "trace.npz")
        today = translator.trace(TEXT, TARGET, details=True, interventions=gates)
        assert former.details.keys() <= today.details.keys() and former.interventions == gates
    else:
        former = Trace.from_json((FORMER / "trace.json").read_text(encoding="utf-8"))
        today = translator.trace(TEXT, TARGET)
    assert former.source_pieces == today.source_tokens and former.target_text == TARGET
    for kind in KINDS:
        np.testing.assert_allclose(former.attention(kind), today.attention(kind), atol=1e-6)


def test_language_model_saved_by_an_old_version_is_read():
    assert load_language_model(FORMER / "language_model", "cpu").model.config.decoder_layers == 1


def test_old_url_restores_its_sentence_and_switched_off_heads():
    state = State.from_address({"text": TEXT, "off_heads": "cross.1.2", "layer": "3"})
    assert state.text == TEXT and state.of(OffParams) != OffParams()


def test_token_fields_with_their_former_names_are_read_from_old_files():
    former = Trace.from_json((FORMER / "trace.json").read_text(encoding="utf-8"))
    assert former.source_pieces == former.source_tokens and former.target_pieces == former.target_tokens
    assert former.predicted_pieces == former.predicted_tokens
    assert State.from_address({"text": TEXT, "mattered_pieces": "true"}).of(MatteredParams).tokens
    run = ContrastsRun('"pieces": a word', (4, 5), 0, (6, 7), ())
    experiment = bytes(write_run(run)).replace(b'"tokens"', b'"pieces"')
    assert read_run(experiment, ContrastsRun) == run
