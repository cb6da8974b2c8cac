import re

import numpy as np
import pytest
import torch

from pages.ui.charts.matrix import cells
from tests.conftest import perturbed
from tests.small_models import small
from transformer.analysis.view import view_of
from transformer.checkpoints.checkpoint import Checkpoint, load_checkpoint
from transformer.checkpoints.model_files import save_model
from transformer.decoding.greedy import greedy
from transformer.decoding.step import entropy, top_candidates
from transformer.decoding.texts import MAX_TOKENS
from transformer.errors import DeviceError, TextError
from transformer.model import devices
from transformer.model.devices import available_devices
from transformer.model.transformer import build
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.text.tokenizer import END, START
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import DETAILS, KINDS, PARTS, STACKS

TEXT = "The old man reads a book."


def test_shapes_of_a_trace_match_its_tokens(small_translator):
    trace = small_translator.trace(TEXT)
    source, target = len(trace.source_tokens), len(trace.target_tokens)
    assert trace.encoder.shape == (2, 4, source, source)
    assert trace.decoder.shape == (3, 4, target, target)
    assert trace.cross.shape == (3, 4, target, source)
    assert len(trace.predicted_tokens) == len(trace.log_probs) == len(trace.entropy) == target
    assert trace.candidate_ids.shape == trace.candidate_log_probs.shape == (target, 10)
    assert trace.encoder.dtype == np.float32 and not trace.details


def test_attention_rows_sum_to_one_and_future_weights_are_zero(small_translator):
    trace = small_translator.trace(TEXT)
    for kind in KINDS:
        weights = trace.attention(kind)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert (weights[..., ~trace.mask(kind)] == 0).all()
    assert np.array_equal(trace.decoder_mask, np.tri(len(trace.target_tokens), dtype=bool))
    assert trace.encoder_mask.all() and trace.cross_mask.all()


def test_batched_traces_match_single_traces(shaped_translator):
    """Covers texts of different lengths, an empty text and a text that is too long."""
    texts = [TEXT, "A", " ", "The dog and the cat and the dog.", "word " * (MAX_TOKENS + 1), "Hello!"]
    found = {}
    shaped_translator.trace_together(texts, found.setdefault)
    assert set(found) == set(range(len(texts)))
    for number, text in enumerate(texts):
        if number in (2, 4):
            assert isinstance(found[number], TextError)
            with pytest.raises(TextError, match=re.escape(str(found[number]))):
                shaped_translator.trace(text)
            continue
        alone = shaped_translator.trace(text)
        assert found[number].predicted_tokens == alone.predicted_tokens
        assert found[number].complete == alone.complete and found[number].target_text == alone.target_text
        assert found[number].model == alone.model == shaped_translator.version
        for kind in KINDS:
            assert np.array_equal(found[number].attention(kind), alone.attention(kind))
        assert np.array_equal(found[number].log_probs, alone.log_probs)


def test_each_decoder_row_reads_one_token_and_predicts_the_following_token(small_translator):
    trace = small_translator.trace(TEXT, "Der alte Mann liest.")
    assert trace.target_tokens[0].id == START and trace.predicted_tokens[-1].id == END
    assert trace.target_tokens[1:] == trace.predicted_tokens[:-1]
    assert trace.source_tokens[-1].id == END


def test_trace_of_a_copying_model_shows_the_expected_attention(copying_translator):
    """Fails if axes are swapped, or if rows or columns are shifted by one."""
    trace = copying_translator.trace("The dog and the cat")
    assert trace.target_text == "The dog and the cat" and trace.complete
    assert [p.id for p in trace.predicted_tokens] == [p.id for p in trace.source_tokens]
    size = len(trace.source_tokens)
    np.testing.assert_allclose(trace.cross[0, 0], np.eye(size), atol=1e-3)
    np.testing.assert_allclose(trace.encoder[0, 0, :-1], np.eye(size, k=1)[:-1], atol=1e-3)
    np.testing.assert_allclose(trace.decoder[0, 0, 1:], np.eye(size, k=-1)[1:], atol=1e-3)


