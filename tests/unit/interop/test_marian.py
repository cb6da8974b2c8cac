import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.unit.interop.conftest import Peer
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.errors import CheckpointError
from transformer.interop.exporter import export_huggingface
from transformer.interop.importer import import_model
from transformer.model.recorder import Recorder
from transformer.running.translator import Translator

LENGTHS = (17, 13, 5)
WEIGHTS = "model.safetensors"
CROWD, LIMIT = 200, 24

VARIANTS = {
    "opus": {},
    "relu": {"activation_function": "relu"},
    "gelu": {"activation_function": "gelu"},
    "gelu_new": {"activation_function": "gelu_new"},
    "gelu_fast": {"activation_function": "gelu_fast"},
    "silu": {"activation_function": "silu"},
    "unscaled": {"scale_embedding": False},
    "one head": {"encoder_attention_heads": 1, "decoder_attention_heads": 1},
    # With a head width of 3, dividing by sqrt(3) and multiplying by 1 / sqrt(3) round differently.
    "narrow heads": {"d_model": 12},
    "odd width": {"d_model": 15, "encoder_attention_heads": 3, "decoder_attention_heads": 3},
    "filled up rows": {"rows": 128},
    "filled up rows, separate": {
        "vocabulary": "separate",
        "rows": 128,
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
    },
    "three and one": {"encoder_layers": 3, "decoder_layers": 1},
    "legacy keys": {
        "normalize_before": True,
        "normalize_embedding": True,
        "add_final_layer_norm": True,
        "static_position_embeddings": True,
        "extra_pos_embeddings": 0,
    },
    "joint, untied": {"tie_word_embeddings": False},
    "separate, tied": {"vocabulary": "separate", "share_encoder_decoder_embeddings": False},
    "separate, untied": {
        "vocabulary": "separate",
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
    },
    "half precision": {"dtype": torch.float16},
    "bfloat16": {"dtype": torch.bfloat16},
}
TIED = {
    "joint, untied": "none",
    "separate, tied": "target",
    "separate, untied": "none",
    "filled up rows, separate": "none",
}


def padded(rows, pad):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)


def sentences(count, config, seed=1):
    """Return `count` random sentences as lists of token ids, each with a final end symbol and without padding."""
    generator = np.random.default_rng(seed)
    return [
        [*generator.integers(2, config.vocab_size - 1, size).tolist(), config.eos_token_id]
        for size in generator.integers(1, 14, count)
    ]


def assert_same(ours, theirs, what):
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=0, atol=1e-5, err_msg=what)


@torch.inference_mode()
def check_parity(peer, folder):
    """Check that the peer and the imported model compute the same attention and logits for a padded batch.

    The imported model must also compute these logits when it decodes token by token.
    """
    model, theirs = load_checkpoint(folder).model, peer.model
    config = theirs.config
    generator = torch.Generator().manual_seed(3)
    pad = config.pad_token_id
    # Embedding rows beyond the target vocabulary represent no token.
    size = model.config.target_vocabulary
    rows = [
        torch.randint(2, model.config.source_vocabulary - 1, (length,), generator=generator).tolist()
        for length in LENGTHS
    ]
    source = padded([[*row, config.eos_token_id] for row in rows], pad)
    target = torch.randint(2, size - 1, (len(rows), 9), generator=generator)
    target[:, 0] = config.decoder_start_token_id
    mask = source != pad
    out = theirs(
        input_ids=source, attention_mask=mask.long(), decoder_input_ids=target, output_attentions=True, use_cache=False
    )
    record = Recorder(details=False)
    memory = model.encode(source, mask, record=record)
    logits = model.generator(model.decode(target, memory, mask, record=record))
    assert_same(memory[mask], out.encoder_last_hidden_state[mask], "encoder")
    assert logits.shape[-1] == size
    kept = [token for token in range(size) if token != pad]
    assert_same(logits[..., kept], out.logits[..., kept], "logits")
    for kind, attention in (
        ("encoder", out.encoder_attentions),
        ("decoder", out.decoder_attentions),
        ("cross", out.cross_attentions),
    ):
        assert len(record.tensors[f"{kind}.weights"]) == len(attention)
        for ours, others in zip(record.tensors[f"{kind}.weights"], attention, strict=True):
            real = mask[:, None, :, None] if kind == "encoder" else torch.ones(1, dtype=torch.bool)
            assert_same(ours * real, others * real, kind)
    cache = model.start_cache(memory, mask)
    for position in range(target.shape[1]):
        hidden, cache = model.decode_step(target[:, position : position + 1], cache)
        assert_same(model.generator(hidden[:, 0])[:, kept], out.logits[:, position, kept], f"step {position}")
    return model


