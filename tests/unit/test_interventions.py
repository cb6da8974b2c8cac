"""Tests of the `Interventions` class, and of the effect of interventions on model runs."""

import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.conftest import ONE_SHAPE
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.decoding.greedy import greedy
from transformer.decoding.head_replacements import POSITIONS, HeadReplacements, drawn, head_outputs
from transformer.errors import CheckpointError, InterventionError
from transformer.model.edits import edits_of
from transformer.model.recorder import Recorder
from transformer.model.transformer import build
from transformer.running.translator import Translator
from transformer.values.decoding_settings import METHODS, DecodingSettings
from transformer.values.head_means import FILE, HeadMeans, mean_outputs
from transformer.values.interventions import (
    AS_TRAINED,
    MODES,
    Interventions,
    all_heads,
    draws_of,
    head_name,
    parse_head,
)
from transformer.values.kinds import KINDS

TEXT = "The old man reads a book."
TARGET = "Der alte Mann liest ein Buch."
# The first sentence is TEXT itself, so resampling draws only from the other sentences.
OTHERS = (TEXT, "I have a dream.", "She gave the book to her brother yesterday.", "A dog.")
HEADS = [("encoder", 0, 1), ("decoder", 1, 2), ("cross", 0, 0)]
CHANGES = {
    "zero": Interventions(gates=dict.fromkeys(HEADS, 0.0)),
    "half": Interventions(gates=dict.fromkeys(HEADS, 0.5)),
    "double": Interventions(gates=dict.fromkeys(HEADS, 2.0)),
    "mean": Interventions(gates=dict.fromkeys(HEADS, 0.0), mode="mean"),
    "uniform": Interventions(gates={HEADS[0]: 0.0, HEADS[1]: 0.25, HEADS[2]: 0.0}, mode="uniform"),
    "resample": Interventions(gates=dict.fromkeys(HEADS, 0.0), mode="resample", seed=3, draw=1),
    "half resampled": Interventions(gates=dict.fromkeys(HEADS, 0.5), mode="resample", seed=3),
    "rows": Interventions(
        attention={
            ("encoder", 1, 0, 2): {0: 1.0},
            ("decoder", 0, 1, 3): {1: 0.5, 2: 0.25},
            ("cross", 1, 2, 0): {3: 0.9},
        }
    ),
    "hidden": Interventions(hidden_source=[1, 2], hidden_target=[2]),
    # Edits like those made on the page: attention to a two-token word in every head, uniform rows, and an erased word.
    "edits": Interventions(
        attention={
            (kind, layer, head, row): {0: 0.25, 1: 0.25} if row < 4 else dict.fromkeys(range(4), 0.25)
            for kind in KINDS
            for layer in range(2)
            for head in range(3)
            for row in (2, 3, 4)
        },
        hidden_source=[4],
    ),
}


def means_of(translator):
    """Return mean head outputs that differ from head to head."""
    return HeadMeans.over(
        (translator.trace(text, TARGET, details=True) for text in OTHERS), translator.version, "made up"
    )


def replacements(translator, text=TEXT):
    """Return the replacements for head outputs, given one source text."""
    return HeadReplacements(translator._model, translator.means, translator.tokenizer.encode_ids(text))


@pytest.fixture(scope="session")
def translator(shaped_translator):
    """Return a translator with a configuration from SHAPES and with mean head outputs."""
    with_means = copy.copy(shaped_translator)
    with_means.means = means_of(shaped_translator)
    return with_means


