from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from transformer import devices
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.devices import available_devices
from transformer.errors import DeviceError, TextError
from transformer.options import AS_TRAINED, RunOptions
from transformer.tokenizer import END, START
from transformer.trace import KINDS
from transformer.translator import DETAILS, MAX_PIECES, Translator

TEXT = "The old man reads a book."


def test_shapes_of_a_trace(small_translator):
    trace = small_translator.translate(TEXT)
    source, target = len(trace.source_pieces), len(trace.target_pieces)
    assert trace.encoder.shape == (2, 4, source, source)
    assert trace.decoder.shape == (3, 4, target, target)
    assert trace.cross.shape == (3, 4, target, source)
    assert len(trace.predicted_pieces) == len(trace.log_probs) == len(trace.entropy) == target
    assert trace.candidate_ids.shape == trace.candidate_log_probs.shape == (target, 10)
    assert trace.encoder.dtype == np.float32 and not trace.details


def test_rows_sum_to_one_and_the_future_is_exactly_zero(small_translator):
    trace = small_translator.translate(TEXT)
    for kind in KINDS:
        weights = trace.attention(kind)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert (weights[..., ~trace.mask(kind)] == 0).all()
    assert np.array_equal(trace.decoder_mask, np.tri(len(trace.target_pieces), dtype=bool))
    assert trace.encoder_mask.all() and trace.cross_mask.all()


def test_each_row_reads_one_piece_and_predicts_the_next(small_translator):
    trace = small_translator.read(TEXT, "Der alte Mann liest.")
    assert trace.target_pieces[0].id == START and trace.predicted_pieces[-1].id == END
    assert trace.target_pieces[1:] == trace.predicted_pieces[:-1]
    assert trace.source_pieces[-1].id == END


def test_attention_of_a_model_that_is_known(copying_translator):
    """Fails if axes are swapped, or a row or a column is shifted by one."""
    trace = copying_translator.translate("The dog and the cat")
    assert trace.target_text == "The dog and the cat" and trace.complete
    assert [p.id for p in trace.predicted_pieces] == [p.id for p in trace.source_pieces]
    size = len(trace.source_pieces)
    np.testing.assert_allclose(trace.cross[0, 0], np.eye(size), atol=1e-3)
    np.testing.assert_allclose(trace.encoder[0, 0, :-1], np.eye(size, k=1)[:-1], atol=1e-3)
    np.testing.assert_allclose(trace.decoder[0, 0, 1:], np.eye(size, k=-1)[1:], atol=1e-3)


def test_teacher_forcing_reads_what_it_is_given(copying_translator):
    trace = copying_translator.read("The dog and the cat", "The cat and the dog")
    assert trace.target_text == "The cat and the dog"
    np.testing.assert_allclose(trace.cross[0, 0], np.eye(*trace.cross.shape[2:]), atol=1e-3)
    surprised = [p.id != q.id for p, q in zip(trace.predicted_pieces, trace.source_pieces, strict=True)]
    np.testing.assert_array_equal(trace.candidate_ids[:, 0] != [p.id for p in trace.predicted_pieces], surprised)


def test_reading_its_own_translation_changes_nothing(copying_translator):
    own = copying_translator.translate("The old dog")
    read = copying_translator.read("The old dog", own.target_text)
    assert read.equals(own)


def test_steps_are_the_rows_of_the_trace(small_translator):
    trace = small_translator.translate(TEXT)
    steps = list(small_translator.steps(TEXT))
    assert [int(step.predicted) for step in steps] == [piece.id for piece in trace.predicted_pieces]
    for row, step in enumerate(steps):
        assert int(step.read) == trace.target_pieces[row].id
        rows = step.distribution.rows
        np.testing.assert_allclose(rows.decoder[0].numpy(), trace.decoder[:, :, row, : row + 1], atol=1e-5)
        np.testing.assert_allclose(rows.cross[0].numpy(), trace.cross[:, :, row], atol=1e-5)
        np.testing.assert_allclose(float(step.log_prob), trace.log_probs[row], atol=1e-5)
        np.testing.assert_allclose(float(step.distribution.entropy), trace.entropy[row], atol=1e-4)
        np.testing.assert_allclose(step.candidates(10)[1][0].numpy(), trace.candidate_log_probs[row], atol=1e-5)