def test_teacher_forcing_reads_the_given_translation(copying_translator):
    trace = copying_translator.trace("The dog and the cat", "The cat and the dog")
    assert trace.target_text == "The cat and the dog"
    np.testing.assert_allclose(trace.cross[0, 0], np.eye(*trace.cross.shape[2:]), atol=1e-3)
    surprised = [p.id != q.id for p, q in zip(trace.predicted_tokens, trace.source_tokens, strict=True)]
    np.testing.assert_array_equal(trace.candidate_ids[:, 0] != [p.id for p in trace.predicted_tokens], surprised)


def test_teacher_forcing_the_model_translation_reproduces_its_trace(copying_translator):
    own = copying_translator.trace("The old dog")
    read = copying_translator.trace("The old dog", own.target_text)
    assert read.equals(own)


def test_cached_decoding_steps_match_the_rows_of_the_trace(small_translator):
    trace = small_translator.trace(TEXT)
    model = small_translator._model
    source, limit = torch.tensor([[token.id for token in trace.source_tokens]]), len(trace.target_tokens)
    with torch.inference_mode():
        cache = model.start_cache(model.encode(source, None), None)
        steps = list(greedy(model, cache, limit=limit, capture=True))
    assert [int(step.predicted) for step in steps] == [token.id for token in trace.predicted_tokens]
    for row, step in enumerate(steps):
        assert int(step.read) == trace.target_tokens[row].id
        attention, log_probs = step.distribution.attention, step.distribution.log_probs
        np.testing.assert_allclose(attention.decoder[0].numpy(), trace.decoder[:, :, row, : row + 1], atol=1e-5)
        np.testing.assert_allclose(attention.cross[0].numpy(), trace.cross[:, :, row], atol=1e-5)
        np.testing.assert_allclose(float(step.log_prob), trace.log_probs[row], atol=1e-5)
        np.testing.assert_allclose(float(entropy(log_probs)), trace.entropy[row], atol=1e-4)
        candidates = top_candidates(log_probs, 10)
        np.testing.assert_allclose(candidates.log_probs[0].numpy(), trace.candidate_log_probs[row], atol=1e-5)


def test_attention_weights_can_be_recomputed_from_the_recorded_details(small_translator):
    trace = small_translator.trace(TEXT, details=True)
    assert set(trace.details) == {f"{kind}_{name}" for kind in KINDS for name in DETAILS} | {
        f"{stack}_{name}" for stack in STACKS for name in ("residual", "feed_forward")
    }
    for kind in KINDS:
        d = {name: trace.details[f"{kind}_{name}"] for name in DETAILS}
        width = d["queries"].shape[-1]
        np.testing.assert_allclose(d["queries"] @ d["keys"].swapaxes(-1, -2) / width**0.5, d["scores"], atol=1e-4)
        exponents = np.where(trace.mask(kind), np.exp(d["scores"]), 0)
        np.testing.assert_allclose(exponents / exponents.sum(-1, keepdims=True), trace.attention(kind), atol=1e-5)
        np.testing.assert_allclose(trace.attention(kind) @ d["values"], d["outputs"], atol=1e-4)
    assert trace.residual_stream("encoder").shape == (1 + 2 * 2, len(trace.source_tokens), 32)
    assert trace.residual_stream("decoder").shape == (1 + 3 * 3, len(trace.target_tokens), 32)


def test_residual_stream_is_recorded_by_sublayer(small_translator):
    trace = small_translator.trace(TEXT, details=True)
    for stack, layers in (("encoder", 2), ("decoder", 3)):
        stream = trace.residual_stream(stack)
        pairs = [trace.residual(stack, layer, part) for layer in range(layers) for part in PARTS[stack]]
        np.testing.assert_array_equal([before for before, _ in pairs], stream[:-1])
        np.testing.assert_array_equal([after for _, after in pairs], stream[1:])
    for name in DETAILS:
        np.testing.assert_array_equal(trace.detail("cross", name), trace.details[f"cross_{name}"])