def test_interventions_with_the_same_effect_compare_equal():
    one = Interventions(gates={("cross", 0, 7): 0, ("encoder", 1, 1): 1.0}, hidden_source=[2, 1, 2])
    other = Interventions(gates=((("cross", 0, 7), 0.0),), hidden_source=(1, 2))
    assert one == other and hash(one) == hash(other) and one.gate(("cross", 0, 7)) == 0
    assert Interventions(gates={("cross", 0, 7): 1}) == AS_TRAINED
    row = Interventions(attention={("cross", 0, 1, 2): [0.5, 0.5]})
    assert row == Interventions(attention={("cross", 0, 1, 2): {1: 0.5, 0: 0.5}}) and hash(row) != hash(one)
    with pytest.raises(AttributeError):
        one.mode = "mean"
    drawn_first = Interventions({("cross", 0, 7): 0}, "resample", seed=1)
    assert drawn_first != replace(drawn_first, seed=2) != replace(drawn_first, draw=1)
    # Without resampling, seed and draw are ignored in comparisons.
    assert one == replace(one, seed=5, draw=2)
    assert Interventions(mode="resample", seed=5) == Interventions(mode="resample")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gates": {("cross", 0, 0): 2.1}}, r"cross\.1\.1 is 2\.1: in zero mode, it must be from 0 to 2"),
        ({"gates": {("cross", 0, 0): float("nan")}}, "is nan"),
        ({"gates": {("cross", 0, 0): 1.5}, "mode": "uniform"}, "must be from 0 to 1"),
        ({"gates": {("crosses", 0, 0): 0}}, "pass .kind, layer, head"),
        ({"gates": {("cross", 0): 0}}, "pass .kind, layer, head"),
        ({"gates": {("cross", -1, 0): 0}}, "pass .kind, layer, head"),
        ({"mode": "median"}, "no mode 'median': choose one of zero, mean, uniform, resample"),
        ({"mode": "resample", "seed": -1}, "Seed and draw are -1 and 0: pass non-negative integers"),
        ({"mode": "resample", "draw": 1.5}, "Seed and draw are 0 and 1.5: pass non-negative integers"),
        ({"mode": "resample", "seed": "1"}, "Seed and draw are '1' and 0: pass non-negative integers"),
        ({"attention": {("cross", 0, 0, 1): {0: 0.7, 1: 0.6}}}, r"Row 2 of cross\.1\.1: the weights add up to 1\.3"),
        ({"attention": {("cross", 0, 0, 1): {0: -0.1}}}, "from 0 to 1"),
        ({"attention": {("cross", 0, 0, 1): {-1: 0.1}}}, "no column may be negative"),
        ({"attention": {("decoder", 0, 0, 1): {2: 0.1}}}, "column 3 is masked"),
        ({"attention": {("encoder", 0, 0, 1): {2: 0.1}}, "hidden_source": [2]}, "column 3 is masked"),
        ({"hidden_source": [-1]}, "is negative"),
    ],
)
def test_invalid_intervention_is_reported(changes, message):
    with pytest.raises(InterventionError, match=message):
        Interventions(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gates": {("encoder", 2, 0): 0}}, r"no head encoder\.3\.1: encoder attention has 2 layers of 4 heads"),
        ({"gates": {("cross", 0, 4): 0}}, r"no head cross\.1\.5"),
        ({"hidden_source": [99]}, "no source token 100"),
        ({"attention": {("cross", 0, 0, 0): {99: 0.5}}}, "no source token 100"),
        ({"attention": {("encoder", 0, 0, 99): {0: 0.5}}}, "no source token 100"),
        ({"attention": {("decoder", 0, 0, 0): {0: 0.5}}}, "add up to 0.5.*no other cell"),
        ({"gates": {("cross", 0, 0): 0}, "mode": "mean"}, "python -m transformer.analysis means"),
        ({"gates": {("cross", 0, 0): 0}, "mode": "resample"}, "python -m transformer.analysis means"),
    ],
)
def test_intervention_outside_the_model_or_the_sentence_is_reported(small_translator, changes, message):
    with pytest.raises(InterventionError, match=message):
        small_translator.trace(TEXT, interventions=Interventions(**changes))


