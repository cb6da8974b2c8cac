import pytest
import torch

from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.checkpoints.model_files import save_model
from transformer.commands.train import main
from transformer.errors import CheckpointError
from transformer.files.paths import MODEL
from transformer.model.transformer import build
from transformer.text.languages import Languages, typed_language, write_languages
from transformer.training.averaging import average_models


@pytest.fixture
def folders(tmp_path, small_config, tokenizer):
    """Return the folders of three models that differ only in their weights."""
    made = []
    for seed in range(3):
        torch.manual_seed(seed)
        made.append(tmp_path / str(seed))
        save_model(made[-1], small_config, dict(build(small_config).named_parameters()), tokenizer)
    return made


def weights(folder):
    return dict(load_checkpoint(folder).model.named_parameters())


def test_averaged_model_has_the_mean_of_every_weight(folders, tmp_path, run_main):
    done = run_main(main, "average", "--models", *folders, "--output", tmp_path / "mean")
    assert done.returncode == 0 and "the mean of 3 models" in done.stdout, done.stderr
    found, *parts = (weights(folder) for folder in (tmp_path / "mean", *folders))
    assert found.keys() == parts[0].keys()
    for name, weight in found.items():
        mean = sum(part[name].double() for part in parts) / 3
        torch.testing.assert_close(weight.double(), mean, rtol=1e-3, atol=1e-7)  # The mean is stored in half precision.
    assert any(not torch.equal(weight, parts[0][name]) for name, weight in found.items())


def test_model_averaged_with_itself_is_unchanged(folders, tmp_path):
    french = Languages(typed_language("en"), typed_language("fr"))
    write_languages(folders[0], french)
    average_models([folders[0], folders[0]], tmp_path / "mean")
    found, expected = weights(tmp_path / "mean"), weights(folders[0])
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in expected)
    assert load_checkpoint(tmp_path / "mean").languages == french


def test_models_with_different_shapes_are_rejected(folders, tmp_path):
    with pytest.raises(CheckpointError, match="differ in shape or vocabulary"):
        average_models([folders[0], MODEL], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_invalid_models_to_average_are_reported(folders, tiny_language_model, tmp_path, run_main):
    for models, output, said in (
        (folders[:1], tmp_path / "mean", "averaging needs at least two models"),
        ([folders[0], tiny_language_model], tmp_path / "mean", "is a language model"),
        (folders, folders[0], "already contains a model"),
    ):
        before = (folders[0] / "model.safetensors").read_bytes()
        done = run_main(main, "average", "--models", *models, "--output", output)
        assert done.returncode == 1 and said in done.stderr
        assert (folders[0] / "model.safetensors").read_bytes() == before and not (tmp_path / "mean").exists()