@pytest.mark.parametrize("name", VARIANTS)
def test_every_imported_variant_matches_hugging_face(name, make_peer, tmp_path):
    peer = make_peer(**VARIANTS[name])
    import_model(str(peer.folder), tmp_path / "model")
    model = check_parity(peer, tmp_path / "model")
    assert model.config.tied_embeddings == TIED.get(name, "all")


@pytest.mark.parametrize("place", ["generation_config.json", "config.json"])
def test_ordinary_token_used_as_the_start_symbol_can_be_predicted(place, make_peer, marian_tokenizer, tmp_path):
    """The token is special at the decoder's first position, and ordinary at all others."""
    peer = make_peer(ending=1.0)
    theirs = marian_tokenizer(peer.folder)
    start = theirs("the dog")["input_ids"][0]
    for name in ("generation_config.json", "config.json"):
        path = peer.folder / name
        value = start if name == place else None
        path.write_text(json.dumps({**json.loads(path.read_text()), "decoder_start_token_id": value}))
    peer.model.generation_config.decoder_start_token_id = start
    import_model(str(peer.folder), tmp_path / "model")
    translator = Translator.load(tmp_path / "model", "cpu")
    text = "the dog and the old man"
    source = translator.tokenizer.encode_source(text)
    assert [token.id for token in source] == theirs(text)["input_ids"] and not any(token.role for token in source[:-1])
    trace = translator.trace(text)
    assert trace.target_tokens[0].id == start and trace.target_tokens[0].role == "start"
    expected = peer.model.generate(torch.tensor([[token.id for token in source]]), max_new_tokens=24, num_beams=1)
    ours = [token.id for token in trace.predicted_tokens]
    assert ours[:24] == cut(expected[0, 1:].tolist(), translator.tokenizer.symbols.end)
    assert translator.tokenizer.decode([start]) == theirs.decode([start])
    assert start not in translator.tokenizer.symbols.never_predicted


def test_start_symbol_defaults_to_the_padding_token(peer, tmp_path):
    folder = shutil.copytree(peer.folder, tmp_path / "theirs")
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        nothing = {"decoder_start_token_id": None, "bos_token_id": None}
        path.write_text(json.dumps({**json.loads(path.read_text()), **nothing}))
    import_model(str(folder), tmp_path / "model")
    symbols = load_checkpoint(tmp_path / "model").tokenizer.symbols
    assert symbols.start == symbols.pad and symbols.never_predicted == {symbols.pad}


def test_token_that_is_both_start_and_end_symbol_gets_its_role_by_position(peer, tmp_path):
    """In fairseq's models, one token is the start symbol at the first position and the end symbol when predicted."""
    folder = shutil.copytree(peer.folder, tmp_path / "theirs")
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "decoder_start_token_id": 0}))
    import_model(str(folder), tmp_path / "model")
    trace = Translator.load(tmp_path / "model", "cpu").trace("The dog.")
    assert trace.target_tokens[0].role == "start" and trace.source_tokens[-1].role == "end"
    assert [token.role == "end" for token in trace.predicted_tokens] == [
        token.id == 0 for token in trace.predicted_tokens
    ]