def test_head_names_count_from_one_and_parse_back(small_config):
    assert head_name(("cross", 0, 7)) == "cross.1.8" and parse_head("cross.1.8") == ("cross", 0, 7)
    heads = all_heads(small_config)
    assert len(set(heads)) == 4 * (2 + 3 + 3) and [parse_head(head_name(head)) for head in heads] == list(heads)
    for text in ("cross.0.1", "cross.1", "dross.1.1", "cross.1.1.1", "", "cross.a.1", "cross.-1.1", "<b>"):
        with pytest.raises(InterventionError, match="is not a head"):
            parse_head(text)


@pytest.mark.parametrize("name", CHANGES)
def test_stepwise_decoding_with_interventions_matches_a_single_pass(translator, name):
    """A changed encoder head affects cross-attention keys. A changed decoder head affects later layers' cached keys."""
    model, ids = translator._model, translator.tokenizer.encode_ids
    edits = edits_of([CHANGES[name]], translator.config, replacements(translator))
    source, target = torch.tensor([ids(TEXT)]), torch.tensor([ids(TARGET)])
    with torch.inference_mode():
        cache = model.start_cache(model.encode(source, None, edits=edits), None, edits=edits)
        record = Recorder(details=False)
        whole, _ = model.decode_step(target, cache, record=record)
        for row in range(target.shape[1]):
            step = Recorder(details=False)
            hidden, cache = model.decode_step(target[:, row : row + 1], cache, record=step)
            torch.testing.assert_close(hidden[:, 0], whole[:, row], atol=1e-5, rtol=0)
            for kind in ("decoder", "cross"):
                steps, rows = (torch.cat(each.tensors[f"{kind}.weights"]) for each in (step, record))
                torch.testing.assert_close(steps[..., 0, :], rows[..., row, : steps.shape[-1]], atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", CHANGES)
def test_interventions_have_the_same_effect_with_and_without_fused_attention(translator, name):
    model, ids = translator._model, translator.tokenizer.encode_ids
    edits = edits_of([CHANGES[name]], translator.config, replacements(translator))
    source, target = torch.tensor([ids(TEXT)]), torch.tensor([ids(TARGET)])
    with torch.inference_mode():
        outputs = []
        for record in (None, Recorder(details=True)):
            memory = model.encode(source, None, edits=edits, record=record)
            outputs.append(model.decode(target, memory, None, edits=edits, record=record))
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=1e-5)


# By default, pytest tests every intervention with one decoding method, and one intervention with every method.
# `pytest -m thorough` tests the other pairs.
@pytest.mark.parametrize(
    ("method", "name"),
    [
        (method, name)
        if method == "greedy" or name == "edits"
        else pytest.param(method, name, marks=pytest.mark.thorough)
        for method in METHODS
        for name in CHANGES
    ],
)
def test_interventions_apply_to_every_decoding_method(translator, name, method):
    traced = translator.trace_decoding(TEXT, DecodingSettings(method), interventions=CHANGES[name])
    assert traced.trace.interventions == CHANGES[name]
    assert traced.translation.log_prob == pytest.approx(float(traced.trace.log_probs.sum()), abs=1e-4)
    read = translator.trace(TEXT, [token.id for token in traced.translation.tokens], interventions=CHANGES[name])
    np.testing.assert_array_equal(read.cross, traced.trace.cross)
    assert not np.array_equal(read.log_probs, translator.trace(TEXT, [p.id for p in read.predicted_tokens]).log_probs)


