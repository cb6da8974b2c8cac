"""Ways of decoding, and all that is computed along a road, as pages get them."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.errors import TextError
from transformer.road import METHODS, Fate, Way
from transformer.tokenizer import END
from transformer.translator import MAX_PIECES, Translator

TEXT = "The old man reads a book."


@pytest.fixture(scope="module")
def shipped():
    return Translator.load(device="cpu")


def ids(road):
    return tuple(piece.id for piece in road.found.pieces)


def test_the_greedy_road_is_the_translation(small_translator):
    trace = small_translator.translate(TEXT)
    road = small_translator.road(TEXT, Way())
    assert road.trace.equals(trace) and road.found.tree is None
    assert road.found.pieces == trace.predicted_pieces and road.found.complete == trace.complete
    assert road.found.log_prob == pytest.approx(float(trace.log_probs.sum()), abs=1e-4)
    np.testing.assert_array_equal(road.ranks, 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_forced_prefix_of_its_own_changes_nothing(shipped, method):
    way = Way(method, temperature=1.5, seed=3)
    free = shipped.road(TEXT, way)
    for length in (1, len(ids(free)) - 1, len(ids(free))):
        assert ids(shipped.road(TEXT, way, forced=ids(free)[:length])) == ids(free)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_forced_is_said_and_what_is_banned_is_not(shipped, method):
    forced = shipped.tokenizer.encode_ids("Ein Hund", end=False)
    road = shipped.road(TEXT, Way(method), forced=forced)
    assert list(ids(road)[: len(forced)]) == forced and road.found.text.startswith("Ein Hund")
    banned = ids(road)[len(forced)]
    other = shipped.road(TEXT, Way(method), forced=forced, never=frozenset({banned}))
    assert banned not in ids(other)[len(forced):]
    rows = np.arange(len(forced))
    said = np.exp(road.trace.log_probs[rows])
    assert (road.ranks[rows] > 1).any() and (said < 1).all(), "what is forced keeps the model's own probability"


@pytest.mark.parametrize("method", METHODS)
def test_a_translation_of_the_readers_is_a_road_too(shipped, method):
    target = "Der Hund liest ein Buch."
    road = shipped.road(TEXT, Way(method), forced=shipped.tokenizer.encode_ids(target))
    read = shipped.read(TEXT, target)
    assert road.found.text == target and road.found.complete
    np.testing.assert_array_equal(road.trace.log_probs, read.log_probs)
    np.testing.assert_array_equal(road.trace.cross, read.cross)


def test_the_last_layer_says_exactly_what_the_model_says(shipped, small_translator):
    for translator in (shipped, small_translator):
        road = translator.road(TEXT, Way())
        layers, count = road.layers, road.layers.candidate_ids.shape[-1]
        assert layers.taken.shape == (translator.config.decoder_layers, len(ids(road)))
        np.testing.assert_array_equal(layers.candidate_ids[-1], road.trace.candidate_ids[:, :count])
        np.testing.assert_array_equal(layers.candidate_log_probs[-1], road.trace.candidate_log_probs[:, :count])
        np.testing.assert_array_equal(layers.taken[-1], road.trace.log_probs)
        assert not np.array_equal(layers.taken[0], layers.taken[-1])
        assert (layers.candidate_log_probs <= 0).all()


def test_the_tree_of_a_beam_holds_the_best_road(shipped):
    road = shipped.road(TEXT, Way("beam", size=5))
    tree = road.found.tree
    assert tuple(tree.nodes[index].piece for index in tree.best) == ids(road)
    assert tree.nodes[tree.best[-1]].fate == Fate.ENDED
    assert [tree.nodes[index].parent for index in tree.best] == [None, *tree.best[:-1]]
    assert tree.nodes[tree.best[-1]].score == pytest.approx(road.found.log_prob)
    for row, index in enumerate(tree.best):
        decoder, cross = tree.rows(index)
        np.testing.assert_allclose(decoder, road.trace.decoder[:, :, row, : row + 1], atol=1e-5)
        np.testing.assert_allclose(cross, road.trace.cross[:, :, row], atol=1e-5)


def test_a_search_alone_finds_the_same(shipped):
    for way in (Way(), Way("beam", size=3), Way("sample", seed=5)):
        found, road = shipped.search(TEXT, way), shipped.road(TEXT, way)
        assert (found.pieces, found.text, found.complete) == (road.found.pieces, road.found.text, road.found.complete)
        assert found.seconds > 0 and found.tree is None


def test_too_much_forced_is_answered(small_translator):
    piece = small_translator.tokenizer.encode_ids("dog", end=False)[-1]
    whole = [piece] * MAX_PIECES
    assert len(small_translator.search(TEXT, Way(), forced=[*whole, END]).pieces) == MAX_PIECES + 1
    assert len(small_translator.search(TEXT, Way(), forced=whole).pieces) == MAX_PIECES + 1
    with pytest.raises(TextError, match=f"{MAX_PIECES + 1} pieces, and at most {MAX_PIECES}"):
        small_translator.search(TEXT, Way(), forced=[*whole, piece])
    with pytest.raises(ValueError, match="not in the vocabulary"):
        small_translator.search(TEXT, Way(), forced=[10**6])


def test_an_unknown_method_is_answered(small_translator):
    with pytest.raises(ValueError, match="no method 'Beam': choose one of greedy, beam, sample"):
        small_translator.search("I have a dream.", Way("Beam"))


def test_a_road_that_never_ends_stops_at_the_limit(shipped):
    road = shipped.road("Hello.", Way(), never=frozenset({END}))
    assert not road.found.complete and END not in ids(road)
