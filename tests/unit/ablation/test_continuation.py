import numpy as np
import pytest

from tests.conftest import ONE_SHAPE
from transformer.ablation.continuation import candidates, continue_from, default_step, reread
from transformer.values.interventions import AS_TRAINED, Interventions

TEXT = "The old man reads a book."
TARGET = "Der alte Mann liest ein Buch."


def everywhere(kind, row, column, shape):
    layers, heads = shape[:2]
    return {(kind, layer, head, row): {column: 1.0} for layer in range(layers) for head in range(heads)}


@pytest.fixture
def before(shaped_translator):
    return shaped_translator.trace(TEXT, TARGET)


def test_model_without_edits_reproduces_its_translation_from_any_step(shaped_translator):
    # The text is short, because one of the models has learned embeddings for only a few positions.
    own = shaped_translator.trace("I have a dream.")
    after = reread(shaped_translator, own, AS_TRAINED)
    assert after.equals(own)
    for step in (None, 0, 2, 999):
        found = continue_from(shaped_translator, own, after, step)
        # The output may be longer than the translation: a longer prefix allows a longer output, and untrained models
        # never predict the end symbol.
        ids = [token.id for token in own.predicted_tokens]
        assert [token.id for token in found.written.tokens[: len(ids)]] == ids
        assert not found.step_change.any() and found.next_tokens[0] == found.next_tokens[1]


@ONE_SHAPE
def test_edited_model_continues_from_the_tokens_before_the_chosen_step(shaped_translator, before):
    changed = Interventions(attention=everywhere("cross", 3, 1, before.cross.shape))
    after = reread(shaped_translator, before, changed)
    np.testing.assert_array_equal(after.cross[:, :, 3, 1], 1.0)
    np.testing.assert_array_equal(after.log_probs[:3], before.log_probs[:3])
    found = continue_from(shaped_translator, before, after)
    assert found.step == default_step(before, after) == 3
    read = [token.id for token in before.predicted_tokens]
    assert [token.id for token in found.written.tokens[:3]] == read[:3]
    # The first token after the prefix is the most likely token at this step in the pass over the whole translation.
    assert found.written.tokens[3].id == found.next_tokens[1] == int(after.candidate_ids[3, 0])
    assert continue_from(shaped_translator, before, after, 1).written.tokens[1].id == int(after.candidate_ids[1, 0])


@ONE_SHAPE
def test_default_step_is_the_first_step_whose_prediction_changes(shaped_translator, before):
    changed = Interventions(attention=everywhere("encoder", 2, 0, before.encoder.shape), hidden_source=[1, 3])
    after = reread(shaped_translator, before, changed)
    differs = np.flatnonzero(before.candidate_ids[:, 0] != after.candidate_ids[:, 0])
    expected = differs[0] if len(differs) else np.abs(after.log_probs - before.log_probs).argmax()
    assert default_step(before, after) == expected
    # Editing a row beyond the translation changes nothing, so the first step is chosen.
    beyond = Interventions(attention={("decoder", 0, 0, 50): {0: 1.0}})
    assert default_step(before, reread(shaped_translator, before, beyond)) == 0


@ONE_SHAPE
def test_candidate_probabilities_of_both_runs_match_the_traces(shaped_translator, before):
    after = reread(shaped_translator, before, Interventions(hidden_source=[0, 2, 4]))
    rows = candidates((before, after), 2, 5)
    ids = [token for token, _ in rows]
    assert len(set(ids)) == len(ids) and {*before.candidate_ids[2, :5], *after.candidate_ids[2, :5]} == set(ids)
    for token, log_probs in rows:
        for trace, log_prob in zip((before, after), log_probs, strict=True):
            at = np.flatnonzero(trace.candidate_ids[2] == token)
            assert np.isnan(log_prob) if not len(at) else log_prob == trace.candidate_log_probs[2, at[0]]
    most = [np.nanmax(log_probs) for _, log_probs in rows]
    assert most == sorted(most, reverse=True)
