from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pages.ui.change_attention.change_lines import change_lines
from pages.ui.measurements.own_sentences import head_table
from pages.ui.text.python_lines import effect_lines, effects_lines, head_lines, importance_lines
from transformer.ablation.effect import effect_of
from transformer.ablation.importance import head_importance
from transformer.analysis.view import view_of
from transformer.files.paths import MODEL
from transformer.measurements.effects import measure_effects
from transformer.values.interventions import Interventions
from transformer.values.kinds import KINDS

TEXT, TARGET = "It's an old “man”, target=1.", "Der alte Mann liest."


@pytest.fixture(params=[None, TARGET], ids=["own", "given"])
def target(request):
    return request.param


@pytest.fixture
def run(small_translator, monkeypatch, tmp_path):
    monkeypatch.setattr("transformer.running.translator.Translator.load", lambda: small_translator)
    monkeypatch.chdir(tmp_path)

    def run(lines):
        names = {}
        exec(compile(lines, "lines", "exec"), names)
        return names

    return run


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_python_code_of_a_head_reproduces_the_displayed_map(
    small_translator, run, tmp_path, kind, words, special, target
):
    trace = small_translator.trace(TEXT, target)
    lines = head_lines(trace, kind, 1, 0, folder=MODEL, given=target is not None, words=words, special=special)
    shown = view_of(trace, kind, words=words, special=special).weights[1, 0]
    assert np.array_equal(run(lines)["weights"], shown)
    written = np.loadtxt(tmp_path / "weights.csv", delimiter=",", ndmin=2)
    assert np.array_equal(written.astype(np.float32), shown), "no digit is lost"


def test_python_code_of_an_unmerged_map_reads_weights_from_the_trace():
    trace = SimpleNamespace(source_text=TEXT, target_text="")
    lines = head_lines(trace, "cross", 1, 0, folder=None, given=False, words=False, special=True)
    assert "weights = trace.cross[1, 0]" in lines and "view_of" not in lines


def test_python_code_loads_the_displayed_model():
    trace, folder = SimpleNamespace(source_text=TEXT, target_text=""), Path("models") / "it's another"
    changed = Interventions({("cross", 1, 0): 0.0})
    for lines in (
        head_lines(trace, "cross", 1, 0, folder=folder, given=False, words=False, special=True),
        effect_lines(trace, changed, folder=folder, given=False),
        importance_lines(trace, "zero", folder=folder, given=False),
        change_lines(trace, (), changed, (), folder=folder),
    ):
        assert """Translator.load("models/it's another")""" in lines


@pytest.mark.parametrize("mode", ["zero", pytest.param("uniform", marks=pytest.mark.thorough)])
def test_python_code_of_head_importance_reproduces_the_displayed_numbers(small_translator, run, mode, target):
    trace, given = small_translator.trace(TEXT, target), target is not None
    changed = Interventions({("cross", 1, 0): 0.0, ("encoder", 0, 1): 0.25}, mode)
    expected = effect_of(small_translator, TEXT, changed, target)
    effect = run(effect_lines(trace, changed, folder=None, given=given))["effect"]
    assert effect.free.equals(expected.free) and np.array_equal(effect.step_change, expected.step_change)
    found = run(importance_lines(trace, mode, folder=None, given=given))["found"]
    importance = head_importance(small_translator, TEXT, target, mode=mode)
    assert found.mode == mode
    for kind in KINDS:
        assert np.array_equal(found.measured[kind], importance.measured[kind])
        assert np.array_equal(found.estimated[kind], importance.estimated[kind])


def test_python_code_of_resample_ablation_contains_seed_and_draws():
    trace = SimpleNamespace(source_text=TEXT, target_text="")
    changed = Interventions({("cross", 1, 0): 0.0}, "resample", seed=7)
    lines = effect_lines(trace, changed, folder=None, given=False, draws=9)
    assert "'resample', seed=7)" in lines and "interventions=changed, draws=9)" in lines
    lines = importance_lines(trace, "resample", folder=None, given=False, seed=7, draws=9)
    assert "mode='resample', seed=7, draws=9)" in lines


def test_python_code_of_many_sentences_reproduces_the_displayed_table(small_translator, run, capsys):
    sentences = [TEXT, "A dog."]
    found = run(effects_lines(sentences, "off", "uniform", folder=None))["found"]
    shown = head_table(measure_effects(small_translator, sentences, mode="uniform"), "off")
    means = np.concatenate([found.mean("off", kind).mean.ravel() for kind in KINDS])
    assert np.array_equal(shown["mean"].to_numpy(), means) and "cross" in capsys.readouterr().out