def test_added_tokens_are_encoded_as_in_hugging_face(make_peer, marian_tokenizer, tmp_path):
    """An added language code works like any other. The import reports other added tokens as impossible to type."""
    from transformers import MarianMTModel

    peer = make_peer()
    theirs = marian_tokenizer(peer.folder)
    theirs.add_tokens([">>xyz<<", "hello there"])
    peer.model.resize_token_embeddings(len(theirs), mean_resizing=False)
    peer.model.save_pretrained(peer.folder)
    theirs.save_pretrained(peer.folder)
    done = import_model(str(peer.folder), tmp_path / "model")
    assert "The model has added tokens that typed text never produces: 'hello there'." in done
    assert "a text begins with the code of its target language: >>xyz<<" in done
    read = MarianMTModel.from_pretrained(peer.folder, attn_implementation="eager")
    check_parity(Peer(read.eval().requires_grad_(False), peer.folder), tmp_path / "model")
    tokenizer = load_checkpoint(tmp_path / "model").tokenizer
    text = ">>xyz<< the dog"
    assert [token.id for token in tokenizer.encode_source(text)] == theirs(text)["input_ids"]
    assert tokenizer.decode([tokenizer.texts.index("hello there")]) == "hello there"


ASKED = {"num_beams": 6, "length_penalty": 0.6, "encoder_no_repeat_ngram_size": 3, "eos_token_id": [0, 7]}
APPLIED = {
    "forced_eos_token_id": 0,
    "repetition_penalty": 1.5,
    "no_repeat_ngram_size": 2,
    "min_length": 9,
    "suppress_tokens": [5],
    "max_length": 20,
    "bad_words_ids": [[95], [3]],
}
# Settings that have no effect, or that this project's search also applies.
IDLE = {
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "min_length": 0,
    "suppress_tokens": None,
    "num_beams": 1,
    "length_penalty": 0.6,
    "max_length": 512,
    "bad_words_ids": [[95]],
    "renormalize_logits": True,
    "temperature": 0.3,
    "eos_token_id": 0,
    "forced_eos_token_id": 0,
}


@pytest.mark.parametrize("place", ["generation_config.json", "config.json"])
def test_import_reports_each_unapplied_search_setting_once_and_export_keeps_all_settings(
    place, peer, tmp_path, run_main
):
    assert peer.model.config.pad_token_id == 95
    folder = shutil.copytree(peer.folder, tmp_path / "theirs")
    if place == "config.json":
        (folder / "generation_config.json").unlink()
    path = folder / place
    written = json.loads(path.read_text())
    path.write_text(json.dumps(written | IDLE))
    assert "`generate` applies" not in import_model(str(folder), tmp_path / "idle")
    assert load_checkpoint(tmp_path / "idle").model.config.unapplied == ()
    path.write_text(json.dumps(written | ASKED | APPLIED))
    done = import_model(str(folder), tmp_path / "asked")
    checkpoint = load_checkpoint(tmp_path / "asked")
    expected = {f"{name} {json.dumps(value)}" for name, value in ASKED.items() if name != "eos_token_id"}
    assert set(checkpoint.model.config.unapplied) == expected | {"eos_token_id 7"}
    for each in checkpoint.model.config.unapplied:
        assert each in done and each in checkpoint.card
    assert done.count("`generate` applies") == 1
    export_huggingface(tmp_path / "asked", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "generation_config.json").read_text()).items() >= (ASKED | APPLIED).items()


