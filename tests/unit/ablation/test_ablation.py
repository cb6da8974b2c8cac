import copy
import json
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from tests.conftest import ONE_SHAPE
from transformer.ablation.decisive_heads import DecisiveHeads, decisive_heads
from transformer.ablation.effect import effect_of
from transformer.ablation.estimate import mean_over_draws
from transformer.ablation.importance import concatenated_heads, head_importance, normalised_by_layer
from transformer.ablation.removal import least_important_first, random_order, removal_curve, without_heads
from transformer.measurements.importance import ImportanceStatistics, bootstrap, importance_statistics
from transformer.model.attention import AttentionContext, SelfAttention
from transformer.model.edits import Edits, edits_of
from transformer.model.hooks import Hooks
from transformer.model.kv_cache import KeysAndValues
from transformer.model.transformer import build
from transformer.running.scoring import gate_gradients, log_probs_of, open_gates, score
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import AS_TRAINED, Interventions, all_heads, draws_of
from transformer.values.kinds import KINDS

TEXT, TARGET = "The old man reads a book.", "Der alte Mann liest ein Buch."


def attention_of_one_position(heads, width):
    torch.manual_seed(3)
    attention = SelfAttention(width, heads, dropout=0.0).eval()
    return attention, torch.randn(1, 1, width)


def changing(**factors):
    """Return a context whose hooks edit encoder layer 0. Each factor has the shape [B, H, 1, 1]."""
    by_kind = {name: {"encoder": factor[:, None, :, 0, 0]} for name, factor in factors.items()}
    return AttentionContext(hooks=Hooks(Edits((AS_TRAINED,), **by_kind), None, "encoder", layer=0))


def test_removing_a_head_removes_only_its_contribution_to_the_output():
    """The output projection mixes all coordinates, so removing one head changes every coordinate of the output."""
    torch.manual_seed(4)
    attention = SelfAttention(12, 3, dropout=0.0).eval()
    x = torch.randn(2, 5, 12)
    query, memory = attention.project(x)
    whole = attention(x)
    weights = (query @ memory.keys.transpose(-2, -1) / 2).softmax(-1)
    outputs = weights @ memory.values
    gate = torch.ones(2, 3, 1, 1)
    gate[:, 1] = 0
    change = whole - attention(x, changing(gates=gate))
    written = outputs[:, 1] @ attention.out_projection.weight[:, 4:8].T
    torch.testing.assert_close(change, written, atol=1e-6, rtol=0)
    assert (change.abs() > 1e-4).all(dim=(0, 1)).all(), "every coordinate of the output changes"


