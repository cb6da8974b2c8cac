"""Tests that a hook at any site receives the model's values, and that the model continues with the returned values."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer.errors import InterventionError
from transformer.model.edits import Edits
from transformer.model.recorder import RESIDUAL_STREAM
from transformer.values.interventions import Interventions
from transformer.values.sites import SITES
from transformer.values.trace import DETAILS

TEXT, TARGET = "The old man reads a book.", "Der alte Mann liest ein Buch."


def shown(trace, site):
    """Return the values at a site, one array per layer, or None if the trace does not record the site."""
    kind, _, name = site.partition(".")
    if name == "weights":
        return list(trace.attention(kind))
    if name in DETAILS:
        return list(trace.detail(kind, name))
    if name == "feed_forward":
        return list(trace.feed_forward(kind))
    if name not in RESIDUAL_STREAM:
        return None
    parts = len(trace.parts(kind))
    first = {"embedding": 0, "after_self_attention": 1, "after_cross_attention": 2, "residual": parts}[name]
    stream = trace.residual_stream(kind)
    return list(stream[first:1] if name == "embedding" else stream[first::parts])


def test_hook_receives_the_values_of_each_layer_in_the_documented_shape(small_translator):
    seen = defaultdict(list)
    keep = {site: lambda x, layer, start, site=site: seen[site].append((x, layer, start)) for site in SITES}
    trace = small_translator.trace(TEXT, TARGET, details=True, hooks=keep)
    unhooked = small_translator.trace(TEXT, TARGET, details=True)
    assert replace(trace, model=unhooked.model).equals(unhooked), "reading changes nothing"
    assert set(seen) == set(SITES)
    config = small_translator.config
    sizes = {"B": 1, "D": config.d_model, "F": config.d_ff, "H": config.heads, "K": config.d_head}
    sizes["V"] = config.target_vocabulary
    for site, calls in seen.items():
        kind = site.partition(".")[0]
        queries, keys = len(trace.query_tokens(kind)), len(trace.key_tokens(kind))
        shape = [{**sizes, "T": queries, "S": keys}[letter] for letter in SITES[site][0][1:-1].split(", ")]
        assert all(list(x.shape) == shape and start == 0 for x, _, start in calls), site
        outside = site.endswith(("embedding", "stack_output", "logits"))
        assert [layer for _, layer, _ in calls] == ([-1] if outside else list(range(config.layers_of(kind)))), site
        for (x, *_), expected in zip(calls, shown(trace, site) or [x[0] for x, *_ in calls], strict=True):
            np.testing.assert_array_equal(x[0].numpy(), expected)


@pytest.mark.parametrize("site", SITES)
def test_model_continues_with_the_value_returned_by_a_hook(small_translator, site):
    given = {}

    def change(x, layer, start):
        if layer > 0:
            return None
        given[site] = 0.5 * x + 0.25 * x.roll(1, -1)
        return given[site]

    plain = small_translator.trace(TEXT, TARGET, details=True)
    trace = small_translator.trace(TEXT, TARGET, details=True, hooks={site: change})
    assert abs(trace.log_probs - plain.log_probs).max() > 1e-4
    if (arrays := shown(trace, site)) is not None:
        np.testing.assert_array_equal(arrays[0], given[site][0].numpy())
    # With `details=False`, a different attention kernel may run, so allow for rounding errors.
    again = small_translator.trace(TEXT, TARGET, hooks={site: change})
    np.testing.assert_allclose(again.log_probs, trace.log_probs, atol=1e-5)


def test_hook_that_zeroes_a_head_gives_the_same_result_as_switching_the_head_off(shaped_translator):
    def off(outputs, layer, start):
        return outputs.index_fill(1, torch.tensor(2), 0.0) if layer == 1 else None

    hooked = shaped_translator.trace(TEXT, details=True, hooks={"cross.outputs": off})
    gated = shaped_translator.trace(TEXT, details=True, interventions=Interventions({("cross", 1, 2): 0.0}))
    assert hooked.target_tokens == gated.target_tokens
    np.testing.assert_array_equal(hooked.log_probs, gated.log_probs)


def test_hook_receives_values_changed_by_interventions(small_translator):
    seen = []
    off = Interventions({("encoder", 0, 1): 0.0})
    small_translator.trace(TEXT, TARGET, interventions=off, hooks={"encoder.outputs": lambda *call: seen.append(call)})
    assert not seen[0][0][:, 1].any() and seen[0][0][:, 0].any()


def test_hooks_apply_to_every_decoding_step(small_translator):
    """Each decoding step calls the hook with one new position. The pass for the trace calls it with all positions."""
    starts = []

    def prefer(logits, layer, start):
        starts.append((start, logits.shape[1]))
        return logits.index_fill(-1, torch.tensor(300), 100.0 if start + logits.shape[1] <= 3 else -100.0)

    trace = small_translator.trace(TEXT, hooks={"decoder.logits": prefer})
    steps = len(trace.predicted_tokens)
    assert [token.id for token in trace.predicted_tokens[:3]] == [300] * 3 and steps > 3
    assert starts == [*((step, 1) for step in range(steps)), (0, steps)]


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"decoder.score": print}, r"unknown site 'decoder\.score': the sites are encoder\.embed.*decoder\.scores"),
        ({"decoder.scores.9": print}, r"'decoder\.scores\.9' does not exist: the last layer is \d"),
        ({"decoder.logits.0": print}, r"decoder\.logits is outside the layers: leave out '0'"),
        ({"encoder.scores": 3}, r"the hook at encoder\.scores must be a function, not 3"),
        ({"encoder.scores": [print, lambda x: x]}, r"hook at encoder\.scores must take the value, .*: too many pos"),
        ({"encoder.scores": lambda x, layer, start: x[..., 1:]}, r"hook at encoder\.scores returned Tensor \(1, 4, "),
        ({"encoder.scores": lambda x, layer, start: 0.0}, r"returned float \(\): return a tensor of shape \(1, 4, "),
    ],
)
def test_invalid_hook_is_reported(small_translator, hooks, message):
    with pytest.raises(InterventionError, match=message):
        small_translator.trace(TEXT, TARGET, hooks=hooks)


@pytest.mark.parametrize("site", ["cross.values", "decoder.keys", "decoder.residual", "cross.weights"])
def test_hook_that_writes_in_place_has_the_effect_of_returning_the_new_value(small_translator, site):
    """The written value must not reach the cache, from which later steps read their keys and values."""

    def write(x, layer, start):
        if start == 0:
            x[..., 0] = 0

    def give(x, layer, start):
        return x.index_fill(-1, torch.tensor([0]), 0) if start == 0 else None

    written, given = (small_translator.trace(TEXT, hooks={site: hook}) for hook in (write, give))
    assert written.target_text == given.target_text
    np.testing.assert_array_equal(written.cross, given.cross)


def test_attribution_rejects_a_trace_made_with_hooks(small_translator):
    trace = small_translator.trace(TEXT, TARGET, details=True, hooks={"cross.outputs": lambda x, layer, start: 0 * x})
    with pytest.raises(ValueError, match="cannot repeat a run with hooks"):
        small_translator.attribute(trace, "weights")


def test_tensor_kept_by_a_hook_has_a_gradient(small_translator):
    kept, factor = [], torch.ones(1, requires_grad=True)
    hooks = {"decoder.embedding": lambda x, *_: factor * x, "decoder.residual.0": lambda x, *_: kept.append(x)}
    logits = small_translator._model(torch.tensor([[5, 6]]), torch.tensor([[1, 7]]), edits=Edits(hooks=hooks))
    assert torch.autograd.grad(logits.square().sum(), kept[0])[0].any()


def test_several_hooks_at_one_site_run_in_the_given_order(small_translator):
    def times(factor):
        return lambda x, layer, start: factor * x + 1

    site = "decoder.logits"
    one = small_translator.activations(
        TEXT, [site], TARGET, hooks={site: lambda *call: times(3)(times(2)(*call), 0, 0)}
    )
    two = small_translator.activations(TEXT, [site], TARGET, hooks={site: [times(2), times(3)]})
    np.testing.assert_array_equal(one[site], two[site])


def test_gradients_flow_through_hooks_of_the_model(small_translator):
    model, scale = small_translator._model, torch.ones(1, requires_grad=True)
    edits = Edits(hooks={"encoder.feed_forward": lambda x, layer, start: x * scale})
    ids = torch.tensor([[5, 6, 7]])
    model(ids, ids, edits=edits).square().mean().backward()
    assert float(scale.grad.abs()) > 0


@pytest.mark.parametrize("target", [None, TARGET])
def test_activations_of_every_hook_site_match_the_trace(small_translator, target):
    found = small_translator.activations(TEXT, SITES, target)
    trace = small_translator.trace(TEXT, target, details=True)
    assert list(found) == list(SITES)
    for site, array in found.items():
        assert array.dtype == np.float32 and not array.flags.writeable
        if (arrays := shown(trace, site)) is not None:
            expected = arrays[0] if site.endswith("embedding") else np.stack(arrays)
            np.testing.assert_array_equal(array, expected)
    lengths = len(trace.predicted_tokens), small_translator.config.target_vocabulary
    assert found["decoder.logits"].shape == lengths


def test_activations_requested_for_one_layer_have_no_layer_axis(small_translator):
    found = small_translator.activations(TEXT, ["cross.scores", "cross.scores.1", "encoder.residual.0"], TARGET)
    np.testing.assert_array_equal(found["cross.scores.1"], found["cross.scores"][1])
    assert found["encoder.residual.0"].ndim == 2


def test_activations_include_the_changes_made_by_hooks(small_translator):
    hooks = {"encoder.residual.1": lambda x, layer, start: 0 * x, "encoder.residual": lambda x, layer, start: x + 1}
    found = small_translator.activations(TEXT, ["encoder.residual"], TARGET, hooks=hooks)["encoder.residual"]
    assert found[0].any() and not found[1].any()


@pytest.mark.parametrize("shaped_translator", ["pre", "post"], indirect=True)
@pytest.mark.parametrize(
    ("stack", "part", "before", "after"),
    [
        ("encoder", "self_attention", "residual.0", "after_self_attention.1"),
        ("decoder", "cross_attention", "after_self_attention.1", "after_cross_attention.1"),
        ("encoder", "feed_forward", "after_self_attention.1", "residual.1"),
    ],
)
def test_sublayer_reads_the_residual_stream_and_adds_its_output(shaped_translator, stack, part, before, after):
    model, names = (
        shaped_translator._model,
        [f"{stack}.{site}" for site in (before, f"{part}_input.1", f"{part}.1", after)],
    )
    read, x, y, written = map(torch.tensor, shaped_translator.activations(TEXT, names, TARGET).values())
    pre, norm = model.config.norm == "pre", getattr(getattr(model, f"{stack}_layers")[1], f"{part}_residual").norm
    with torch.inference_mode():
        torch.testing.assert_close(x, norm(read) if pre else read)
        torch.testing.assert_close(written, read + y if pre else norm(read + y))


def test_hidden_feed_forward_values_are_the_relu_of_the_pre_activations(small_translator):
    names = "encoder.feed_forward_pre_activation", "encoder.feed_forward_hidden"
    before, after = small_translator.activations(TEXT, names, TARGET).values()
    np.testing.assert_array_equal(after, np.maximum(before, 0))
    assert (before < 0).any()


@pytest.mark.parametrize("site", ["encoder.embedding", "cross.weights.1", "decoder.feed_forward_hidden.0"])
def test_gradient_at_a_hook_site_matches_a_finite_difference(small_translator, site):
    gradient = small_translator.gradients(TEXT, [site], target=TARGET)[site]
    direction = torch.tensor(np.sign(gradient))[None]
    sums = [
        small_translator.trace(TEXT, TARGET, hooks={site: lambda x, layer, start, step=step: x + step * direction})
        .log_probs.astype(float)
        .sum()
        for step in (1e-3, -1e-3)
    ]
    assert (sums[0] - sums[1]) / 2e-3 == pytest.approx(abs(gradient).sum(), rel=0.02)


def test_gradients_have_the_shapes_of_the_activations(small_translator):
    names = [*SITES, "decoder.residual.1"]
    found = small_translator.gradients(TEXT, names, target=TARGET)
    activations = small_translator.activations(TEXT, names, TARGET)
    assert all(found[name].shape == activations[name].shape for name in names)


def test_gradient_is_zero_at_positions_that_do_not_affect_the_result(small_translator):
    """The logits of the second token depend on the decoder's input only up to that token."""
    found = small_translator.gradients(TEXT, ["decoder.embedding"], lambda logits: logits[1].max(), TARGET)
    assert found["decoder.embedding"][:2].all() and not found["decoder.embedding"][2:].any()


def test_each_layer_has_its_own_gradient_if_a_hook_returns_one_tensor_in_all_layers(small_translator):
    value = torch.zeros(())
    hooks = {"encoder.feed_forward": lambda x, layer, start: value.expand(x.shape)}
    found = small_translator.gradients(TEXT, ["encoder.feed_forward"], target=TARGET, hooks=hooks)
    first, second = found["encoder.feed_forward"]
    assert first.any() and second.any() and (first != second).any() and not value.requires_grad


def test_activations_of_an_unknown_site_raise_an_error(small_translator):
    with pytest.raises(InterventionError, match=r"unknown site 'decoder\.score': the sites of this model are"):
        small_translator.activations(TEXT, ["decoder.score"])


def test_hook_of_one_layer_is_called_in_that_layer_only(small_translator):
    layers = []
    hooks = {"encoder.residual.1": lambda x, layer, start: layers.append(layer)}
    small_translator.trace(TEXT, TARGET, hooks=hooks)
    assert set(layers) == {1}
