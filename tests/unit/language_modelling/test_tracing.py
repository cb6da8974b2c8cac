import io
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_atlas.browser.labels import column_labels
from attention_atlas.browser.payload import browser_payload
from attention_atlas.browser.wire import unframe, unpack
from pages.ui.components.html_export import export_parts
from pages.ui.params.attention import AttentionParams
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.view import axes_of, view_of
from transformer.checkpoints.checkpoint import load_language_model
from transformer.checkpoints.model_files import save_model
from transformer.config import decoder_only
from transformer.errors import InterventionError, TextError
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.tracing import (
    check_length,
    reading_activations,
    trace_continuation,
    trace_reading,
    trace_text,
)
from transformer.model.recorder import Recorder
from transformer.model.transformer import build
from transformer.values.decoding_settings import METHODS, DecodingSettings
from transformer.values.interventions import Interventions
from transformer.values.trace import Trace

POSITIONS = 40


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, sentencepiece_tokenizer):
    torch.manual_seed(2)
    config = decoder_only(
        vocabulary=sentencepiece_tokenizer.size, d_model=16, heads=2, layers=3, d_ff=32, max_positions=POSITIONS
    )
    weights = {
        name: weight.detach() + 0.2 * torch.randn_like(weight) for name, weight in build(config).named_parameters()
    }
    folder = tmp_path_factory.mktemp("lm")
    save_model(folder, config, weights, sentencepiece_tokenizer)
    return load_language_model(folder, "cpu")


@pytest.mark.parametrize("vocabulary", ["loaded", "gpt2"])
def test_word_labels_match_the_text_for_every_tokenizer(request, loaded, vocabulary):
    if vocabulary == "gpt2":
        request.getfixturevalue("huggingface")
        loaded = load_language_model(request.getfixturevalue("gpt2_folder"), "cpu")
    trace = trace_text(loaded, "the cat is in the sun\nIt's the end")[1]
    axes = axes_of(trace, "decoder", words=True)
    assert [label.lstrip("↵") for label in column_labels(axes)][1:9] == [
        "the",
        "cat",
        "is",
        "in",
        "the",
        "sun",
        "It's",
        "the",
    ]
    assert len(trace.target_tokens) > len(axes.columns)


def test_surrogate_pair_is_read_as_one_emoji(loaded):
    expected, trace = trace_text(loaded, "a 🙂 b")
    found, other = trace_text(loaded, "a \ud83d\ude42 b")
    assert found.text == "a 🙂 b" and found.bits_per_byte == expected.bits_per_byte and other.equals(trace)


def test_trace_of_a_language_model_matches_its_output(loaded):
    score, trace = trace_text(loaded, "the house is small.")
    ids = [token.id for token in score.tokens]
    record = Recorder(details=True)
    with torch.inference_mode():
        log_probs = loaded.model(None, torch.tensor([[loaded.model.symbols.start, *ids[:-1]]]), record=record)[0]
    np.testing.assert_allclose(trace.log_probs, score.log_probs, atol=1e-5)
    weights = np.concatenate([layer.numpy() for layer in record.tensors["decoder.weights"]])
    np.testing.assert_array_equal(trace.decoder, weights)
    assert trace.candidate_ids[:, 0].tolist() == log_probs.argmax(dim=-1).tolist()
    assert [token.id for token in trace.predicted_tokens] == ids
    assert [token.role for token in trace.target_tokens][:2] == ["start", ""]
    assert trace.model == loaded.version and trace.residual_stream("decoder").shape == (7, len(ids), 16)


def test_language_model_trace_has_one_attention_kind_and_survives_saving(loaded):
    trace = trace_text(loaded, "the house is small.")[1]
    assert trace.kinds == ("decoder",)
    assert (np.triu(trace.decoder, 1) == 0).all() and not np.triu(trace.mask("decoder"), 1).any()
    file = io.BytesIO()
    trace.to_npz(file)
    file.seek(0)
    assert Trace.from_npz(file).equals(trace) and Trace.from_json(trace.to_json()).equals(trace)


TEXT, OTHER = "the house is small.", "the cat is in the sun"


