import shutil

import pytest
import torch

from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.checkpoints.model_files import save_model
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.files.tensors import read_tensors
from transformer.model.transformer import build
from transformer.text.tokenizer import train_tokenizer


@pytest.fixture
def folder(model_folder, tmp_path):
    return shutil.copytree(model_folder, tmp_path / "model")


def test_model_saved_in_half_precision_loads(tmp_path, small_config, tokenizer):
    model = build(small_config)
    save_model(tmp_path, small_config, dict(model.named_parameters()), tokenizer)
    loaded = load_checkpoint(tmp_path)
    assert loaded.model.config == small_config and loaded.tokenizer.fingerprint == tokenizer.fingerprint
    assert not loaded.model.training and loaded.card == loaded.curve == ""
    for (name, ours), theirs in zip(model.named_parameters(), loaded.model.parameters(), strict=True):
        assert torch.equal(ours.half().float(), theirs), name
    assert read_tensors(tmp_path / "model.safetensors")[0]["generator.bias"].dtype == torch.float16


def test_model_card_survives_saving_and_loading(folder, small_config, tokenizer):
    assert load_checkpoint(folder).card == "# A card"
    save_model(folder, small_config, dict(build(small_config).named_parameters()), tokenizer)
    assert load_checkpoint(folder).card == "# A card"


def test_missing_folder_is_reported(tmp_path):
    with pytest.raises(CheckpointError, match=r"nowhere.config.json is missing"):
        load_checkpoint(tmp_path / "nowhere")


def test_vocabulary_of_another_model_is_reported(folder):
    other = train_tokenizer(["something else entirely, quite another text " * 3] * 40, size=372)
    (folder / "tokenizer.model").write_bytes(other.serialized)
    with pytest.raises(CheckpointError, match="not the one that the weights beside it were trained with"):
        load_checkpoint(folder)


def test_weights_with_the_wrong_shape_are_reported(folder, small_config):
    config = TransformerConfig.from_json(small_config.to_json().replace('"d_ff": 48', '"d_ff": 64'))
    (folder / "config.json").write_text(config.to_json())
    with pytest.raises(CheckpointError, match="feed_forward.* should have .*64"):
        load_checkpoint(folder)
