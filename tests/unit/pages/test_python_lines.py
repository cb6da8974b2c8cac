"""The lines of Python that a page shows compute what it shows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pages.ui.text.python_lines import effect_lines, head_lines, importance_lines
from transformer.ablation.effect import effect_of
from transformer.ablation.importance import head_importance
from transformer.interventions import Interventions
from transformer.kinds import KINDS

TEXT, TARGET = "It's an old “man”, target=1.", "Der alte Mann liest."


@pytest.fixture(params=[None, TARGET], ids=["own", "given"])
def target(request):
    return request.param


@pytest.fixture
def run(small_translator, monkeypatch, tmp_path):
    monkeypatch.setattr("transformer.translator.Translator.load", lambda: small_translator)
    monkeypatch.chdir(tmp_path)

    def run(lines):
        names = {}
        exec(compile(lines, "lines", "exec"), names)
        return names

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_one_head(small_translator, run, tmp_path, kind, target):
    trace = small_translator.trace(TEXT, target)
    lines = head_lines(trace, kind, 1, 0, given=target is not None)
    assert len(lines.splitlines()) == 5
    assert np.array_equal(run(lines)["weights"], trace.attention(kind)[1, 0])
    written = np.loadtxt(tmp_path / "weights.csv", delimiter=",", ndmin=2)
    assert np.array_equal(written.astype(np.float32), trace.attention(kind)[1, 0]), "no digit is lost"


@pytest.mark.parametrize("mode", ["zero", "uniform"])
def test_what_heads_are_worth(small_translator, run, mode, target):
    trace, given = small_translator.trace(TEXT, target), target is not None
    changed = Interventions({("cross", 1, 0): 0.0, ("encoder", 0, 1): 0.25}, mode)
    expected = effect_of(small_translator, TEXT, changed, target)
    effect = run(effect_lines(trace, changed, given=given))["effect"]
    assert effect.free.equals(expected.free) and np.array_equal(effect.step_change, expected.step_change)
    found = run(importance_lines(trace, mode, given=given))["found"]
    importance = head_importance(small_translator, TEXT, target, mode=mode)
    assert found.mode == mode
    for kind in KINDS:
        assert np.array_equal(found.measured[kind], importance.measured[kind])
        assert np.array_equal(found.estimated[kind], importance.estimated[kind])


def test_what_heads_are_worth_for_other_sentences():
    trace = SimpleNamespace(source_text=TEXT, target_text="")
    changed = Interventions({("cross", 1, 0): 0.0}, "resample", seed=7)
    lines = effect_lines(trace, changed, given=False, draws=9)
    assert "'resample', seed=7)" in lines and "interventions=changed, draws=9)" in lines
    assert "mode='resample', seed=7, draws=9)" in importance_lines(trace, "resample", given=False, seed=7, draws=9)
