import json
from io import BytesIO

import numpy as np
import pytest

from transformer.values.interventions import Interventions
from transformer.values.trace import Trace

TEXTS = ["The dog.", "a\x00b \ud83d </s> ▁", "日本 🙂"]


@pytest.fixture(params=TEXTS)
def trace(request, small_translator):
    return small_translator.trace(request.param, details=request.param == TEXTS[0])


def test_trace_survives_an_npz_round_trip(trace, tmp_path):
    path = tmp_path / "trace.data"
    trace.to_npz(path)
    assert Trace.from_npz(path).equals(trace)


def test_trace_survives_a_json_round_trip(trace):
    text = trace.to_json()
    assert Trace.from_json(text).equals(trace)
    assert json.loads(text)["source_text"] == trace.source_text


def test_saved_trace_keeps_every_type_of_intervention(small_translator, tmp_path):
    interventions = Interventions(
        gates={("cross", 0, 1): 0.5},
        mode="uniform",
        attention={("encoder", 1, 2, 0): {2: 0.25}},
        hidden_source=[1],
        hidden_target=[0],
        positions=False,
    )
    trace = small_translator.trace("The dog.", interventions=interventions)
    trace.to_npz(tmp_path / "trace.npz")
    for again in (Trace.from_npz(tmp_path / "trace.npz"), Trace.from_json(trace.to_json())):
        assert again.interventions == interventions


def test_trace_file_names_its_model_and_interventions(small_translator, tmp_path):
    off = Interventions(gates={("cross", 0, 1): 0.5}, mode="uniform")
    small_translator.trace("The dog sleeps.", interventions=off).to_npz(tmp_path / "trace.npz")
    again = Trace.from_npz(tmp_path / "trace.npz")
    assert again.model == small_translator.version and again.interventions == off
    older = json.loads(again.to_json())
    del older["model"]
    assert Trace.from_json(json.dumps(older)).model == ""
    assert small_translator.trace_decoding("The dog sleeps.").trace.model == small_translator.version


def test_trace_can_be_saved_to_an_open_file(trace):
    file = BytesIO()
    trace.to_npz(file)
    file.seek(0)
    assert Trace.from_npz(file).equals(trace)


def test_saved_trace_can_be_read_with_plain_numpy(trace, tmp_path):
    trace.to_npz(tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["cross"], trace.cross)
        assert file["source_pieces"].tolist() == [token.text for token in trace.source_tokens]
        assert file["target_pieces"][0] == "<s>"


def test_changing_a_loaded_trace_raises_an_error(trace, tmp_path):
    trace.to_npz(tmp_path / "trace.npz")
    with pytest.raises(ValueError, match="read-only"):
        Trace.from_npz(tmp_path / "trace.npz").cross[...] = 0


def test_traces_of_different_texts_are_not_equal(small_translator, trace):
    assert not small_translator.trace("Another one").equals(trace)
