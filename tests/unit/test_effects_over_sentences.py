"""Tests that `measure_effects` measures every head on each of many sentences."""

from io import BytesIO

import numpy as np
import pytest

from transformer.ablation.importance import head_importance
from transformer.analysis.heads.metrics import head_metrics
from transformer.commands.measure import main
from transformer.files.records import pack, unpack
from transformer.measurements.effects import NO_EFFECTS, HeadEffects, effects_of_file, measure_effects
from transformer.measurements.importance import bootstrap, importance_statistics
from transformer.values.interventions import Interventions
from transformer.values.kinds import KINDS

TEXTS = ["I have a dream.", "A dog.", ("word " * 2000).strip(), "The old man reads."]


@pytest.fixture(scope="module")
def found(small_translator):
    return measure_effects(small_translator, TEXTS)


def same(one, other):
    return pack(one) == pack(other)


def test_survey_of_head_effects_matches_the_measurements_of_each_sentence(small_translator, found):
    read = [text for text in TEXTS if len(text) < 100]
    assert list(found.texts) == read and found.skipped == (TEXTS[2],) and found.read == 4
    worth = head_importance(small_translator, read[2])
    trace = small_translator.trace(read[2])
    for kind in KINDS:
        np.testing.assert_allclose(found.values["off"][kind][2], worth.measured[kind], atol=1e-5)
        scores = small_translator.tokenizer.key_scores(kind)
        entropy = head_metrics(trace, kind, scores).values["entropy"]
        np.testing.assert_allclose(found.values["entropy"][kind][2], entropy, atol=1e-5)
    assert found.translations[2] == trace.target_text and "encoder" not in found.values.get("written", {})
    statistics = importance_statistics(small_translator, read)
    np.testing.assert_allclose(found.mean("off", "cross").low, statistics.measured["cross"].low, atol=1e-5)


def test_choice_of_replacement_changes_only_the_effects_of_switching_heads_off(small_translator, found):
    even = measure_effects(small_translator, TEXTS[:1], mode="uniform")
    worth = head_importance(small_translator, TEXTS[0], mode="uniform")
    np.testing.assert_allclose(even.values["off"]["cross"][0], worth.measured["cross"], atol=1e-5)
    for name in even.values.keys() - {"off", "changed"}:
        for kind, values in even.values[name].items():
            np.testing.assert_allclose(values, found.values[name][kind][:1], atol=1e-5)


def test_head_counts_as_changing_a_translation_if_any_token_differs(small_translator, found):
    changed = found.values["changed"]["cross"][1]
    for layer, head in np.ndindex(changed.shape):
        off = Interventions({("cross", layer, head): 0.0})
        other = small_translator.translate(TEXTS[1], interventions=off).tokens
        own = small_translator.translate(TEXTS[1]).tokens
        assert bool(changed[layer, head]) == ([token.id for token in other] != [token.id for token in own])


def test_surveys_of_single_sentences_add_up_to_the_survey_of_all_sentences(small_translator, found):
    parts = [measure_effects(small_translator, [text]) for text in TEXTS]
    assert same(sum(parts, start=NO_EFFECTS), found)


def test_resumed_survey_gives_the_same_result_as_an_uninterrupted_survey(small_translator, tmp_path, found):
    path, state = tmp_path / "mine.txt", tmp_path / "state"
    path.write_text("\n\n".join(TEXTS), encoding="utf-8")
    seen = []

    def stop(read, so_far):
        seen.append(read)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        effects_of_file(small_translator, path, state, stop)
    again = effects_of_file(small_translator, path, state, lambda read, so_far: seen.append(read))
    assert seen == [1, 2, 3, 4] and same(again, found)
    assert same(unpack(pack(again), HeadEffects), found)


def test_survey_archive_contains_every_measurement(found):
    file = BytesIO()
    found.to_npz(file)
    saved = np.load(BytesIO(file.getvalue()), allow_pickle=False)
    assert tuple(saved["texts"]) == found.texts
    for name, kinds in found.values.items():
        for kind, each in kinds.items():
            assert np.array_equal(saved[f"{name}.{kind}"], each, equal_nan=True)


def test_survey_reports_a_file_without_readable_sentences(small_translator, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("word " * 2000, encoding="utf-8")
    with pytest.raises(ValueError, match="no sentence that the model can read"):
        effects_of_file(small_translator, path, tmp_path / "state")


def test_effects_command_writes_the_archive(small_translator, tmp_path, monkeypatch, capsys, found):
    monkeypatch.setattr("transformer.commands.measure.model_of", lambda options: small_translator)
    (tmp_path / "mine.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    main(["effects", "--sentences", str(tmp_path / "mine.txt"), "--output", str(tmp_path / "out.npz")])
    assert np.array_equal(np.load(tmp_path / "out.npz")["off.cross"], found.values["off"]["cross"])
    assert "3 sentences" in capsys.readouterr().out and not (tmp_path / "out.npz.partial").exists()


def test_survey_mean_excludes_sentences_without_a_measurement():
    values = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    mean = bootstrap(values)
    assert mean.mean[0] == 2 and 1 <= mean.low[0] <= 2 <= mean.high[0] and np.isnan(mean.mean[1])
