import numpy as np
import pytest
import torch

from tests.conftest import ONE_SHAPE
from transformer.analysis.replay.stages import stages
from transformer.config import RELATIVE
from transformer.values.interventions import Interventions
from transformer.values.trace import SIDES

LAYER, HEAD = 1, 2


@pytest.fixture
def found(replayed):
    listed = stages(replayed.trace, replayed.weights, encoder_layer=LAYER, decoder_layer=LAYER, head=HEAD)
    assert len({stage.key for stage in listed}) == len(listed)
    return {stage.key: stage for stage in listed}


def test_tensor_of_every_stage_has_the_stated_shape(replayed, found):
    config = replayed.model.config
    sizes = {
        "B": 1,
        "S": len(replayed.trace.source_tokens),
        "T": len(replayed.trace.target_tokens),
        "D": config.d_model,
        "K": config.d_head,
        "F": config.d_ff,
        "V": config.target_vocabulary,
    }
    assert sizes["S"] != sizes["T"]
    for stage in found.values():
        assert stage.array.shape == tuple(sizes[letter] for letter in stage.letters.split(", ")), stage.key
        assert stage.formula.count("{") == stage.formula.count("}") and "$" not in stage.formula
        assert stage.name and (stage.layer is None or stage.layer == LAYER)


def test_recomputed_attention_stages_match_the_model(replayed, found):
    tensors, *_ = replayed.run_again()
    for kind in replayed.trace.kinds:
        prefix = "decoder.cross_attention" if kind == "cross" else f"{kind}.self_attention"
        own = {
            name: tensors[f"{kind}.{name}"][LAYER]
            for name in ("queries", "keys", "values", "scores", "weights", "outputs")
        }
        for name in ("queries", "keys", "values", "scores", "weights"):
            np.testing.assert_allclose(found[f"{prefix}.{name}"].array, own[name][:, HEAD].numpy(), atol=1e-5)
        np.testing.assert_allclose(found[f"{prefix}.head"].array, own["outputs"][:, HEAD].numpy(), atol=1e-5)
        np.testing.assert_allclose(
            found[f"{prefix}.heads"].array, own["outputs"].transpose(1, 2).flatten(2).numpy(), atol=1e-5
        )
        raw = own["queries"][:, HEAD] @ own["keys"][:, HEAD].transpose(-1, -2)
        np.testing.assert_allclose(found[f"{prefix}.raw_scores"].array, raw.numpy(), atol=1e-5)
        mask, masked = replayed.trace.mask(kind), found[f"{prefix}.masked_scores"].array[0]
        assert (masked[~mask] == -np.inf).all() and np.array_equal(masked[mask], own["scores"][0, HEAD].numpy()[mask])


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_recomputed_sublayer_stages_match_the_model(replayed, found, stack):
    if stack not in replayed.trace.stacks:
        return
    tensors, *_ = replayed.run_again()
    layer = getattr(replayed.model, f"{stack}_layers")[LAYER]
    parts = replayed.trace.parts(stack)
    stream = tensors[f"{stack}.residual"][LAYER * len(parts) :]
    np.testing.assert_allclose(found[f"{stack}.self_attention.stream"].array, stream[0].numpy(), atol=1e-5)
    for part, before, after in zip(parts, stream, stream[1:], strict=False):
        at, residual = f"{stack}.{part}", getattr(layer, f"{part}_residual")
        if part == "feed_forward":
            read = residual.norm(before) if residual.pre else before
            hidden = layer.feed_forward.activation(layer.feed_forward.expand(read))
            np.testing.assert_allclose(found[f"{at}.hidden"].array, hidden.numpy(), atol=1e-5)
            np.testing.assert_allclose(found[f"{at}.written"].array, layer.feed_forward(read).numpy(), atol=1e-5)
        else:
            joined = torch.tensor(found[f"{at}.heads"].array)
            projected = getattr(layer, part).out_projection(joined).numpy()
            np.testing.assert_allclose(found[f"{at}.written"].array, projected, atol=1e-5)
        summed = found[f"{at}.residual"].array
        np.testing.assert_allclose(summed, before.numpy() + found[f"{at}.written"].array, atol=1e-5)
        norm = residual.norm(before if residual.pre else torch.tensor(summed).float()).numpy()
        np.testing.assert_allclose(found[f"{at}.norm"].array, norm, atol=1e-5)
        handed_on = found[f"{at}.{'residual' if residual.pre else 'norm'}"].array
        np.testing.assert_allclose(handed_on, after.numpy(), atol=1e-5)


