"""Model folders by name, through huggingface_hub: the only place that uses the network."""

from __future__ import annotations

import re
from pathlib import Path

from transformer.checkpoints.foreign_files import PICKLE, PICKLE_INDEX
from transformer.errors import CheckpointError

NAME = re.compile(r"[\w.-]+/[\w.-]+")
WANTED = [
    "config.json", "generation_config.json", "tokenizer_config.json", "added_tokens.json", "vocab.json",
    "target_vocab.json", "source.spm", "target.spm", "model.safetensors", "model.safetensors.index.json",
    "model-?????-of-?????.safetensors", "README.md",
]
PICKLED = [PICKLE, PICKLE_INDEX, "pytorch_model-?????-of-?????.bin"]


def fetch(name: str, *, revision: str | None, pickle: bool) -> tuple[Path, str]:
    """Fetch what the import reads of a repository into the hub's own cache; what is there is not fetched again.

    Args:
        name: "owner/name".
        revision: a branch, a tag or a commit; None for the main branch.
        pickle: fetch pytorch_model.bin too.

    Returns:
        The folder, and the commit that it is of.

    Raises:
        CheckpointError: it cannot be fetched.
    """
    # A second that no other command waits for.
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(name, revision=revision, allow_patterns=WANTED + PICKLED * pickle)
    except Exception as error:  # Of the hub, of HTTP, of the network and of the disk: no class is common to all.
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{name} cannot be fetched: {reason}") from error
    return Path(folder), Path(folder).name
