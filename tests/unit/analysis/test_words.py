import numpy as np
import pytest

from transformer.analysis.words import merge_mask, merge_words, word_groups
from transformer.values.tokens import Token


def located(*spelt):
    """Return sentencepiece tokens with their spans, and the text that they spell."""
    roles = {"<s>": "start", "</s>": "end"}
    text, tokens = "", []
    for each in spelt:
        if each in roles:
            tokens.append(Token(9, each, None, roles[each]))
            continue
        surface = each.replace("▁", " ")
        begin = len(text) + len(surface) - len(surface.lstrip(" "))
        text += surface
        tokens.append(Token(9, each, (begin, len(text))))
    return tuple(tokens), text


def words(tokens, text):
    """Return the text of each word."""
    spans = [[tokens[at].span for at in group if tokens[at].span] for group in word_groups(tokens, text)]
    return [text[each[0][0] : each[-1][1]] for each in spans if each]


@pytest.mark.parametrize(
    ("spelt", "groups"),
    [
        (("▁The", "▁be", "cause", ".", "</s>"), ((0,), (1, 2), (3,), (4,))),
        (("<s>", "n", "t"), ((0,), (1, 2))),
        (("</s>",), ((0,),)),
        (("▁", "私", "は", "猫", "。", "</s>"), ((0, 1), (2,), (3,), (4,), (5,))),
        (("▁", "„", "Did", "n", "’", "t", "?", "!", "“", "▁–"), ((0, 1), (2, 3, 4, 5), (6,), (7,), (8,), (9,))),
        (("▁.", ".", "▁", "."), ((0,), (1,), (2, 3))),
        (("▁3", ".", "1", "4", "."), ((0, 1, 2, 3), (4,))),
        (("▁iPhone", "手机", "很", "好"), ((0,), (1,), (2,), (3,))),
    ],
)
def test_words_begin_at_spaces_and_each_punctuation_mark_is_a_separate_word(spelt, groups):
    assert word_groups(*located(*spelt)) == groups


@pytest.mark.parametrize(
    ("spelt", "expected"),
    [
        (("▁これ", "は", "Py", "thon", "です", "。"), ["これ", "は", "Python", "です", "。"]),
        (("▁猫", "が", "3", ".", "5", "匹"), ["猫", "が", "3.5", "匹"]),
        (("▁", "い", "、", "wor", "ld", "!"), ["い", "、", "world", "!"]),
        (("▁Py", "thon", "、", "Java"), ["Python", "、", "Java"]),
        (("▁你", "好", "“", "GPT", "-", "2", "”", "！"), ["你", "好", "“", "GPT-2", "”", "！"]),
        (("▁ผม", "ชอบ", "Goo", "gle", "2", "0"), ["ผม", "ชอบ", "Google20"]),
        (("▁ก", "ิน", "ข้าว"), ["กิน", "ข้าว"]),
    ],
)
def test_latin_words_and_numbers_in_a_text_without_spaces_stay_whole(spelt, expected):
    assert words(*located(*spelt)) == expected


def test_tokens_that_spell_one_character_belong_to_one_word():
    """In this vocabulary an emoji is four bytes, "…" is three full stops, and "は" is three bytes."""
    tokens = (
        Token(9, "▁", (0, 0)),
        *[Token(9, f"<0x{byte:02X}>", (0, 1)) for byte in "🙂".encode()],
        *[Token(9, ".", (1, 2))] * 3,
        *[Token(9, f"<0x{byte:02X}>", (2, 3)) for byte in "は".encode()],
        Token(9, "a", (3, 4)),
    )
    assert word_groups(tokens, "🙂…はa") == ((0, 1, 2, 3, 4), (5, 6, 7), (8, 9, 10), (11,))


def test_merging_words_sums_attention_columns_and_averages_rows():
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.6, 0.4]])
    merged = merge_words(weights, [(0,), (1, 2)], [(0,), (1, 2)])
    np.testing.assert_allclose(merged, [[0.1, 0.9], [0.25, 0.75]])


def test_merged_attention_rows_sum_to_one():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(7), size=(2, 3, 5))
    merged = merge_words(weights, [(0, 1), (2,), (3, 4)], [(0,), (1, 2, 3), (4, 5, 6)])
    assert merged.shape == (2, 3, 3, 3)
    np.testing.assert_allclose(merged.sum(-1), 1)


def test_merged_cell_is_masked_only_if_all_its_token_cells_are_masked():
    merged = merge_mask(np.tri(4, dtype=bool), [(0, 1), (2, 3)], [(0,), (1, 2), (3,)])
    assert merged.tolist() == [[True, True, False], [True, True, True]]
