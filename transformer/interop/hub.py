"""Model folders by name, through huggingface_hub: the only place that uses the network."""

from __future__ import annotations

import re
from pathlib import Path

from transformer.checkpoints.foreign_files import PICKLE
from transformer.errors import CheckpointError

NAME = re.compile(r"[\w.-]+/[\w.-]+")
WANTED = [
    "config.json", "generation_config.json", "tokenizer_config.json", "vocab.json", "target_vocab.json", "source.spm",
    "target.spm", "model.safetensors", "model.safetensors.index.json", "model-?????-of-?????.safetensors", "README.md",
]
INSTALL = "pip install huggingface_hub"


def fetch(name: str, *, revision: str | None, pickle: bool) -> tuple[Path, str]:
    """Fetch what the import reads of a repository into the hub's own cache; what is there is not fetched again.

    Args:
        name: "owner/name".
        revision: a branch, a tag or a commit; None for the main branch.
        pickle: fetch pytorch_model.bin too.

    Returns:
        The folder, and the commit that it is of.

    Raises:
        CheckpointError: huggingface_hub is not installed, or cannot fetch it.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise CheckpointError(
            f"To fetch {name} by its name: {INSTALL}, or download the folder and give its path."
        ) from None
    try:
        folder = snapshot_download(name, revision=revision, allow_patterns=WANTED + [PICKLE] * pickle)
    except Exception as error:  # Of the hub, of HTTP, of the network and of the disk: no class is common to all.
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{name} cannot be fetched: {reason}") from error
    return Path(folder), Path(folder).name
