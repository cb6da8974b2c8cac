from __future__ import annotations

import numpy as np
import pytest

from transformer.analysis.words import merge_mask, merge_words, word_groups
from transformer.text.tokenizer import Piece


def pieces(*texts):
    roles = {"<s>": "start", "</s>": "end"}
    return tuple(Piece(9, text, None, roles.get(text, "")) for text in texts)


@pytest.mark.parametrize(
    ("texts", "groups"),
    [
        (("▁The", "▁be", "cause", ".", "</s>"), ((0,), (1, 2), (3,), (4,))),
        (("<s>", "▁", "<0xF0>", "<0x9F>", "▁a"), ((0,), (1, 2, 3), (4,))),
        (("<s>", "n", "t"), ((0,), (1, 2))),
        (("</s>",), ((0,),)),
        (("▁", "私", "は", "猫", "。", "</s>"), ((0, 1), (2,), (3,), (4,), (5,))),
        (("▁", "„", "Did", "n", "’", "t", "?", "!", "“", "▁–"), ((0, 1), (2, 3, 4, 5), (6,), (7,), (8,), (9,))),
        (("▁.", ".", "▁", "."), ((0,), (1,), (2, 3))),
        (("▁3", ".", "1", "4", "."), ((0, 1, 2, 3), (4,))),
        (("▁iPhone", "手机", "很", "好"), ((0,), (1,), (2,), (3,))),
    ],
)
def test_a_piece_with_a_space_begins_a_word_and_punctuation_stands_alone(texts, groups):
    assert word_groups(pieces(*texts)) == groups


def test_to_a_word_sums_and_from_a_word_averages():
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.6, 0.4]])
    merged = merge_words(weights, [(0,), (1, 2)], [(0,), (1, 2)])
    np.testing.assert_allclose(merged, [[0.1, 0.9], [0.25, 0.75]])


def test_rows_still_sum_to_one():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(7), size=(2, 3, 5))
    merged = merge_words(weights, [(0, 1), (2,), (3, 4)], [(0,), (1, 2, 3), (4, 5, 6)])
    assert merged.shape == (2, 3, 3, 3)
    np.testing.assert_allclose(merged.sum(-1), 1)


def test_words_are_masked_only_where_all_their_pieces_are():
    merged = merge_mask(np.tri(4, dtype=bool), [(0, 1), (2, 3)], [(0,), (1, 2), (3,)])
    assert merged.tolist() == [[True, True, False], [True, True, True]]