def put(index, value):
    """Return a hook that replaces part of a tensor in the second layer."""

    def change(x, layer, start):
        if layer != 1:
            return None
        x = x.clone()
        x[index] = value
        return x

    return change


def patched(loaded):
    """Return a patch of the residual stream after the second layer, and the vector that it inserts."""
    other = trace_reading(loaded, OTHER)
    ids = tuple(token.id for token in other.target_tokens)
    vector = torch.tensor(other.residual_stream("decoder")[4, 2])
    return Interventions(patches={("decoder.residual", 2, 0, 3): 2}, other=((), ids)), vector


@pytest.mark.parametrize(
    ("change", "site", "hook"),
    [
        (Interventions({("decoder", 1, 0): 0.0}), "outputs", put((0, 0), 0.0)),
        (Interventions({("decoder", 1, 0): 0.0}, "uniform"), "weights", put((0, 0, 2, slice(3)), 1 / 3)),
        (Interventions(attention={("decoder", 1, 1, 2): [0.5, 0, 0.5]}), "weights", put((0, 1, 2, 1), 0.0)),
        (Interventions(hidden_target=[1]), "weights", put((0, 0, slice(2, None), 1), 0.0)),
        (None, "residual", None),
    ],
    ids=["gate", "uniform", "row", "hidden", "patch"],
)
def test_intervention_on_a_language_model_matches_an_equivalent_hook(loaded, change, site, hook):
    """The hook repeats the intervention, so adding the hook must not change the result."""
    if change is None:
        change, vector = patched(loaded)
        hook = put((0, 3), vector)
    found = trace_reading(loaded, TEXT, interventions=change)
    assert found.interventions == change
    assert abs(found.log_probs - trace_reading(loaded, TEXT).log_probs).max() > 1e-4
    both = trace_reading(loaded, TEXT, interventions=change, hooks={f"decoder.{site}": hook})
    np.testing.assert_allclose(both.log_probs, found.log_probs, atol=1e-5)


def test_hook_can_switch_off_a_head_of_a_language_model(loaded):
    hooked = trace_reading(loaded, TEXT, hooks={"decoder.outputs": put((0, 0), 0.0)})
    gated = trace_reading(loaded, TEXT, interventions=Interventions({("decoder", 1, 0): 0.0}))
    np.testing.assert_array_equal(hooked.log_probs, gated.log_probs)
    assert not hooked.detail("decoder", "outputs")[1, 0].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interventions": Interventions({("decoder", 0, 0): 0.0}, "mean")}, "only for translators: choose .* zero or"),
        ({"interventions": Interventions({("cross", 0, 0): 0.0})}, "no head cross.1.1: cross attention has 0 layers"),
        ({"interventions": Interventions(hidden_source=[0])}, "no source token 1: the source has 0"),
        ({"hooks": {"encoder.scores": print}}, "unknown site 'encoder.scores': the sites of this model are decoder"),
        ({"hooks": {"decoder.after_cross_attention": print}}, "unknown site 'decoder.after_cross_attention'"),
    ],
)
def test_edit_of_a_part_that_a_language_model_lacks_raises_an_error(loaded, arguments, message):
    with pytest.raises(InterventionError, match=message):
        trace_reading(loaded, TEXT, **arguments)


def test_activations_of_a_language_model_match_its_trace(loaded):
    off = Interventions({("decoder", 1, 0): 0.0})
    hooks = {"decoder.feed_forward": put((0, 3), 1.0)}
    sites = ["decoder.weights", "decoder.residual.1", "decoder.logits"]
    found = reading_activations(loaded, TEXT, sites, interventions=off, hooks=hooks)
    trace = trace_reading(loaded, TEXT, interventions=off, hooks=hooks)
    np.testing.assert_array_equal(found["decoder.weights"], trace.decoder)
    np.testing.assert_array_equal(found["decoder.residual.1"], trace.residual_stream("decoder")[4])
    assert found["decoder.logits"].argmax(-1).tolist() == trace.candidate_ids[:, 0].tolist()
    with pytest.raises(InterventionError, match="unknown site 'encoder.residual': the sites of this model are"):
        reading_activations(loaded, TEXT, ["encoder.residual"])


