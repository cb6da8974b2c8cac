import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_up_traces import made_up_trace
from tests.properties import few
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.word_links import by_word, counterparts, source_words, target_words, word_links
from transformer.values.trace import KINDS

SOURCE, TARGET = ("the", "an|imal", "is", "tired", "."), ("das", "Tier", "ist", "mü|de", ".")


@st.composite
def traces(draw):
    """Draw traces with two layers and two heads. The weights have few distinct values, so that some links tie."""
    even = made_up_trace(SOURCE, TARGET)
    maps = {}
    for kind in KINDS:
        mask = even.mask(kind)
        numbers = draw(st.lists(st.integers(1, 4), min_size=4 * mask.size, max_size=4 * mask.size))
        weights = np.array(numbers, dtype=np.float64).reshape(2, 2, *mask.shape) * mask
        maps[kind] = weights / weights.sum(axis=-1, keepdims=True)
    return made_up_trace(SOURCE, TARGET, **maps)


def found(trace):
    return word_links(trace, {kind: head_metrics(trace, kind, np.zeros(30)) for kind in KINDS})


@few(40)
@given(traces())
def test_word_links_are_sorted_and_have_the_weights_of_the_trace(trace):
    links, sides = found(trace), {"source": source_words(trace), "target": target_words(trace)}
    assert [link.excess for link in links] == sorted((link.excess for link in links), reverse=True)
    for link in links:
        rows = sides["source" if link.kind == "encoder" else "target"].rows[link.row]
        columns = sides["target" if link.kind == "decoder" else "source"].columns[link.column]
        weights = trace.attention(link.kind)[link.layer, link.head][np.ix_(rows, columns)]
        assert link.weight == pytest.approx(weights.sum(axis=1).mean(), abs=1e-6)
        assert 0 < link.excess <= link.weight
        assert trace.mask(link.kind)[np.ix_(rows, columns)].any()


@few(40)
@given(traces())
def test_equally_strong_links_are_sorted_by_kind_and_position_and_no_link_occurs_twice(trace):
    links = found(trace)
    places = [(KINDS.index(link.kind), link.row, link.column) for link in links]
    assert len(set(places)) == len(places)
    for (before, first), (after, second) in zip(
        zip(links, places, strict=True), zip(links[1:], places[1:], strict=True), strict=False
    ):
        assert before.excess > after.excess or first < second
    assert links == found(trace)


@few(40)
@given(traces())
def test_word_links_exclude_special_tokens_punctuation_and_neighbouring_words(trace):
    links = found(trace)
    for words in (source_words(trace), target_words(trace)):
        assert not any(token.special for tokens in words.tokens for token in tokens)
        assert words.has_letters == (True, True, True, True, False)
    assert all(4 not in (link.row, link.column) for link in links)
    assert all(abs(link.row - link.column) > 1 for link in links if link.kind != "cross")
    assert all(link.column < link.row for link in links if link.kind == "decoder")


def test_target_word_has_the_rows_that_predict_it_and_the_columns_that_read_it():
    words = target_words(made_up_trace(SOURCE, TARGET))
    assert words.rows == ((0,), (1,), (2,), (3, 4), (5,))
    assert words.columns == ((1,), (2,), (3,), (4, 5), (6,))
    assert source_words(made_up_trace(SOURCE, TARGET)).rows == ((0,), (1, 2), (3,), (4,), (5,))


def test_word_link_ignores_a_head_in_which_every_token_attends_to_the_word():
    even = made_up_trace(SOURCE, TARGET).attention("encoder")[0, 0]
    everywhere, here = np.zeros_like(even), even.copy()
    everywhere[:, 4] = 1
    here[0] = [0, 0, 0, 0.3, 0.7, 0, 0]
    trace = made_up_trace(SOURCE, TARGET, encoder=np.stack([everywhere, here])[None])
    looks, _ = by_word(found(trace))[True, 0]
    tired = next(link for link in looks if link.kind == "encoder" and link.column == 3)
    assert (tired.head, tired.weight) == (1, pytest.approx(0.7))


def test_links_of_a_word_are_divided_into_outgoing_and_incoming_links():
    links = found(made_up_trace(SOURCE, TARGET, cross=np.eye(7, 7)[[0, 1, 3, 4, 4, 5, 6]]))
    looks, looked = by_word(links)[False, 3]
    assert all(link.row == 3 and link.kind != "encoder" for link in looks)
    assert all(link.column == 3 and link.kind == "decoder" for link in looked)
    assert max(looks, key=lambda link: link.weight).column == 3
    _, looked = by_word(links)[True, 3]
    assert {"cross"} == {link.kind for link in looked if link.weight == 1}


def test_words_are_aligned_by_the_highest_mean_cross_attention():
    one, other = np.full((7, 7), 1 / 7), np.full((7, 7), 1 / 7)
    one[1] = np.eye(7)[3]
    other[1] = [0, 0.45, 0.45, 0, 0.1, 0, 0]
    other[5] = np.eye(7)[5]
    trace = made_up_trace(SOURCE, TARGET, cross=np.stack([one, other])[None])
    of_source, of_target = counterparts(trace)
    assert of_target[1] == 2 and of_source[2] == 1
    assert of_source[4] == -1 and of_target[4] == -1, "punctuation has none"