def test_batched_interventions_match_single_runs(translator):
    """The rows of the batch have different interventions."""
    model, variants = translator._model, [AS_TRAINED, *CHANGES.values()]
    source = torch.tensor([translator.tokenizer.encode_ids(TEXT)])

    def tokens(changes):
        edits = edits_of(changes, translator.config, replacements(translator))
        with torch.inference_mode():
            memory = model.encode(source.expand(len(changes), -1), None, edits=edits)
            steps = list(greedy(model, model.start_cache(memory, None, edits=edits), limit=8))
        return torch.stack([step.distribution.log_probs for step in steps], dim=1)

    together = tokens(variants)
    for row, variant in enumerate(variants):
        alone = tokens([variant])[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_setting_every_gate_to_one_gives_bitwise_identical_output(translator, mode):
    opened = Interventions(gates=dict.fromkeys(all_heads(translator.config), 1.0), mode=mode)
    same_bits(translator.trace(TEXT, details=True, interventions=opened), translator.trace(TEXT, details=True))


def same_bits(one, other):
    for kind in KINDS:
        assert np.array_equal(one.attention(kind), other.attention(kind))
    assert np.array_equal(one.log_probs, other.log_probs)
    assert np.array_equal(one.residual_stream("decoder"), other.residual_stream("decoder"))


def test_run_without_interventions_is_unaffected_by_earlier_interventions(translator):
    before = translator.trace(TEXT, TARGET, details=True)
    for changes in CHANGES.values():
        translator.trace(TEXT, TARGET, interventions=changes)
        same_bits(translator.trace(TEXT, TARGET, details=True), before)


def test_interventions_on_other_batch_rows_leave_a_row_bitwise_unchanged(translator):
    variants = [AS_TRAINED, CHANGES["zero"], CHANGES["uniform"], CHANGES["mean"]]
    edits = edits_of(variants, translator.config, replacements(translator))
    kind, layer, _ = HEADS[0]
    edit_weights, edit_outputs = (edits.at(kind, name, layer) for name in ("weights", "outputs"))
    weights, output = torch.rand(4, 3, 5, 5).softmax(-1), torch.randn(4, 3, 5, 8)
    assert torch.equal(edit_weights(weights, None)[0], weights[0])
    assert torch.equal(edit_outputs(output, None)[0], output[0])


def test_edited_attention_rows_sum_to_one_and_masked_cells_stay_zero(translator):
    for changes in CHANGES.values():
        trace = translator.trace(TEXT, TARGET, interventions=changes)
        for kind in KINDS:
            np.testing.assert_allclose(trace.attention(kind).sum(-1), 1, atol=1e-5)
            assert (trace.attention(kind)[..., ~trace.mask(kind)] == 0).all()


def test_edited_attention_rows_appear_in_the_trace(translator):
    plain, changed = translator.trace(TEXT, TARGET), translator.trace(TEXT, TARGET, interventions=CHANGES["rows"])
    np.testing.assert_array_equal(changed.encoder[1, 0, 2], np.eye(plain.encoder.shape[-1])[0])
    row = changed.decoder[0, 1, 3]
    np.testing.assert_allclose(row[[1, 2]], [0.5, 0.25])
    others = translator.trace(
        TEXT, TARGET, interventions=Interventions(attention={("decoder", 0, 1, 3): {1: 0.5, 2: 0.25}})
    ).decoder[0, 1, 3]
    expected = plain.decoder[0, 1, 3, [0, 3]]
    np.testing.assert_allclose(others[[0, 3]], 0.25 * expected / expected.sum(), atol=1e-6)
    whole = Interventions(attention={("cross", 0, 1, 2): [float(w) for w in plain.cross[0, 1, 2]]})
    np.testing.assert_allclose(
        translator.trace(TEXT, TARGET, interventions=whole).log_probs, plain.log_probs, atol=1e-4
    )


def test_uniform_row_attends_equally_to_all_visible_tokens(translator):
    trace = translator.trace(TEXT, TARGET, interventions=CHANGES["uniform"])
    np.testing.assert_allclose(trace.encoder[0, 1], 1 / len(trace.source_tokens), atol=1e-6)
    plain = translator.trace(TEXT, TARGET)
    even = plain.decoder_mask / plain.decoder_mask.sum(axis=1, keepdims=True)
    alone = translator.trace(TEXT, TARGET, interventions=Interventions(gates={("decoder", 1, 2): 0.25}, mode="uniform"))
    np.testing.assert_allclose(alone.decoder[1, 2], 0.25 * plain.decoder[1, 2] + 0.75 * even, atol=1e-6)


def test_hidden_tokens_receive_attention_only_from_themselves(translator):
    trace = translator.trace(TEXT, TARGET, interventions=CHANGES["hidden"])
    seen = trace.encoder[..., [1, 2]].copy()
    seen[:, :, 1, 0] = seen[:, :, 2, 1] = 0
    assert not seen.any() and not trace.cross[..., [1, 2]].any()
    assert not np.delete(trace.decoder[..., 2], 2, axis=-1).any() and (trace.decoder[:, :, 2, 2] > 0).all()


def test_hidden_source_token_does_not_affect_the_translation(translator):
    """Replacing a hidden source token changes nothing. Covers a source in which every token is hidden."""
    texts = "The 1 old", "The 2 old"
    tokens, others = (translator.trace(text, TARGET).source_tokens for text in texts)
    where = [at for at, (one, other) in enumerate(zip(tokens, others, strict=True)) if one.id != other.id]
    assert where
    one, other = (
        translator.trace(text, TARGET, interventions=Interventions(hidden_source=where)).log_probs for text in texts
    )
    np.testing.assert_allclose(one, other, atol=1e-5)
    everything = Interventions(hidden_source=range(len(tokens)))
    hidden = translator.trace(texts[0], TARGET, interventions=everything)
    assert not hidden.cross.any() and np.isfinite(hidden.log_probs).all()
    # Scoring uses fused attention, which returns no weights.
    scored = translator.score(texts[0], TARGET, [everything])
    np.testing.assert_allclose(scored.log_probs[0], hidden.log_probs, atol=1e-5)


def test_threads_with_different_interventions_are_independent(small_translator):
    heads = all_heads(small_translator.config)[::24]
    changes = [Interventions(gates={head: gate}) for head in heads for gate in (0.0, 0.5, 1.0)]
    changes += [Interventions({head: 0.0}, "resample", seed=seed) for head in heads for seed in (1, 2)]
    drawing = copy.copy(small_translator)
    drawing.means = means_of(small_translator)

    def run(each):
        return drawing.trace("A cat.", details=True, interventions=each)

    alone = [run(each) for each in changes]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, changes * 2))
    assert all(a.equals(b) for a, b in zip(alone * 2, together, strict=True))
    assert len({trace.log_probs.tobytes() for trace in alone}) > len(changes) / 2


