import math

import numpy as np
import pytest

from tests.conftest import ONE_SHAPE
from transformer.decoding.texts import MAX_TOKENS
from transformer.errors import SettingsError, TextError
from transformer.text.tokenizer import END
from transformer.values.decoding_settings import METHODS, DecodingSettings
from transformer.values.interventions import Interventions
from transformer.values.translation import HypothesisState

TEXT = "The old man reads a book."


def ids(traced):
    return tuple(token.id for token in traced.translation.tokens)


def test_greedy_decoding_matches_the_trace(small_translator):
    trace = small_translator.trace(TEXT)
    traced = small_translator.trace_decoding(TEXT, DecodingSettings())
    assert traced.trace.equals(trace) and traced.translation.tree is None
    assert traced.translation.tokens == trace.predicted_tokens and traced.translation.complete == trace.complete
    assert traced.translation.log_prob == pytest.approx(float(trace.log_probs.sum()), abs=1e-4)
    np.testing.assert_array_equal(traced.ranks, 1)


@pytest.mark.parametrize(
    "method", [method if method == "greedy" else pytest.param(method, marks=pytest.mark.thorough) for method in METHODS]
)
def test_forcing_a_prefix_of_the_model_translation_changes_nothing(shipped, method):
    settings = DecodingSettings(method, temperature=1.2, seed=3)
    free = shipped.trace_decoding(TEXT, settings)
    assert free.translation.complete
    for length in (1, len(ids(free)) - 1, len(ids(free))):
        assert ids(shipped.trace_decoding(TEXT, settings, prefix=ids(free)[:length])) == ids(free)


@pytest.mark.parametrize("method", METHODS)
def test_translation_begins_with_its_forced_prefix_and_avoids_suppressed_tokens(shipped, method):
    prefix = shipped.tokenizer.encode_ids("Ein Hund", end=False)
    traced = shipped.trace_decoding(TEXT, DecodingSettings(method), prefix=prefix)
    assert list(ids(traced)[: len(prefix)]) == prefix and traced.translation.text.startswith("Ein Hund")
    suppressed = ids(traced)[len(prefix)]
    other = shipped.trace_decoding(TEXT, DecodingSettings(method), prefix=prefix, suppressed=frozenset({suppressed}))
    assert suppressed not in ids(other)[len(prefix) :]
    rows = np.arange(len(prefix))
    probs = np.exp(traced.trace.log_probs[rows])
    assert (traced.ranks[rows] > 1).any() and (probs < 1).all(), "the prefix has the model's own probability"


@pytest.mark.parametrize("method", METHODS)
def test_forced_prefix_that_is_a_whole_translation_is_returned_unchanged(shipped, method):
    target = "Der Hund liest ein Buch."
    traced = shipped.trace_decoding(TEXT, DecodingSettings(method), prefix=shipped.tokenizer.encode_ids(target))
    read = shipped.trace(TEXT, target)
    assert traced.translation.text == target and traced.translation.complete
    np.testing.assert_array_equal(traced.trace.log_probs, read.log_probs)
    np.testing.assert_array_equal(traced.trace.cross, read.cross)


def test_logit_lens_of_the_last_layer_matches_the_model_output(shipped, small_translator):
    for translator in (shipped, small_translator):
        traced = translator.trace_decoding(TEXT, DecodingSettings())
        layers, count = traced.logit_lens, traced.logit_lens.candidate_ids.shape[-1]
        assert layers.taken.shape == (translator.config.decoder_layers, len(ids(traced)))
        np.testing.assert_array_equal(layers.candidate_ids[-1], traced.trace.candidate_ids[:, :count])
        np.testing.assert_array_equal(layers.candidate_log_probs[-1], traced.trace.candidate_log_probs[:, :count])
        np.testing.assert_array_equal(layers.taken[-1], traced.trace.log_probs)
        assert not np.array_equal(layers.taken[0], layers.taken[-1])
        assert (layers.candidate_log_probs <= 0).all()


