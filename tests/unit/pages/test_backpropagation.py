import numpy as np
import pytest

from pages.ui.backpropagation.entry import WINDOW, _window_start
from pages.ui.backpropagation.gradient import SECTIONS, section_of
from pages.ui.backpropagation.gradient_matrix import LARGEST, MAX_TERMS, gradient_matrix, terms_table
from pages.ui.backpropagation.sentences import sentence_of
from tests.conftest import ONE_SHAPE
from transformer.backpropagation.sentence import sentence_batch, sentence_gradients
from transformer.backpropagation.stages import stages
from transformer.backpropagation.sums import Terms
from transformer.text.languages import LANGUAGES


@pytest.fixture(scope="module")
def listed(shaped_translator, shaped_trace):
    return stages(
        sentence_gradients(shaped_translator.weights(), sentence_batch(shaped_trace), encoder_layer=1, decoder_layer=0),
        head=1,
    )


def test_every_gradient_stage_has_a_section_a_sentence_and_axis_labels(listed, shaped_translator, shaped_trace):
    order = list(SECTIONS)
    sections = [section_of(stage.key) for stage in listed]
    assert sorted(sections, key=order.index) == sections, "the way back goes through the sections in their order"
    for stage in listed:
        assert sentence_of(stage.key).endswith((".", "?"))
        shown = gradient_matrix(stage, shaped_trace, shaped_translator.tokenizer, LANGUAGES)
        for labels, size in zip((shown.rows, shown.columns), shown.values.shape, strict=True):
            assert labels is None or len(labels) == size, stage.key
        np.testing.assert_array_equal(shown.values, stage.matrix[:, shown.chosen])


@ONE_SHAPE
def test_logit_gradient_table_includes_the_columns_of_the_correct_tokens(listed, shaped_translator, shaped_trace):
    shown = gradient_matrix(listed[0], shaped_trace, shaped_translator.tokenizer, LANGUAGES)
    assert {token.id for token in shaped_trace.predicted_tokens} <= set(shown.chosen.tolist())
    assert shown.place(0, 0) == np.unravel_index(np.abs(shown.values).argmax(), shown.values.shape)
    assert shown.place(2, 1) == (1, 0) and shown.place(999, 999) == tuple(size - 1 for size in shown.values.shape)


@ONE_SHAPE
def test_table_of_a_long_sum_lists_only_its_largest_terms(shaped_translator, shaped_trace):
    rng = np.random.default_rng(0)
    size = shaped_translator.config.target_vocabulary
    assert size > MAX_TERMS
    terms = Terms("V", {"dz": rng.normal(size=size), "W": rng.normal(size=size)}, scale=0.5)
    shown = terms_table(terms, shaped_trace, shaped_translator.tokenizer, LANGUAGES)
    assert len(shown) == LARGEST + 1 and shown.iloc[-1, 0] == f"the other {size - LARGEST:,}"
    assert shown["sum so far"].iloc[-1] == pytest.approx(terms.total)
    np.testing.assert_allclose(shown["product"].iloc[:-1], (shown["dz"] * shown["W"] * shown["1 ÷ √K"]).iloc[:-1])
    assert (shown["product"].iloc[:-1].abs().diff().dropna() <= 0).all()


@pytest.mark.parametrize("place", [(0, 0), (5, 100), (39, 255)])
def test_displayed_part_of_a_gradient_contains_the_chosen_number(place):
    top, left = _window_start(place, (40, 256))
    assert top <= place[0] < top + WINDOW[0] <= 40 and left <= place[1] < left + WINDOW[1] <= 256
    assert _window_start((0, 3), (1, 4)) == (0, 0)
