"""Downloads model folders from the Hugging Face Hub; the only module of the import that uses the network."""

from __future__ import annotations

import re
from pathlib import Path

from transformer.checkpoints.huggingface_files import PICKLE, PICKLE_INDEX
from transformer.errors import CheckpointError

NAME = re.compile(r"[\w.-]+/[\w.-]+")
FILE_PATTERNS = [
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "added_tokens.json",
    "vocab.json",
    "target_vocab.json",
    "source.spm",
    "target.spm",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.json",
    "merges.txt",
    "special_tokens_map.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-?????-of-?????.safetensors",
    "README.md",
]
PICKLE_PATTERNS = [PICKLE, PICKLE_INDEX, "pytorch_model-?????-of-?????.bin"]


def fetch(name: str, *, revision: str | None, pickle: bool) -> tuple[Path, str]:
    """Fetch the files that the import reads into the cache of huggingface_hub; cached files are not fetched again.

    Args:
        name: name of the repository, "owner/name".
        revision: a branch, a tag or a commit; None for the main branch.
        pickle: also fetch pytorch_model.bin.

    Returns:
        The folder, and the hash of its commit.

    Raises:
        CheckpointError: the files cannot be fetched.
    """
    # Imported here, because the import takes a second, and the other commands do not need it.
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(name, revision=revision, allow_patterns=FILE_PATTERNS + PICKLE_PATTERNS * pickle)
    except Exception as error:  # Errors of the hub, HTTP, the network and the disk have no common class.
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{name} cannot be fetched: {reason}") from error
    return Path(folder), Path(folder).name