def test_unusual_special_token_ids_are_read_from_the_files(make_peer, vocabularies, tmp_path):
    """Some converters use id 0 for the unknown token, 2 for the end symbol and 3 for padding."""
    ordinary = [text for text in vocabularies["joint"]["vocab.json"] if text not in ("</s>", "<unk>", "<pad>")]
    ids = {text: number for number, text in enumerate(["<unk>", ordinary[0], "</s>", "<pad>", *ordinary[1:]])}
    peer = make_peer(ids=ids)
    import_model(str(peer.folder), tmp_path / "model")
    checkpoint = load_checkpoint(tmp_path / "model")
    symbols = checkpoint.tokenizer.symbols
    assert (symbols.unknown, symbols.end, symbols.pad, symbols.start) == (0, 2, 3, 3)
    assert checkpoint.model.symbols == symbols
    generated = peer.model.generate(torch.tensor([[5, 6, 7, 2]]), max_new_tokens=12, num_beams=1)[0, 1:].tolist()
    cache = checkpoint.model.start_cache(checkpoint.model.encode(torch.tensor([[5, 6, 7, 2]]), None), None)
    assert [int(step.predicted) for step in greedy(checkpoint.model, cache, limit=12)] == generated


def test_stored_position_embeddings_are_imported_as_learned_positions(make_peer, tmp_path):
    """Some converters round position embeddings to half precision, and some models have trained ones."""
    for name, change in (("rounded", lambda table: table.half().float()), ("trained", lambda table: table + 0.1)):
        peer = make_peer()
        weights = load_file(peer.folder / WEIGHTS)
        for side in ("encoder", "decoder"):
            embedding = getattr(peer.model.model, side).embed_positions
            embedding.weight.copy_(change(embedding.weight))
            weights[f"model.{side}.embed_positions.weight"] = embedding.weight.clone()
        save_file(weights, peer.folder / WEIGHTS, {"format": "pt"})
        import_model(str(peer.folder), tmp_path / name)
        assert check_parity(peer, tmp_path / name).config.positions == "learned"


def test_stored_sinusoids_are_imported_as_sinusoidal_positions(make_peer, tmp_path):
    peer = make_peer()
    weights = load_file(peer.folder / WEIGHTS)
    for side in ("encoder", "decoder"):
        table = getattr(peer.model.model, side).embed_positions.weight
        weights[f"model.{side}.embed_positions.weight"] = table.clone()
    save_file(weights, peer.folder / WEIGHTS, {"format": "pt"})
    import_model(str(peer.folder), tmp_path / "model")
    assert check_parity(peer, tmp_path / "model").config.positions == "sinusoidal_halves"


def test_missing_output_bias_defaults_to_zero(make_peer, tmp_path):
    peer = make_peer()
    peer.model.final_logits_bias.zero_()
    weights = load_file(peer.folder / WEIGHTS)
    weights.pop("final_logits_bias")
    save_file(weights, peer.folder / WEIGHTS, {"format": "pt"})
    import_model(str(peer.folder), tmp_path / "model")
    check_parity(peer, tmp_path / "model")


@pytest.mark.parametrize("alias", ["lm_head.weight", "model.encoder.embed_tokens.weight"])
def test_shared_embedding_is_imported_under_any_of_its_tensor_names(alias, make_peer, tmp_path):
    peer = make_peer()
    weights = load_file(peer.folder / WEIGHTS)
    names = [name for name in weights if "embed_tokens" in name or "shared" in name or name == "lm_head.weight"]
    embedding = weights[names[0]]
    for name in names:
        del weights[name]
    save_file({**weights, alias: embedding}, peer.folder / WEIGHTS, {"format": "pt"})
    import_model(str(peer.folder), tmp_path / "model")
    assert check_parity(peer, tmp_path / "model").config.tied_embeddings == "all"