def test_beam_tree_contains_the_best_translation(shipped):
    traced = shipped.trace_decoding(TEXT, DecodingSettings("beam", beam_size=5))
    tree = traced.translation.tree
    assert tuple(tree.nodes[index].token for index in tree.best) == ids(traced)
    assert tree.nodes[tree.best[-1]].fate == HypothesisState.ENDED
    assert [tree.nodes[index].parent for index in tree.best] == [None, *tree.best[:-1]]
    assert tree.nodes[tree.best[-1]].score == pytest.approx(traced.translation.log_prob)
    for row, index in enumerate(tree.best):
        decoder, cross = tree.attention(index)
        np.testing.assert_allclose(decoder, traced.trace.decoder[:, :, row, : row + 1], atol=1e-5)
        np.testing.assert_allclose(cross, traced.trace.cross[:, :, row], atol=1e-5)


def test_translation_is_the_same_without_a_trace(shipped):
    for settings in (DecodingSettings(), DecodingSettings("beam", beam_size=3), DecodingSettings("sample", seed=5)):
        alone, traced = shipped.translate(TEXT, settings), shipped.trace_decoding(TEXT, settings).translation
        assert (alone.tokens, alone.text, alone.complete) == (traced.tokens, traced.text, traced.complete)
        assert alone.settings == settings and alone.seconds > 0 and alone.tree is None


def test_too_long_prefix_is_reported(small_translator):
    token = small_translator.tokenizer.encode_ids("dog", end=False)[-1]
    whole = [token] * MAX_TOKENS
    assert len(small_translator.translate(TEXT, DecodingSettings(), prefix=[*whole, END]).tokens) == MAX_TOKENS + 1
    assert len(small_translator.translate(TEXT, DecodingSettings(), prefix=whole).tokens) == MAX_TOKENS + 1
    with pytest.raises(TextError, match=f"{MAX_TOKENS + 1} tokens, but it can have at most {MAX_TOKENS}"):
        small_translator.translate(TEXT, DecodingSettings(), prefix=[*whole, token])
    with pytest.raises(ValueError, match="not in the vocabulary"):
        small_translator.translate(TEXT, DecodingSettings(), prefix=[10**6])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"method": "Beam"}, "no method 'Beam': choose one of greedy, beam, sample"),
        *(({"beam_size": value}, f"beam_size must be 1 to 10, not {value}") for value in (0, 11)),
        *(({"length_penalty": value}, f"length_penalty must be .*{value}") for value in (-0.1, math.nan, 1e308)),
        *(({"temperature": value}, f"temperature must be .*, not {value}") for value in (0.0, -1.0, math.nan, 1e9)),
        ({"top_k": -1}, "top_k must be at least 0, not -1"),
        *(({"top_p": value}, f"top_p must be above 0 and at most 1, not {value}") for value in (0.0, 1.1, math.nan)),
        *(({"seed": value}, f"seed must be 0 to 2147483647, not {value}") for value in (-1, 2**31)),
    ],
)
def test_invalid_decoding_settings_are_reported(setting, message):
    with pytest.raises(SettingsError, match=message.replace("+", r"\+")):
        DecodingSettings(**setting)


def test_endless_translation_stops_at_the_length_limit(shipped):
    traced = shipped.trace_decoding("Hello.", DecodingSettings(), suppressed=frozenset({END}))
    assert not traced.translation.complete and END not in ids(traced)


@ONE_SHAPE
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("interventions", [Interventions(decoder_mask=False), Interventions(positions=False)])
def test_interventions_apply_to_every_decoding_step(shaped_translator, method, interventions):
    """Covers the encoder, the cached steps, and the pass over the whole translation."""
    traced = shaped_translator.trace_decoding(TEXT, DecodingSettings(method), interventions=interventions)
    assert traced.trace.interventions == interventions
    again = shaped_translator.trace(TEXT, interventions=interventions) if method == "greedy" else traced.trace
    assert again.predicted_tokens == traced.translation.tokens
    if interventions.decoder_mask:
        # Without the mask, the pass over the whole translation sees later tokens, but the steps do not.
        total = float(traced.trace.log_probs.sum())
        assert traced.translation.log_prob == pytest.approx(total, abs=1e-4)
        if shaped_translator.config.positions != "none":
            assert shaped_translator.trace_decoding(TEXT, DecodingSettings(method)).translation.log_prob != total