def test_reading_unrequested_details_raises_an_error(small_translator):
    trace = small_translator.trace(TEXT)
    with pytest.raises(ValueError, match="no cross_scores: compute the trace with details=True"):
        trace.detail("cross", "scores")
    with pytest.raises(ValueError, match="details=True"):
        trace.residual("decoder", 0, "feed_forward")


@pytest.mark.parametrize(
    "interventions",
    [
        Interventions(decoder_mask=False),
        Interventions(positions=False),
        Interventions(decoder_mask=False, positions=False),
    ],
)
def test_run_without_mask_or_positions_does_not_affect_later_runs(small_translator, interventions):
    translated = small_translator.trace(TEXT, details=True)
    read = small_translator.trace(TEXT, "Der alte Mann liest.", details=True)
    weights = {name: value.clone() for name, value in small_translator._model.state_dict().items()}
    trace = small_translator.trace(TEXT, "Der alte Mann liest.", details=True, interventions=interventions)
    assert trace.interventions == interventions
    assert small_translator.trace(TEXT, details=True, interventions=interventions).interventions == interventions
    assert not np.array_equal(trace.decoder, read.decoder)
    assert all(torch.equal(value, weights[name]) for name, value in small_translator._model.state_dict().items())
    assert small_translator.trace(TEXT, details=True).equals(translated)
    assert small_translator.trace(TEXT, "Der alte Mann liest.", details=True).equals(read)
    assert read.interventions == AS_TRAINED


def test_omitting_the_decoder_mask_changes_only_the_final_pass(small_translator):
    normal = small_translator.trace(TEXT)
    trace = small_translator.trace(TEXT, interventions=Interventions(decoder_mask=False))
    assert trace.predicted_tokens == normal.predicted_tokens
    assert np.array_equal(trace.encoder, normal.encoder)
    assert trace.decoder_mask.all() and (trace.decoder > 0).all()
    np.testing.assert_allclose(trace.decoder.sum(-1), 1, atol=1e-5)
    assert not np.allclose(trace.log_probs, normal.log_probs)


def test_decoding_uses_no_positions_if_positions_are_switched_off(shaped_translator):
    interventions = Interventions(positions=False)
    trace = shaped_translator.trace(TEXT, interventions=interventions)
    parts = shaped_translator.tokenizer.spelling.parts
    begun = False
    for token, likeliest in zip(trace.predicted_tokens, trace.candidate_ids[:, 0].tolist(), strict=True):
        # The model skips the most likely token only where that token would leave a character incomplete.
        assert token.id == likeliest or likeliest in parts or (begun and token.id in parts)
        begun = token.id in parts
    normal = shaped_translator.trace(TEXT)
    if shaped_translator.config.positions == "rotary":
        # This random model repeats one token whether rotary positions are on or off, so compare the log-probabilities.
        assert not np.allclose(trace.log_probs, normal.log_probs)
    elif shaped_translator.config.positions != "none":
        assert trace.predicted_tokens != normal.predicted_tokens


def test_residual_stream_without_positions_begins_with_the_embeddings(small_translator):
    normal = small_translator.trace("a a", "b b", details=True)
    trace = small_translator.trace("a a", "b b", details=True, interventions=Interventions(positions=False))
    assert trace.source_tokens[0].id == trace.source_tokens[1].id and trace.decoder_mask.sum() == 3 * 4 / 2
    for stack in ("encoder", "decoder"):
        positions = normal.residual_stream(stack)[0] - trace.residual_stream(stack)[0]
        expected = small_translator._model.source_positions.table[: len(positions)].numpy()
        np.testing.assert_allclose(positions, expected, atol=1e-5)
    assert np.array_equal(trace.encoder[0, :, 0], trace.encoder[0, :, 1]), "equal tokens are the same to every head"