def test_embeddings_are_tied_if_their_tensors_are_equal(make_peer, tmp_path):
    """Equal tensors are tied whatever config.json says. Different tensors that config.json ties need `tie=True`."""
    peer = make_peer(tie_word_embeddings=False)
    weights = load_file(peer.folder / WEIGHTS)
    same = weights["model.decoder.embed_tokens.weight"]
    for name in ("model.encoder.embed_tokens.weight", "lm_head.weight", "model.shared.weight"):
        weights[name] = same.clone()
    save_file(weights, peer.folder / WEIGHTS, {"format": "pt"})
    import_model(str(peer.folder), tmp_path / "equal")
    assert load_checkpoint(tmp_path / "equal").model.config.tied_embeddings == "all"

    settings = json.loads((peer.folder / "config.json").read_text())
    (peer.folder / "config.json").write_text(json.dumps({**settings, "tie_word_embeddings": True}))
    weights["lm_head.weight"] = torch.randn_like(same)
    save_file(weights, peer.folder / WEIGHTS, {"format": "pt"})
    with pytest.raises(CheckpointError, match=r"decoder\.embed_tokens\.weight and lm_head\.weight differ.*--tie"):
        import_model(str(peer.folder), tmp_path / "different")
    assert not (tmp_path / "different").exists()
    import_model(str(peer.folder), tmp_path / "believed", tie=True)
    believed = load_checkpoint(tmp_path / "believed").model
    assert believed.config.tied_embeddings == "all" and torch.equal(believed.generator.weight, same)


def test_padding_token_has_zero_probability(peer, imported):
    trace = imported.trace("The old man reads a book.")
    pad = imported.tokenizer.symbols.pad
    source = torch.tensor([[token.id for token in trace.source_tokens]])
    target = torch.tensor([[token.id for token in trace.target_tokens]])
    logits = peer.model(input_ids=source, decoder_input_ids=target).logits[0]
    logits[:, pad] = -torch.inf
    expected = logits.log_softmax(-1)
    predicted = torch.tensor([token.id for token in trace.predicted_tokens])
    np.testing.assert_allclose(trace.log_probs, expected.gather(-1, predicted[:, None])[:, 0].numpy(), atol=1e-5)
    assert np.exp(np.float32(imported.weights().arrays["generator.bias"][pad])) == 0.0


@pytest.fixture(scope="module")
def crowd(peer):
    return sentences(CROWD, peer.model.config)


def generated(peer, crowd, **settings):
    config = peer.model.config
    source = padded(crowd, config.pad_token_id)
    rows = peer.model.generate(
        source, attention_mask=(source != config.pad_token_id).long(), max_new_tokens=LIMIT, do_sample=False, **settings
    )[:, 1:].tolist()
    return [cut(row, config.eos_token_id) for row in rows]


def cut(row, end):
    return row[: row.index(end) + 1] if end in row else row


def start(imported_folder, crowd):
    model = load_checkpoint(imported_folder).model
    source = padded(crowd, model.symbols.pad)
    mask = source != model.symbols.pad
    return model, model.start_cache(model.encode(source, mask), mask)


def check_variety(rows, end):
    """Check that sentences end at different steps, that some do not end, and that the translations differ."""
    lengths = {len(row) for row in rows if row[-1] == end}
    assert len(lengths) > 3 and any(row[-1] != end for row in rows) and len({tuple(row) for row in rows}) > 30


@torch.inference_mode()
def test_greedy_translations_match_hugging_face_generate(peer, imported_folder, crowd):
    model, cache = start(imported_folder, crowd)
    rows = torch.stack([step.predicted for step in greedy(model, cache, limit=LIMIT)], dim=1).tolist()
    ours = [cut(row, model.symbols.end) for row in rows]
    assert ours == generated(peer, crowd, num_beams=1)
    check_variety(ours, model.symbols.end)


@torch.inference_mode()
@pytest.mark.parametrize("beam", [4, pytest.param(6, marks=pytest.mark.thorough)])
def test_beam_translations_match_hugging_face_generate(beam, peer, imported_folder, crowd):
    """The length penalty is 0, because Hugging Face's formula differs."""
    model, cache = start(imported_folder, crowd)
    found = hypotheses(beam_search(model, cache, beam_size=beam, limit=LIMIT, length_penalty=0.0), len(crowd))
    ours = [list(best_first[0].tokens) for best_first in found]
    assert ours == generated(peer, crowd, num_beams=beam, length_penalty=0.0, early_stopping="never")
    check_variety(ours, model.symbols.end)