def test_details_agree_with_the_weights(small_translator):
    trace = small_translator.translate(TEXT, details=True)
    assert set(trace.details) == {f"{kind}_{name}" for kind in KINDS for name in DETAILS} | {
        "encoder_residual", "decoder_residual"
    }
    for kind in KINDS:
        d = {name: trace.details[f"{kind}_{name}"] for name in DETAILS}
        width = d["queries"].shape[-1]
        np.testing.assert_allclose(d["queries"] @ d["keys"].swapaxes(-1, -2) / width**0.5, d["scores"], atol=1e-4)
        exponents = np.where(trace.mask(kind), np.exp(d["scores"]), 0)
        np.testing.assert_allclose(exponents / exponents.sum(-1, keepdims=True), trace.attention(kind), atol=1e-5)
        np.testing.assert_allclose(trace.attention(kind) @ d["values"], d["outputs"], atol=1e-4)
    assert trace.details["encoder_residual"].shape == (1 + 2 * 2, len(trace.source_pieces), 32)
    assert trace.details["decoder_residual"].shape == (1 + 3 * 3, len(trace.target_pieces), 32)


@pytest.mark.parametrize(
    "options",
    [RunOptions(decoder_mask=False), RunOptions(positions=False), RunOptions(decoder_mask=False, positions=False)],
)
def test_a_run_that_leaves_something_out_changes_no_later_run(small_translator, options):
    translated = small_translator.translate(TEXT, details=True)
    read = small_translator.read(TEXT, "Der alte Mann liest.", details=True)
    weights = {name: value.clone() for name, value in small_translator._model.state_dict().items()}
    trace = small_translator.read(TEXT, "Der alte Mann liest.", details=True, options=options)
    assert small_translator.translate(TEXT, details=True, options=options).options == trace.options == options
    assert not np.array_equal(trace.decoder, read.decoder)
    assert all(torch.equal(value, weights[name]) for name, value in small_translator._model.state_dict().items())
    assert small_translator.translate(TEXT, details=True).equals(translated)
    assert small_translator.read(TEXT, "Der alte Mann liest.", details=True).equals(read)
    assert read.options == AS_TRAINED


def test_without_the_decoder_mask_the_translation_stays_and_its_reading_changes(small_translator):
    normal = small_translator.translate(TEXT)
    trace = small_translator.translate(TEXT, options=RunOptions(decoder_mask=False))
    assert trace.predicted_pieces == normal.predicted_pieces
    assert np.array_equal(trace.encoder, normal.encoder)
    assert trace.decoder_mask.all() and (trace.decoder > 0).all()
    np.testing.assert_allclose(trace.decoder.sum(-1), 1, atol=1e-5)
    assert not np.allclose(trace.log_probs, normal.log_probs)


def test_a_translation_without_positions_is_written_without_them(shaped_translator):
    options = RunOptions(positions=False)
    trace = shaped_translator.translate(TEXT, options=options)
    assert [piece.id for piece in trace.predicted_pieces] == trace.candidate_ids[:, 0].tolist()
    if shaped_translator.config.positions != "none":
        assert trace.predicted_pieces != shaped_translator.translate(TEXT).predicted_pieces


def test_without_positions_the_stream_begins_with_the_embeddings(small_translator):
    normal = small_translator.read("a a", "b b", details=True)
    trace = small_translator.read("a a", "b b", details=True, options=RunOptions(positions=False))
    assert trace.source_pieces[0].id == trace.source_pieces[1].id and trace.decoder_mask.sum() == 3 * 4 / 2
    for stack in ("encoder", "decoder"):
        positions = normal.details[f"{stack}_residual"][0] - trace.details[f"{stack}_residual"][0]
        expected = small_translator._model.source_positions.table[: len(positions)].numpy()
        np.testing.assert_allclose(positions, expected, atol=1e-5)
    assert np.array_equal(trace.encoder[0, :, 0], trace.encoder[0, :, 1]), "equal pieces are the same to every head"


