"""Weight averaging, over checkpoints of one training run or over models that started from the same weights."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from transformer.checkpoints.available_models import is_language_model
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.checkpoints.model_files import CONFIG, save_model
from transformer.errors import CheckpointError
from transformer.files.atomic_writes import write_errors_explained
from transformer.text.languages import LANGUAGES, write_languages


def average(checkpoints: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the element-wise mean of the checkpoints' weights ("Attention Is All You Need", section 6.1)."""
    return {name: torch.stack([weights[name] for weights in checkpoints]).mean(dim=0) for name in checkpoints[0]}


def average_models(folders: Sequence[Path], output: Path) -> None:
    """Write a model whose weights are the mean of several models' weights ("Model soups", Wortsman et al. 2022).

    The average is useful only if all models started training from the same weights (`train --from`).

    Args:
        folders: folders of at least two translation models.
        output: model folder to write, without a model card.

    Raises:
        CheckpointError: a folder cannot be read or written, `output` contains a model, a model is a language model, or
            the models differ in shape or vocabulary.
        ValueError: there are fewer than two models.
    """
    if len(folders) < 2:
        raise ValueError("averaging needs at least two models: name another folder")
    with write_errors_explained(output):
        used = (output / CONFIG).exists()
    if used:
        raise CheckpointError(f"{output} already contains a model: choose another folder, or delete this model.")
    for folder in folders:
        if is_language_model(folder):
            raise CheckpointError(f"{folder} is a language model: only translation models can be averaged.")
    first, *others = models = [load_checkpoint(folder) for folder in folders]
    for folder, other in zip(folders[1:], others, strict=True):
        if other.model.config != first.model.config or other.tokenizer.fingerprint != first.tokenizer.fingerprint:
            raise CheckpointError(
                f"The models in {folders[0]} and {folder} differ in shape or vocabulary: only models that began "
                "training with the same weights can be averaged."
            )
    save_model(
        output, first.model.config, average([dict(model.model.named_parameters()) for model in models]), first.tokenizer
    )
    if first.languages != LANGUAGES:
        write_languages(output, first.languages)