def test_recomputed_input_and_output_stages_match_the_model(replayed, found):
    tensors, outputs, logits = replayed.run_again()
    np.testing.assert_allclose(found["generator.logits"].array, logits.numpy(), atol=1e-5)
    np.testing.assert_allclose(found["generator.probabilities"].array, logits.softmax(-1).numpy(), atol=1e-5)
    assert np.array_equal(found["generator.words"].array, logits.argmax(-1).numpy())
    config = replayed.model.config
    for stack, output in outputs.items():
        np.testing.assert_allclose(found[f"{stack}.output"].array, output.numpy(), atol=1e-5)
        way_in = found[f"{stack}.scaled" if config.scale_embedding else f"{stack}.tokens"].array
        added = config.positions not in ("none", *RELATIVE)
        assert (f"{stack}.positions" in found) == (f"{stack}.input" in found) == added
        if added:
            way_in = way_in + found[f"{stack}.positions"].array
            assert np.array_equal(found[f"{stack}.input"].array, tensors[f"{stack}.residual"][0].numpy())
        norm = replayed.model.get_submodule(f"{SIDES[stack]}_norm")
        entered = norm(torch.tensor(way_in, dtype=torch.float32)).numpy()
        np.testing.assert_allclose(entered, tensors[f"{stack}.residual"][0].numpy(), atol=1e-5)


@ONE_SHAPE
def test_stages_are_in_the_order_of_computation(shaped_translator, shaped_trace):
    order = [stage.key for stage in stages(shaped_trace, shaped_translator.weights())]
    assert order[0] == "encoder.pieces" and order[-1] == "generator.words"
    for first, then in (
        ("encoder.tokens", "encoder.self_attention.queries"),
        ("encoder.self_attention.queries", "encoder.self_attention.raw_scores"),
        ("encoder.self_attention.raw_scores", "encoder.self_attention.scores"),
        ("encoder.self_attention.scores", "encoder.self_attention.masked_scores"),
        ("encoder.self_attention.masked_scores", "encoder.self_attention.weights"),
        ("encoder.self_attention.weights", "encoder.self_attention.head"),
        ("encoder.self_attention.written", "encoder.self_attention.residual"),
        ("encoder.self_attention.residual", "encoder.feed_forward.hidden"),
        ("encoder.output", "decoder.pieces"),
        ("decoder.self_attention.residual", "decoder.cross_attention.queries"),
        ("decoder.output", "generator.logits"),
    ):
        assert order.index(first) < order.index(then)


@ONE_SHAPE
def test_stages_omit_positions_and_the_mask_if_both_are_switched_off(shaped_translator):
    interventions = Interventions(decoder_mask=False, positions=False)
    trace = shaped_translator.trace("A dog.", "Ein Hund.", details=True, interventions=interventions)
    found = {stage.key: stage for stage in stages(trace, shaped_translator.weights())}
    assert "encoder.positions" not in found and "decoder.input" not in found
    assert "(mask switched off)" in found["decoder.self_attention.written"].name
    assert np.isfinite(found["decoder.self_attention.masked_scores"].array).all()
    np.testing.assert_allclose(
        found["decoder.self_attention.stream"].array[0], trace.residual_stream("decoder")[0], atol=0
    )
