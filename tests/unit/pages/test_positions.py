import numpy as np
import pandas as pd
import pytest

from pages.ui.positional_encoding.addition import norm_chart, norm_table
from pages.ui.positional_encoding.alternatives import alternatives_chart, learned_products
from pages.ui.positional_encoding.curves import curves, wave_table
from pages.ui.positional_encoding.shuffle import moved_tokens, shuffle
from pages.ui.positional_encoding.shuffled_text import NO_POSITIONS, describe_ratio
from transformer.analysis.replay.embedding import embedded_text
from transformer.analysis.words import word_groups
from transformer.model.sinusoids import sinusoids


def test_position_curves_match_the_positional_encoding():
    table = sinusoids(100, 20)[:, 4:8]
    figure = curves(table, [4, 5, 6, 7], [2, 3], 1.0)
    assert {line.x0 for line in figure.data} == {1}, "positions count from 1"
    for line, column in zip(figure.data, table.T, strict=True):
        np.testing.assert_array_equal(line.y, column)
    assert [line.name for line in figure.data] == ["dimension 4", "dimension 5", "dimension 6", "dimension 7"]
    assert [shape.x0 for shape in figure.layout.shapes] == [2, 3]


def test_vertical_axis_of_the_position_bias_chart_includes_zero():
    table = pd.DataFrame({"offset": [0, 1], "value": [5.0, 6.0], "positions": "head 1"})
    assert alternatives_chart(table, "bias").to_dict()["encoding"]["y"]["scale"]["zero"] is True


def test_table_lists_the_wavelength_and_function_of_each_dimension():
    table = wave_table(512, [0, 1, 510, 511])
    np.testing.assert_allclose(table["wavelength, positions"], [2 * np.pi, 2 * np.pi, 60_611.4, 60_611.4], rtol=1e-5)
    assert table["function"].iloc[3] == "cos(pos · 10000^(−510/512))"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "text", ["a b", "I have a dream.", " tabs\tand\nlines ", "<b>x</b> **y** שלום 🙂", "dog dog cat"]
)
def test_shuffling_keeps_the_words_and_changes_their_order(text, seed):
    found = shuffle(text, seed)
    words = text.split()
    assert sorted(found.text.split()) == sorted(words) and found.text.split() != words
    assert [words[number] for number in found.order] == found.text.split()
    assert shuffle(text, seed) == found


@pytest.mark.parametrize("text", ["", "  ", "word", "dog " * 50])
def test_text_with_only_one_order_is_not_shuffled(text):
    assert shuffle(text, 1) is None


def test_shuffled_sentence_has_shuffled_attention_without_positions(small_translator):
    text = "The old man reads a book in the garden"
    mixed = shuffle(text, 3)
    before, after = (small_translator.trace(each, interventions=NO_POSITIONS) for each in (text, mixed.text))
    words = word_groups(before.source_tokens, text)
    moved = moved_tokens(before.source_tokens, after.source_tokens, words, mixed.order)
    assert sorted(moved) == list(range(len(before.source_tokens)))
    np.testing.assert_allclose(before.encoder[:, :, moved][..., moved], after.encoder, atol=1e-5)
    assert moved_tokens(before.source_tokens[1:], after.source_tokens, words, mixed.order) is None


def test_large_ratio_is_written_as_a_power_of_ten():
    assert [describe_ratio(np.log(factor)) for factor in (1.5, 20, 9_000)] == [
        "1.5 times",
        "20.0 times",
        "9000.0 times",
    ]
    assert describe_ratio(40.7) == "about 10¹⁸ times"


def test_learned_position_dot_products_match_the_position_table(shaped_translator):
    weights, config = shaped_translator.weights(), shaped_translator.config
    found = learned_products(config, weights, 100)
    if config.positions != "learned":
        assert found is None
        return
    table = weights.arrays["source_positions.table"].astype(float)
    assert found.shape == (64, 64), "as many as the model has"
    np.testing.assert_allclose(found, table @ table.T)
    np.testing.assert_allclose(learned_products(config, weights, 5), found[:5, :5])


def test_displayed_embedding_norms_match_the_trace(small_translator):
    trace = small_translator.trace("A dog.", details=True)
    text = embedded_text(trace, small_translator.weights(), "encoder")
    labels = [f"<b>{number}" for number in range(len(text.ids))]
    table = norm_table(text, labels)
    np.testing.assert_allclose(table["sum"], np.linalg.norm(trace.residual_stream("encoder")[0], axis=-1), atol=1e-6)
    np.testing.assert_allclose(table["position"], np.sqrt(32 / 2))
    np.testing.assert_allclose(table["scaled embedding"], np.sqrt(32) * table["embedding"])
    squares = table["scaled embedding"] ** 2 + table["position"] ** 2
    both = 2 * table["cosine similarity"] * table["scaled embedding"] * table["position"]
    np.testing.assert_allclose(table["sum"] ** 2, squares + both, atol=1e-4)
    assert len(next(iter(norm_chart(table).to_dict()["datasets"].values()))) == 4 * len(labels)


def test_displayed_sum_of_embedding_and_position_excludes_the_embedding_norm(shaped_translator, shaped_trace):
    text = embedded_text(shaped_trace, shaped_translator.weights(), "encoder")
    vectors = text.scaled + (0 if text.positions is None else text.positions)
    table = norm_table(text, [token.text for token in shaped_trace.source_tokens])
    np.testing.assert_allclose(table["sum"], np.linalg.norm(vectors, axis=-1))