@pytest.mark.parametrize("choices", [{"attention": "local", "block": 4}, {"attention": "compressed", "stride": 3}])
def test_tracing_needs_full_attention(loaded, choices):
    config = decoder_only(vocabulary=loaded.tokenizer.size, d_model=16, heads=2, layers=1, d_ff=8, **choices)
    other = replace(loaded, model=build(config).eval())
    with pytest.raises(InterventionError, match=f"{choices['attention']} attention cannot be traced: choose"):
        trace_reading(other, TEXT)
    message = "local attention cannot be read" if choices["attention"] == "local" else "cannot be traced"
    with pytest.raises(InterventionError, match=message):
        reading_activations(other, TEXT, ["decoder.outputs"])


@pytest.mark.parametrize("method", METHODS)
def test_trace_of_a_continuation_matches_the_continuation(loaded, method):
    settings = DecodingSettings(method, seed=5, beam_size=3)
    traced = trace_continuation(loaded, "the house", settings, limit=6)
    found = continue_text(loaded.model, loaded.tokenizer, "the house", settings, limit=6)
    written = len(found.tokens)
    assert traced.translation.text == found.text and traced.trace.target_text == found.text
    assert traced.trace.log_probs[-written:].sum() == pytest.approx(found.log_prob, abs=1e-4)
    assert traced.ranks.shape == (written,) and traced.logit_lens.taken.shape == (3, written)
    np.testing.assert_allclose(traced.logit_lens.taken[-1], traced.trace.log_probs[-written:], atol=1e-5)
    if method == "greedy":
        # The chosen token has rank 1, except where the most likely token would have broken a character.
        likeliest = traced.trace.candidate_ids[-written:, 0]
        whole = [number not in loaded.tokenizer.spelling.parts for number in likeliest.tolist()]
        assert any(whole) and (traced.ranks[whole] == 1).all()
    assert (traced.translation.tree is not None) == (method == "beam")


def test_forced_tokens_are_all_kept_even_beyond_the_length_limit(loaded):
    forced = [20, 21, 22, 23]
    traced = trace_continuation(loaded, "the", DecodingSettings(), limit=2, forced=forced, suppressed={30})
    ids = [token.id for token in traced.translation.tokens]
    assert ids[:4] == forced and 30 not in ids and len(ids) <= 5


@pytest.mark.parametrize("text", ["the " * POSITIONS, "x" * 20_000])
def test_text_too_long_for_the_model_raises_an_error(loaded, text):
    said = rf"has [0-9,]+ (tokens|characters), .* at most {POSITIONS - 1} tokens .* shorten the text"
    with pytest.raises(TextError, match=said):
        trace_text(loaded, text)
    with pytest.raises(TextError, match=said):
        trace_continuation(loaded, text, DecodingSettings(), limit=3)


def test_text_exactly_at_the_limit_is_accepted(loaded):
    text = "the"
    while len(loaded.tokenizer.encode(text + " the", end=False)) < POSITIONS:
        text += " the"
    check_length(loaded, text)
    assert len(trace_continuation(loaded, text, DecodingSettings(), limit=9).ranks) >= 1
    with pytest.raises(TextError):
        check_length(loaded, text + " the")


def test_browser_receives_a_language_model_trace_with_head_names(loaded):
    score, trace = trace_text(loaded, "the house is small.")
    metrics = head_metrics(trace, "decoder", [0.0] * loaded.tokenizer.size)
    header, codes = unpack(browser_payload(trace, metrics, vars(AttentionParams()), also={(1, 0): ("induction",)}))
    count = len(score.tokens)
    assert (header["kind"], header["queries"], header["keys"]) == ("decoder", count, count)
    assert codes.size == 3 * 2 * count * count and header["names"][2].endswith("induction")
    assert header["texts"]["target"] == trace.target_text
    parts = unframe(export_parts(trace, "decoder", lambda kind: metrics))[0]
    assert len(parts["sizes"]) == 1, "the file needs the template and no other kind"
    assert json.dumps(header) and view_of(trace, "decoder", words=True, special=False).weights.shape[0] == 3