@pytest.mark.parametrize("head", HEADS)
def test_switching_a_head_off_matches_zeroing_its_part_of_the_output_projection(translator, head):
    """A head's contribution is not a block of the sublayer's output, because the output projection mixes all heads."""
    changed = build(translator.config).eval().requires_grad_(False)
    changed.load_state_dict(translator._model.state_dict())
    kind, layer, number = head
    stack = changed.encoder_layers if kind == "encoder" else changed.decoder_layers
    attention = stack[layer].cross_attention if kind == "cross" else stack[layer].self_attention
    width = translator.config.d_model // translator.config.heads
    # PyTorch stores matrices transposed: the rows of W_O with which a head writes are columns here.
    attention.out_projection.weight[:, number * width : (number + 1) * width] = 0
    by_hand = Translator(Checkpoint(changed, translator.tokenizer), device="cpu", version="by hand")
    off = translator.trace(TEXT, TARGET, interventions=Interventions(gates={head: 0.0}))
    np.testing.assert_allclose(off.log_probs, by_hand.trace(TEXT, TARGET).log_probs, atol=1e-5)
    assert abs(off.log_probs - translator.trace(TEXT, TARGET).log_probs).max() > 1e-3


def test_mean_ablation_with_a_single_reference_token_changes_nothing(translator):
    """The mean over one reference token is that token's own output. With means of 0, mean ablation matches zero
    ablation.
    """
    model, config = translator._model, translator.config
    source, target = torch.tensor([[9]]), torch.tensor([[2]])
    record = Recorder(details=True)
    with torch.inference_mode():
        plain = model.decode(target, model.encode(source, None, record=record), None, record=record)
        own = {kind: torch.cat(record.tensors[f"{kind}.outputs"])[:, :, 0].numpy() for kind in KINDS}
        for outputs, expected in ((own, AS_TRAINED), ({kind: 0 * own[kind] for kind in KINDS}, None)):
            gates = dict.fromkeys(all_heads(config), 0.0)
            replacement = HeadReplacements(model, HeadMeans("", "", outputs), [9])
            edits = edits_of([Interventions(gates, "mean")], config, replacement)
            found = model.decode(target, model.encode(source, None, edits=edits), None, edits=edits)
            zero = edits_of([Interventions(gates)], config)
            without = model.decode(target, model.encode(source, None, edits=zero), None, edits=zero)
            torch.testing.assert_close(found, plain if expected else without, atol=1e-5, rtol=1e-5)


