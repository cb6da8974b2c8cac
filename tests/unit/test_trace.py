from __future__ import annotations

import json

import numpy as np
import pytest

from transformer.options import RunOptions
from transformer.trace import Trace

TEXTS = ["The dog.", "a\x00b \ud83d </s> ▁", "日本 🙂"]


@pytest.fixture(params=TEXTS)
def trace(request, small_translator):
    return small_translator.translate(request.param, details=request.param == TEXTS[0])


def test_survives_the_way_through_npz(trace, tmp_path):
    path = tmp_path / "trace.data"
    trace.to_npz(path)
    assert Trace.from_npz(path).equals(trace)


def test_survives_the_way_through_json(trace):
    text = trace.to_json()
    assert Trace.from_json(text).equals(trace)
    assert json.loads(text)["source_text"] == trace.source_text


def test_the_files_say_what_the_run_left_out(small_translator, tmp_path):
    options = RunOptions(positions=False)
    trace = small_translator.translate("The dog.", options=options)
    trace.to_npz(tmp_path / "trace.npz")
    assert Trace.from_npz(tmp_path / "trace.npz").options == Trace.from_json(trace.to_json()).options == options


def test_npz_is_plain_numpy(trace, tmp_path):
    trace.to_npz(tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["cross"], trace.cross)
        assert file["source_pieces"].tolist() == [piece.text for piece in trace.source_pieces]
        assert file["target_pieces"][0] == "<s>"


def test_a_loaded_trace_cannot_be_changed_either(trace, tmp_path):
    trace.to_npz(tmp_path / "trace.npz")
    with pytest.raises(ValueError, match="read-only"):
        Trace.from_npz(tmp_path / "trace.npz").cross[...] = 0


def test_another_trace_is_not_equal(small_translator, trace):
    assert not small_translator.translate("Another one").equals(trace)