def test_a_trace_cannot_be_changed(small_translator):
    trace = small_translator.translate(TEXT, details=True)
    for array in (trace.encoder, trace.decoder_mask, trace.log_probs, trace.details["cross_scores"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(TypeError):
        trace.details["cross_scores"] = trace.encoder


def test_eight_threads_get_what_one_gets(small_translator):
    texts = [f"The {'old ' * i}man reads book number {i}." for i in range(24)]
    alone = [small_translator.translate(text, details=True) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: small_translator.translate(text, details=True), texts))
    assert all(a.equals(b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00", "\u200b"])
def test_nothing_to_read_is_said(small_translator, text):
    with pytest.raises(TextError, match="nothing to read"):
        small_translator.translate(text)
    with pytest.raises(TextError, match="nothing to read"):
        small_translator.read(TEXT, text)


def test_a_text_of_exactly_the_limit_is_read_and_one_piece_more_is_not(small_translator):
    text = "1" * (MAX_PIECES - 1)
    assert small_translator.count_pieces(text) == MAX_PIECES, "a space mark and a piece a digit"
    assert len(small_translator.translate(text).source_pieces) == MAX_PIECES + 1
    with pytest.raises(TextError, match=f"{MAX_PIECES + 1} pieces, and at most {MAX_PIECES}"):
        small_translator.translate(text + "1")
    with pytest.raises(TextError, match="23,000 characters"):
        small_translator.translate("x" * 23_000)


def test_the_limit_on_length_is_told(small_translator):
    trace = small_translator.translate("a")
    assert trace.complete == (trace.predicted_pieces[-1].id == END)
    assert len(trace.predicted_pieces) <= MAX_PIECES + 1


@pytest.mark.parametrize(
    "text",
    ["x", "🙂", "👩‍👩‍👧", "שלום", "日本語", "e\u0301\u0323", "?!.,", "<b>x</b>", '"><script>', "&amp;",
     "a\x00b", "</s>", "▁", r"$\frac{a}{b}$",
     "**bold** [x](y)", "https://example.org/?a=b", "a\tb\nc", "a " * 50],
)
def test_hostile_text_is_read(small_translator, text):
    trace = small_translator.translate(text)
    assert trace.source_text == text
    assert np.isfinite(trace.encoder).all() and np.isfinite(trace.log_probs).all()


def test_devices(model_folder):
    assert available_devices()[-1] == "cpu"
    missing = next(name for name in ("mps", "cuda") if name not in available_devices())
    with pytest.raises(DeviceError, match="Choose one of: .*cpu"):
        Translator.load(model_folder, missing)


def test_a_device_that_computes_nothing_is_not_offered(monkeypatch):
    # No machine has both.
    missing = next(name for name in ("mps", "cuda") if name not in available_devices())
    monkeypatch.setattr({"mps": torch.backends.mps, "cuda": torch.cuda}[missing], "is_available", lambda: True)
    monkeypatch.setattr(devices, "_works", devices._works.__wrapped__)
    assert missing not in available_devices() and available_devices()[-1] == "cpu"


def test_a_device_out_of_memory_is_explained(model_folder, monkeypatch):
    translator = Translator.load(model_folder, "cpu")

    def failing(error):
        def encode(*args, **kwargs):
            raise error

        return encode

    for error in (torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("MPS backend out of memory (...)")):
        monkeypatch.setattr(translator._model, "encode", failing(error))
        with pytest.raises(DeviceError, match="choose the device cpu"):
            translator.translate(TEXT)
    monkeypatch.setattr(translator._model, "encode", failing(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        translator.translate(TEXT)


def test_version_follows_the_files(model_folder, small_translator, tmp_path):
    assert Translator.load(model_folder, "cpu").version == small_translator.version
    checkpoint = load_checkpoint(model_folder)
    weights = dict(checkpoint.model.named_parameters())
    weights["generator.bias"] = weights["generator.bias"] + 1
    save_checkpoint(tmp_path, checkpoint.model.config, weights, checkpoint.tokenizer)
    assert Translator.load(tmp_path, "cpu").version != small_translator.version