def identity(self, interventions):
    """Return replacements in which each position takes its own output from the same sentence."""
    return head_outputs(self._model, self._means.pairs[0])


def test_replacing_a_head_with_its_own_output_changes_nothing(translator, monkeypatch):
    """Each replacement comes from the same sentence and position; another position would change the output."""
    plain = translator.trace(TEXT, TARGET, details=True)
    everything = dict.fromkeys(all_heads(translator.config), 0.0)
    read = [token.id for token in plain.predicted_tokens]
    away = translator.trace(TEXT, read, details=True, interventions=Interventions(everything, "resample"))
    assert abs(away.log_probs - plain.log_probs).max() > 1e-2
    monkeypatch.setattr(HeadReplacements, "__call__", identity)
    for gate in (0.0, 0.5):
        own = Interventions(dict.fromkeys(everything, gate), "resample")
        same_bits(translator.trace(TEXT, read, details=True, interventions=own), plain)


def test_resampling_draws_existing_positions_of_another_sentence(translator):
    pairs, source = translator.means.pairs, translator.tokenizer.encode_ids(TEXT)
    found = [drawn(pairs, source, 1, draw) for draw in range(6)]
    assert [pair for pair, _ in found[:3]] == [pair for pair, _ in found[3:]], "each in turn"
    assert {pair for pair, _ in found} == set(pairs[1:]), "never the sentence itself"
    for pair, places in found:
        for kind, length in (("encoder", len(pair[0])), ("decoder", len(pair[1])), ("cross", len(pair[1]))):
            assert len(places[kind]) == POSITIONS and 0 == min(places[kind]) < max(places[kind]) == length - 1
        assert np.array_equal(places["decoder"], places["cross"]), "heads of a stack keep company"
    again, (_, other) = drawn(pairs, source, 1, 0), drawn(pairs, source, 1, 3)
    assert again[0] == found[0][0] and np.array_equal(again[1]["cross"], found[0][1]["cross"])
    assert not np.array_equal(other["cross"], found[0][1]["cross"]), "the same sentence is shuffled anew"
    orders = {tuple(drawn(pairs, source, seed, draw)[0] for draw in range(3)) for seed in range(12)}
    assert len(orders) > 3, "other seeds are other orders"
    with pytest.raises(InterventionError, match="no other sentences"):
        drawn(pairs[:1], source, 1, 0)


def test_resampled_head_outputs_come_from_the_drawn_sentence(translator):
    head, number, gate = ("decoder", 1, 2), 2, 0.25
    changed = Interventions({head: gate}, "resample", seed=5, draw=number)
    pair, places = drawn(translator.means.pairs, translator.tokenizer.encode_ids(TEXT), 5, number)
    with torch.inference_mode():
        other = head_outputs(translator._model, pair)["decoder"][1, 2].numpy()
    plain = translator.trace(TEXT, TARGET, details=True).detail("decoder", "outputs")[1, 2]
    # The changed output does not alter the residual stream that the head's own layer reads.
    found = translator.trace(TEXT, TARGET, details=True, interventions=changed)
    layer = Interventions({("decoder", 1, 2): gate}, "zero")
    same_stream = translator.trace(TEXT, TARGET, details=True, interventions=layer)
    np.testing.assert_array_equal(found.decoder, same_stream.decoder)
    np.testing.assert_allclose(
        found.detail("decoder", "outputs")[1, 2],
        gate * plain + (1 - gate) * other[places["decoder"][: len(plain)]],
        atol=1e-6,
    )
    assert found.equals(translator.trace(TEXT, TARGET, details=True, interventions=changed)), "a seed repeats"