def test_zeroing_the_attention_weights_values_or_output_of_a_head_has_the_same_effect():
    attention, x = attention_of_one_position(3, 12)
    x = torch.cat([x, x.roll(1, -1)], dim=1)
    query, memory = attention.project(x)
    gate = torch.tensor([1.0, 0.0, 1.0]).view(1, 3, 1, 1)
    off = attention(x, changing(gates=gate))
    values = attention.attend_and_join(query, KeysAndValues.of(memory.keys, memory.values * gate))
    weights = (query @ memory.keys.transpose(-2, -1) / 2).softmax(-1) * gate
    by_weights = attention.out_projection((weights @ memory.values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(off, values, atol=1e-6, rtol=0)
    torch.testing.assert_close(off, by_weights, atol=1e-6, rtol=0)
    scores = attention.attend_and_join(query * gate, memory)
    even = attention(x, changing(sharpness=gate))
    torch.testing.assert_close(scores, even, atol=1e-6, rtol=0)
    assert not torch.allclose(scores, off, atol=1e-3), "scores of 0 are even attention, not none"


def test_attention_with_all_heads_off_outputs_only_its_bias():
    attention, x = attention_of_one_position(4, 12)
    torch.nn.init.normal_(attention.out_projection.bias)
    off = attention(x, changing(gates=torch.zeros(1, 4, 1, 1)))
    assert torch.equal(off[0, 0], attention.out_projection.bias)


def test_ablation_scores_match_the_traces_and_scipy(shaped_translator):
    from scipy import stats

    variants = [Interventions(gates={head: 0.0}) for head in all_heads(shaped_translator.config)]
    variants += [Interventions(hidden_source=[1]), Interventions(attention={("cross", 0, 0, 1): {2: 1.0}})]
    scores = shaped_translator.score(TEXT, TARGET, variants)
    plain = shaped_translator.trace(TEXT, TARGET)
    np.testing.assert_allclose(scores.baseline, plain.log_probs, atol=1e-5)
    for row, variant in enumerate(variants):
        trace = shaped_translator.trace(TEXT, TARGET, interventions=variant)
        np.testing.assert_allclose(scores.log_probs[row], trace.log_probs, atol=1e-5)
        assert scores.change[row] == pytest.approx(float((trace.log_probs - plain.log_probs).sum()), abs=1e-4)
    model = shaped_translator._model
    source, target, predicted = shaped_translator.given(TEXT, TARGET)
    last = edits_of(variants[:1], model.config)
    with torch.inference_mode():
        p = log_probs_of(model, source, target, Edits(), torch.tensor([0]), Edits())[0].exp().double().numpy()
        q = log_probs_of(model, source, target, last, torch.tensor([0]), last)[0].exp().double().numpy()
    np.testing.assert_allclose(scores.kl[0], stats.entropy(p, q, axis=-1), atol=1e-5)
    np.testing.assert_allclose(scores.tvd[0], np.abs(p - q).sum(-1) / 2, atol=1e-5)
    taken = q[np.arange(len(q)), predicted]
    np.testing.assert_array_equal(scores.ranks[0], (q > taken[:, None]).sum(-1) + 1)


def test_scoring_no_interventions_gives_an_empty_result(small_translator):
    scores = small_translator.score(TEXT, TARGET, [])
    assert scores.change.shape == (0,) and len(scores.baseline)


@pytest.fixture(scope="module")
def precise(small_config):
    """Return a float64 model, its source ids, its decoder input ids and the expected output ids."""
    torch.manual_seed(5)
    model = build(small_config).eval().requires_grad_(False).double()
    return model, torch.tensor([[7, 9, 30, 3]]), torch.tensor([[2, 8, 40]]), torch.tensor([8, 40, 3])


def test_gate_gradients_match_central_differences(precise):
    model, source, target, predicted = precise
    gradients = gate_gradients(model, source, target, predicted)
    step = 1e-4

    def total(kind, layer, head, change):
        edits = open_gates(model.config, torch.float64, source.device)
        with torch.no_grad():
            edits.gates[kind][0, layer, head] += change
            hidden = model.decode(target, model.encode(source, None, edits=edits), None, edits=edits)
            log_probs = model.generator(hidden[0]).log_softmax(-1)
        return float(log_probs.gather(-1, predicted[:, None]).sum())

    for kind, layer, head in all_heads(model.config):
        slope = (total(kind, layer, head, step) - total(kind, layer, head, -step)) / (2 * step)
        assert float(gradients[kind][layer, head]) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_gate_gradients_add_up_to_the_gradient_times_the_attention_output(precise):
    """This equality follows from Euler's theorem, because the sub-layer without its bias is linear in the gates of its
    heads.
    """
    model, source, target, predicted = precise
    gradients, caught = gate_gradients(model, source, target, predicted), []
    attention = model.decoder_layers[1].cross_attention.out_projection

    def catch(module, inputs, output):
        output.retain_grad()
        caught.append(output)

    handle = attention.register_forward_hook(catch)
    edits = open_gates(model.config, torch.float64, source.device)
    hidden = model.decode(target, model.encode(source, None, edits=edits), None, edits=edits)
    handle.remove()
    model.generator(hidden[0]).log_softmax(-1).gather(-1, predicted[:, None]).sum().backward()
    expected = ((caught[0] - attention.bias) * caught[0].grad).sum().detach()
    assert float(gradients["cross"][1].sum()) == pytest.approx(float(expected), rel=1e-6)


def test_gradient_estimate_for_a_quadratic_loss_is_twice_the_measured_effect():
    """The two heads write (1, 0) and (0, 2), and the loss is |output|^2 / 2."""
    attention = SelfAttention(2, 2, dropout=0.0).eval()
    attention.out_projection.weight.data, attention.out_projection.bias.data = torch.eye(2), torch.zeros(2)
    memory = KeysAndValues.of(torch.zeros(1, 2, 1, 1), torch.tensor([1.0, 2.0]).view(1, 2, 1, 1))

    def loss(gate):
        written = attention.attend_and_join(torch.zeros(1, 2, 1, 1), memory, changing(gates=gate))
        return written.square().sum() / 2

    gate = torch.ones(1, 2, 1, 1, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss(gate), gate)
    assert gradient.flatten().tolist() == [1, 4] and float(gradient.sum()) == 5
    np.testing.assert_allclose(normalised_by_layer(gradient.view(1, 2).numpy()), [[0.242536, 0.970143]], atol=1e-6)
    for head, removed in ((0, -0.5), (1, -2.0)):
        off = torch.ones(1, 2, 1, 1)
        off[0, head] = 0
        assert float((loss(off) - loss(gate)).detach()) == removed


@pytest.mark.thorough
def test_estimated_head_importance_agrees_with_measured_importance(shipped):
    found = head_importance(shipped, "The old man gave his dog a bone yesterday.")
    assert found.agreement > 0.9, "the two are different numbers of the same thing"
    off = shipped.trace(
        "The old man gave his dog a bone yesterday.", interventions=Interventions(gates={("cross", 0, 7): 0.0})
    )
    assert off.interventions.gate(("cross", 0, 7)) == 0
    assert (concatenated_heads(found.measured) > 0).any() and (concatenated_heads(found.measured) < 0).any(), (
        "both signs exist"
    )


def test_effect_of_an_intervention_matches_separate_runs_with_and_without_it(small_translator):
    changes = Interventions(gates={("cross", 2, 1): 0.0, ("encoder", 0, 0): 0.0})
    effect = effect_of(small_translator, TEXT, changes)
    assert effect.before.equals(small_translator.trace(TEXT))
    assert effect.free.equals(small_translator.trace(TEXT, interventions=changes))
    assert effect.after.predicted_tokens == effect.before.predicted_tokens
    np.testing.assert_allclose(effect.step_change, effect.after.log_probs - effect.before.log_probs, atol=1e-5)
    assert effect.change == pytest.approx(float(effect.step_change.sum()), abs=1e-5)
    old, new = effect.before.predicted_tokens, effect.free.predicted_tokens
    if effect.first_difference is None:
        assert old == new
    else:
        assert old[: effect.first_difference] == new[: effect.first_difference]
        assert old[effect.first_difference :][:1] != new[effect.first_difference :][:1]
    assert effect_of(small_translator, TEXT, Interventions()).first_difference is None


def test_measuring_an_intervention_runs_the_encoder_three_times(small_translator):
    """The encoder runs once each for the unchanged model, the edited model, and the edited model's own translation."""
    changes, read = Interventions(gates={("encoder", 0, 0): 0.0}), []
    counter = small_translator._model.encoder_layers[0].self_attention.out_projection.register_forward_hook(
        lambda *_: read.append(1)
    )
    effect = effect_of(small_translator, TEXT, changes)
    counter.remove()
    assert len(read) == 3
    scores = small_translator.score(TEXT, [token.id for token in effect.before.predicted_tokens], [changes])
    for part in fields(scores):
        np.testing.assert_allclose(getattr(effect.scores, part.name), getattr(scores, part.name), atol=2e-6)


def test_suggested_heads_change_the_translation_when_switched_off(shipped):
    text = "The animal didn't cross the street because it was too tired."
    found = decisive_heads(shipped, text)
    assert found.heads == (("cross", 4, 5),), "the one that the translation needs most, measured"
    assert found.translation == shipped.translate(text, interventions=Interventions({("cross", 4, 5): 0.0})).text
    assert found.translation != shipped.translate(text).text
    several = decisive_heads(shipped, "She gave her brother a book yesterday.")
    assert len(several.heads) == 4 and several.translation, "no single one of them does"
    assert decisive_heads(shipped, "I have a dream.") == DecisiveHeads((("cross", 5, 6),), ""), "it never changes"


@pytest.fixture(scope="module")
def drawing(small_translator):
    """Return a translator with head outputs from other sentences, which resample ablation needs."""
    found = copy.copy(small_translator)
    traces = (small_translator.trace(text, TARGET, details=True) for text in ("I have a dream.", "A dog.", TEXT))
    found.means = HeadMeans.over(traces, small_translator.version, "made up")
    return found


def test_resample_ablation_effect_combines_all_draws(drawing):
    changes = Interventions({("cross", 2, 1): 0.0, ("encoder", 0, 0): 0.0}, "resample", seed=4)
    effect = effect_of(drawing, TEXT, changes, draws=5)
    runs = [replace(changes, draw=number) for number in range(5)]
    alone = [effect_of(drawing, TEXT, run, draws=1) for run in runs]
    assert effect.draws == 5 and effect.translations == tuple(each.free.target_text for each in alone)
    assert effect.unchanged == sum(each.first_difference is None for each in alone)
    assert effect.unchanged == sum(each.unchanged for each in alone)
    np.testing.assert_allclose(effect.step_changes, [each.step_change for each in alone], atol=1e-5)
    assert effect.change == pytest.approx(np.mean([each.change for each in alone]), abs=1e-5)
    assert effect.after.interventions == effect.free.interventions == runs[0]
    np.testing.assert_allclose(effect.free.log_probs, alone[0].free.log_probs, atol=1e-5)
    assert effect.scores.change.std() > 1e-3, "the draws differ"
    again = effect_of(drawing, TEXT, changes, draws=5)
    assert again.translations == effect.translations and np.array_equal(again.step_changes, effect.step_changes)


def test_resample_ablation_uses_the_same_draws_for_every_head(drawing):
    found = head_importance(drawing, TEXT, TARGET, mode="resample", seed=4, draws=3)
    head = ("cross", 2, 1)
    changes = draws_of(Interventions({head: 0.0}, "resample", seed=4), 3)
    expected = drawing.score(TEXT, TARGET, changes).change
    np.testing.assert_allclose(found.drawn["cross"][:, 2, 1], expected, atol=1e-5)
    assert found.measured["cross"][2, 1] == pytest.approx(expected.mean(), abs=1e-5)
    assert {kind: each.shape for kind, each in found.drawn.items()} == {
        "encoder": (3, 2, 4),
        "decoder": (3, 3, 4),
        "cross": (3, 3, 4),
    }
    statistics = importance_statistics(drawing, [TEXT, "A dog."], mode="resample", seed=4, draws=3)
    again = ImportanceStatistics.from_json(statistics.to_json())
    assert (again.mode, again.seed, again.draws, again.reference) == ("resample", 4, 3, "made up")
    order = random_order(drawing.config, 0)
    curve = removal_curve(drawing, TEXT, TARGET, order, mode="resample", seed=4)
    first = Interventions(dict.fromkeys(order[:2], 0.0), "resample", seed=4)
    assert curve.log_probs[2] - curve.log_probs[0] == pytest.approx(
        float(drawing.score(TEXT, TARGET, [first]).change[0]), abs=1e-4
    )


def test_confidence_interval_over_draws_uses_the_t_distribution():
    from scipy import stats

    values = np.random.default_rng(2).normal(3, 1, size=(8, 2))
    found = mean_over_draws(values)
    for column in range(2):
        expected = stats.ttest_1samp(values[:, column], 0).confidence_interval(0.95)
        assert (found.low[column], found.high[column]) == pytest.approx(tuple(expected))
    with pytest.raises(ValueError, match="at least two"):
        mean_over_draws(values[:1])


def test_removal_curve_removes_heads_cumulatively(small_translator):
    found = head_importance(small_translator, TEXT, TARGET)
    order = least_important_first(small_translator.config, found.measured)
    changes = [found.measured[kind][layer, head] for kind, layer, head in order]
    assert changes == sorted(changes, reverse=True)
    trained = small_translator.trace(TEXT, TARGET)
    assert found.log_prob == pytest.approx(float(trained.log_probs.sum()), abs=1e-4)
    curve = removal_curve(small_translator, TEXT, TARGET, order)
    assert curve.log_probs[0] == pytest.approx(found.log_prob, abs=1e-4)
    assert curve.log_probs[1] == pytest.approx(found.log_prob + max(changes), abs=1e-4)
    assert curve.log_probs[-1] == pytest.approx(
        float(small_translator.trace(TEXT, TARGET, interventions=without_heads(order)).log_probs.sum()), abs=1e-4
    )
    shuffled = random_order(small_translator.config, 1)
    assert shuffled != order and set(shuffled) == set(order) and shuffled == random_order(small_translator.config, 1)
    other = removal_curve(small_translator, TEXT, TARGET, shuffled)
    assert other.log_probs[-1] == pytest.approx(curve.log_probs[-1], abs=1e-4)


def test_importance_statistics_survive_saving_and_loading(small_translator):
    texts = [TEXT, "I have a dream.", "A dog."]
    found = importance_statistics(small_translator, texts)
    each = [head_importance(small_translator, text) for text in texts]
    mean = np.mean([one.measured["cross"] for one in each], axis=0)
    np.testing.assert_allclose(found.measured["cross"].mean, mean)
    assert (found.measured["cross"].low <= mean).all() and (mean <= found.measured["cross"].high).all()
    np.testing.assert_allclose((found.magnitude["encoder"] ** 2).sum(axis=-1), 1)
    # Magnitudes are taken per sentence (Michel et al. 2019, equation 2), so that opposite signs do not cancel.
    sizes = np.mean([np.abs(one.estimated["cross"]) for one in each], axis=0)
    assert (sizes > np.abs(np.mean([one.estimated["cross"] for one in each], axis=0)) + 1e-9).any()
    np.testing.assert_allclose(found.magnitude["cross"], normalised_by_layer(sizes))
    again = ImportanceStatistics.from_json(found.to_json())
    assert (again.model, again.mode, again.sentences) == (small_translator.version, "zero", 3)
    for kind in KINDS:
        np.testing.assert_allclose(again.estimated[kind].high, found.estimated[kind].high, atol=1e-6)
    assert "bootstrap" in json.loads(found.to_json())["interval"]
    with pytest.raises(ValueError, match="at least one"):
        importance_statistics(small_translator, [])


def test_bootstrap_interval_matches_the_normal_interval_of_the_mean():
    values = np.random.default_rng(0).normal(size=(400, 2))
    found = bootstrap(values)
    np.testing.assert_allclose(found.high - found.low, 2 * 1.96 / 20, rtol=0.1)
    assert found.mean.shape == (2,)


@ONE_SHAPE
def test_batched_and_single_interventions_have_the_same_scores(shaped_translator):
    source, target, predicted = shaped_translator.given(TEXT, TARGET)
    variants = [Interventions(gates={head: 0.0}) for head in all_heads(shaped_translator.config)] * 8
    with torch.inference_mode():
        many = score(shaped_translator._model, source, target, predicted, variants)
        one = score(shaped_translator._model, source, target, predicted, variants[:1])
    np.testing.assert_allclose(many.log_probs[:: len(variants) // 8], one.log_probs.repeat(8, 0), atol=1e-5)