def test_changing_a_trace_raises_an_error(small_translator):
    trace = small_translator.trace(TEXT, details=True)
    for array in (trace.encoder, trace.decoder_mask, trace.log_probs, trace.detail("cross", "scores")):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(TypeError):
        trace.details["cross_scores"] = trace.encoder


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00", "\u200b"])
def test_empty_text_is_reported(small_translator, text):
    with pytest.raises(TextError, match="Type a sentence"):
        small_translator.trace(text)
    with pytest.raises(TextError, match="Type the translation"):
        small_translator.trace(TEXT, text)


def test_text_at_the_token_limit_is_read_and_a_longer_text_is_rejected(small_translator):
    text = "1" * (MAX_TOKENS - 1)
    assert len(small_translator.tokenizer.encode_ids(text, end=False)) == MAX_TOKENS, "a space mark and a token a digit"
    assert len(small_translator.trace(text).source_tokens) == MAX_TOKENS + 1
    with pytest.raises(TextError, match=f"{MAX_TOKENS + 1} tokens, but the limit is {MAX_TOKENS}"):
        small_translator.trace(text + "1")
    with pytest.raises(TextError, match="23,000 characters"):
        small_translator.trace("x" * 23_000)


def test_translation_stops_at_the_last_learned_position(tokenizer):
    torch.manual_seed(8)
    model = perturbed(build(small(tokenizer.size, 24, 3, 40, positions="learned", max_positions=20)))
    short = Translator(Checkpoint(model, tokenizer), device="cpu", version="short")
    for settings in (DecodingSettings(), DecodingSettings("beam", beam_size=2)):
        translation = short.translate("A dog.", settings)
        assert len(translation.tokens) == 20 and not translation.complete
    with pytest.raises(TextError, match="20 learned positions"):
        short.translate("A dog.", prefix=range(10, 31))


def test_missing_device_is_rejected_with_a_list_of_devices(model_folder):
    assert available_devices()[-1] == "cpu"
    missing = next(name for name in ("mps", "cuda") if name not in available_devices())
    with pytest.raises(DeviceError, match="Choose one of: .*cpu"):
        Translator.load(model_folder, missing)


def test_unusable_device_is_not_offered(monkeypatch):
    # No machine has both MPS and CUDA.
    missing = next(name for name in ("mps", "cuda") if name not in available_devices())
    monkeypatch.setattr({"mps": torch.backends.mps, "cuda": torch.cuda}[missing], "is_available", lambda: True)
    monkeypatch.setattr(devices, "_works", devices._works.__wrapped__)
    assert missing not in available_devices() and available_devices()[-1] == "cpu"


def test_model_version_changes_with_its_files(model_folder, small_translator, tmp_path):
    assert Translator.load(model_folder, "cpu").version == small_translator.version
    checkpoint = load_checkpoint(model_folder)
    weights = dict(checkpoint.model.named_parameters())
    weights["generator.bias"] = weights["generator.bias"] + 1
    save_model(tmp_path, checkpoint.model.config, weights, checkpoint.tokenizer)
    assert Translator.load(tmp_path, "cpu").version != small_translator.version


@pytest.mark.parametrize("text", ["\ud800 dog", "dog\udfff.", "a \udfff\ud800 b"])
def test_lone_surrogate_is_read_as_a_replacement_character(small_translator, text):
    """JSON and Python strings can contain a lone surrogate, but no page, file or chart can."""
    trace = small_translator.trace(text, text)
    shown = [trace.source_text, trace.target_text, small_translator.trace(text).source_text]
    assert shown == [re.sub("[\ud800-\udfff]", "\ufffd", text)] * 3
    table = cells(view_of(trace, "cross"), 0, 0)
    assert "\ufffd" in "".join(table["to"]) and table.to_csv().encode("utf-8")
    assert small_translator.trace("🙂 dog").source_text == "🙂 dog"


def test_model_runs_with_equal_arguments_compare_equal(small_translator):
    run = TraceRun("A dog\ud83d\ude42.", [5, 6, 2])
    assert run == TraceRun("A dog🙂.", (5, 6, 2), interventions=Interventions()) and len({run, TraceRun(run.text)}) == 2
    assert small_translator.get(TraceRun("A dog.", "Ein Hund.")).equals(small_translator.trace("A dog.", "Ein Hund."))
