import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer.checkpoints.gpt2 import read_gpt2
from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.errors import CheckpointError


@pytest.fixture
def folder(gpt2_folder, huggingface, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(gpt2_folder, copy)
    return copy


def configured(folder, **values):
    path = folder / "config.json"
    settings = json.loads(path.read_text()) | values
    path.write_text(json.dumps(settings))


def reweighted(folder, change):
    weights = load_file(folder / "model.safetensors")
    save_file(change(weights), folder / "model.safetensors", {"format": "pt"})


def test_gpt2_files_in_the_old_and_new_formats_load_the_same_weights(folder, imported):
    def old(weights):
        weights = {name.removeprefix("transformer."): weight for name, weight in weights.items()}
        return weights | {"h.0.attn.bias": torch.ones(1, 1, 64, 64, dtype=torch.bool).tril()}

    reweighted(folder, old)
    model = read_gpt2(HuggingFaceFolder(folder)).model
    for (name, one), (_, other) in zip(model.named_parameters(), imported.model.named_parameters(), strict=True):
        assert torch.equal(one, other), name


def test_loaded_gpt2_model_is_in_evaluation_mode_with_tied_embeddings(imported):
    assert not imported.model.training
    assert imported.model.generator.weight is imported.model.target_embedding.weight
    assert imported.model.config.max_positions == 64


WRONG = {
    "a Marian model": (lambda folder: configured(folder, model_type="marian"), "is not a GPT-2 model"),
    "too many tokens": (
        lambda folder: configured(folder, vocab_size=421),
        "should have shape (421, 24), but has (420, 24)",
    ),
    "another width": (lambda folder: configured(folder, n_embd=32), "target_embedding.weight should have"),
    "another depth": (lambda folder: configured(folder, n_layer=4), "the tensor h.3.ln_1.weight is missing"),
    "a layer too many": (lambda folder: configured(folder, n_layer=2), "which no GPT-2 model with the"),
    "heads": (lambda folder: configured(folder, n_head=5), "24 is not a multiple of 5"),
    "all memory": (lambda folder: configured(folder, n_embd=10**9), "n_embd in config.json must be a whole number"),
    "a text for a number": (lambda folder: configured(folder, n_layer="3"), "n_layer in config.json must be"),
    "too few rows": (lambda folder: configured(folder, vocab_size=419), "has 420 tokens, but vocab_size in"),
    "another epsilon": (lambda folder: configured(folder, layer_norm_epsilon=0.1), "layer_norm_epsilon"),
    "other scores": (lambda folder: configured(folder, scale_attn_weights="no"), "scale_attn_weights"),
    "another activation": (lambda folder: configured(folder, activation_function="mish"), "the activation 'mish'"),
    "no number": (
        lambda folder: reweighted(
            folder, lambda weights: weights | {"transformer.ln_f.bias": torch.full((24,), float("nan"))}
        ),
        "contains values that are not finite",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_invalid_gpt2_folder_gives_a_one_line_error(folder, wrong):
    change, message = WRONG[wrong]
    change(folder)
    with pytest.raises(CheckpointError) as error:
        read_gpt2(HuggingFaceFolder(folder))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
