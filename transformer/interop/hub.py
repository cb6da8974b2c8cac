"""Downloads model folders from the Hugging Face Hub. No other module of `transformer.interop` uses the network."""

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
    """Download the files that the import needs, unless huggingface_hub's cache already has them.

    Args:
        name: repository name, "owner/name".
        revision: a branch, a tag or a commit; None for the main branch.
        pickle: whether to download pickled weights (pytorch_model.bin) too.

    Returns:
        The folder in the cache, and the commit hash.

    Raises:
        CheckpointError: the files cannot be downloaded.
    """
    # Imported here, because the import takes a second and other commands do not need the package.
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(name, revision=revision, allow_patterns=FILE_PATTERNS + PICKLE_PATTERNS * pickle)
    except Exception as error:  # Errors from the Hub, HTTP, the network and the disk share no base class.
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{name} cannot be downloaded: {reason}") from error
    return Path(folder), Path(folder).name
