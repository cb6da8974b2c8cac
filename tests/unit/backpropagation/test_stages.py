import numpy as np
import pytest

from transformer.backpropagation.finite_difference import finite_difference
from transformer.backpropagation.gradients import gradients, parameters_of
from transformer.backpropagation.sentence import sentence_batch, sentence_gradients
from transformer.backpropagation.stages import stages
from transformer.values.trace import PARTS


@pytest.fixture(params=[(0, 1, 0, None), (1, 0, 2, 1)])
def chosen(request):
    """Return an encoder layer, a decoder layer, a head, and the step whose loss counts (None for all steps)."""
    return request.param


@pytest.fixture
def found(shaped_translator, shaped_trace, chosen):
    encoder_layer, decoder_layer, _, step = chosen
    batch = sentence_batch(shaped_trace, step=step, label_smoothing=0.1)
    return sentence_gradients(
        shaped_translator.weights(), batch, encoder_layer=encoder_layer, decoder_layer=decoder_layer
    )


def places(matrix):
    """Yield the index of the entry with the largest absolute value, and four random indices."""
    rng = np.random.default_rng(0)
    yield np.unravel_index(np.abs(matrix).argmax(), matrix.shape)
    for _ in range(4):
        yield tuple(int(rng.integers(size)) for size in matrix.shape)


def test_every_gradient_is_the_sum_of_its_terms(found, chosen):
    listed = stages(found, head=chosen[2])
    without = [stage.key for stage in listed if stage.terms_of is None]
    assert set(without) <= {"decoder.layer.after", "encoder.layer.after", "decoder.input", "encoder.input"}
    for stage in listed:
        matrix = stage.matrix
        assert matrix.shape == stage.values.shape == stage.reference.shape
        assert stage.letters.startswith("B") != stage.learned
        np.testing.assert_allclose(matrix, stage.reference, atol=1e-10, err_msg=stage.key)
        if stage.terms_of is None:
            continue
        for place in places(matrix):
            terms = stage.terms_of.terms(*place)
            assert terms.total == pytest.approx(matrix[place], abs=1e-10), (stage.key, place)
            assert {len(each) for each in terms.factors.values()} == {len(terms.products)}
            assert isinstance(terms.over, str) or len(terms.over) == len(terms.products)


def test_displayed_numbers_of_every_stage_match_the_gradients(shaped_translator, found, chosen):
    """Each stage names a parameter or intermediate result, and locates the displayed numbers in its gradient."""
    parameters = parameters_of(shaped_translator.weights())
    whole = gradients(parameters, found.config, found.batch)
    everything = {**whole.parameters, **whole.gradients}
    for stage in stages(found, head=chosen[2]):
        assert everything[stage.point.name].shape == stage.point.shape
        for place in places(stage.matrix):
            assert everything[stage.point.name][stage.point.place(*place)] == stage.matrix[place], stage.key


def test_backward_stages_are_in_order_and_have_unique_names(found, chosen):
    listed = stages(found, head=chosen[2])
    keys = [stage.key for stage in listed]
    assert len(set(keys)) == len(keys) and (keys[0], keys[-1]) == ("generator.logits", "encoder.table")
    assert ("decoder.table" in keys) == (found.config.tied_embeddings != "all")
    firsts = [
        next(number for number, key in enumerate(keys) if key.startswith(f"{stack}.{part}."))
        for stack in ("decoder", "encoder")
        for part in reversed(PARTS[stack])
    ]
    assert firsts == sorted(firsts)
    sizes = {
        "B": 1,
        "1": 1,
        "S": found.batch.source.shape[1],
        "T": found.batch.target.shape[1],
        "D": found.config.d_model,
        "K": found.config.d_head,
        "F": found.config.d_ff,
        "V": found.config.target_vocabulary,
    }
    for stage in listed:
        letters = stage.letters.split(", ")
        expected = [len(stage.tokens) if letter == "N" else sizes[letter] for letter in letters]
        assert list(stage.array.shape) == expected, stage.key


def test_gradient_summary_matches_all_gradients(shaped_translator, found):
    whole = gradients(parameters_of(shaped_translator.weights()), found.config, found.batch)
    assert found.loss == whole.loss and 0 < found.largest_difference < 1e-10
    assert found.compared == sum(each.size for each in (*whole.parameters.values(), *whole.gradients.values()))
    assert found.sizes.keys() == whole.parameters.keys()
    np.testing.assert_allclose(found.memory_gradients.sum(axis=0), whole.gradients["memory"][0], atol=1e-12)


def test_gradient_of_a_stage_matches_a_finite_difference(shaped_translator, found, chosen):
    parameters = parameters_of(shaped_translator.weights())
    for key in ("decoder.cross_attention.scores", "encoder.self_attention.keys_weight", "generator.logits"):
        stage = next(stage for stage in stages(found, head=chosen[2]) if stage.key == key)
        place = next(places(stage.matrix))
        point = stage.point
        difference = finite_difference(
            parameters, found.config, found.batch, point.name, point.place(*place), point.shape
        )
        assert stage.matrix[place] == pytest.approx(difference, abs=1e-6), key


def test_key_bias_and_masked_scores_have_zero_gradient(found, chosen):
    """The key bias adds the same number to all scores of a row, which softmax ignores. Rotary self-attention is an
    exception: it rotates the bias differently at each position.
    """
    for stage in stages(found, head=chosen[2]):
        turned = found.config.positions == "rotary" and "self_attention" in stage.key
        if stage.key.endswith(".keys_bias") and not turned:
            np.testing.assert_allclose(stage.matrix, 0, atol=1e-12)
        if stage.masked is not None:
            assert (stage.matrix[stage.masked] == 0).all() and stage.masked.any()