@ONE_SHAPE
def test_mean_over_many_resampling_draws_approaches_mean_ablation(translator):
    """If all sentences have the same length, both methods give them equal weight.

    A head's replacement is linear in the drawn outputs, so its mean over many draws approaches the mean output.
    """
    texts = "I have a dream.", "I have a dog."
    means = HeadMeans.over(
        (translator.trace(text, TARGET, details=True) for text in (texts[0], texts[0])), translator.version, ""
    )
    replacement = HeadReplacements(translator._model, means, translator.tokenizer.encode_ids(texts[1]))
    config, heads = translator.config, dict.fromkeys(all_heads(translator.config), 0.0)
    with torch.inference_mode():
        mean = edits_of([Interventions(heads, "mean")], config, replacement)
        draws = edits_of(draws_of(Interventions(heads, "resample"), 400), config, replacement)
    for kind in KINDS:
        outputs = draws.offsets[kind]
        spread = outputs.std(dim=0).clamp_min(1e-6)
        assert spread.mean() > 0.05
        # With this many draws, the error divided by the standard error is approximately standard normal.
        error = (outputs.mean(dim=0) - mean.offsets[kind][0]) / spread * 400**0.5
        assert error.abs().max() < 6 and error.square().mean() == pytest.approx(1, abs=0.25)


def test_resampling_makes_the_requested_number_of_draws():
    off = Interventions({("cross", 0, 0): 0.0}, "resample", seed=7)
    draws = draws_of(off, 8)
    assert len(set(draws)) == 8 and draws[0] == off and {each.seed for each in draws} == {7}
    for once in (replace(off, mode="mean"), Interventions(mode="resample"), AS_TRAINED):
        assert draws_of(once, 8) == (once,), "nothing is drawn"
    with pytest.raises(InterventionError, match="The number of draws is 100,000,000: it must be at most 512"):
        draws_of(off, 100_000_000)
    with pytest.raises(InterventionError, match="The number of draws is 0: it must be at least 1"):
        draws_of(off, 0)


def test_head_means_of_another_model_are_rejected(small_translator, model_folder, tmp_path):
    means = means_of(small_translator)
    means.save(tmp_path)
    again = HeadMeans.load(tmp_path)
    assert (again.model, again.sentences, again.pairs) == (means.model, means.sentences, means.pairs)
    encoded = [tuple(small_translator.tokenizer.encode_ids(text)) for text in OTHERS]
    assert [source for source, _ in means.pairs] == encoded
    assert all(np.array_equal(again.outputs[kind], means.outputs[kind]) for kind in KINDS)
    assert HeadMeans.load(model_folder) is None
    checkpoint = Checkpoint(small_translator._model, small_translator.tokenizer)
    assert Translator(checkpoint, device="cpu", version="another", means=means).means is None
    (tmp_path / FILE).write_bytes(b"no tensors")
    with pytest.raises(CheckpointError, match="Recreate it"):
        HeadMeans.load(tmp_path)


def test_head_mean_is_the_average_over_every_position(small_translator):
    traces = [small_translator.trace(text, details=True) for text in (TEXT, "I have a dream.")]
    positions = np.concatenate([trace.detail("encoder", "outputs") for trace in traces], axis=2)
    np.testing.assert_allclose(mean_outputs(traces)["encoder"], positions.mean(axis=2), atol=1e-6)
    with pytest.raises(ValueError, match="at least one"):
        mean_outputs([])
