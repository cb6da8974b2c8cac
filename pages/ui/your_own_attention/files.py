"""Reads attention files written by other programs. Files are untrusted, so sizes, types and values are validated."""

import io
import json
import os
import re
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from attention_atlas.drawing import trace_of
from pages.ui.params.your_own_attention import NAME
from pages.ui.runs.shared import SharedResults
from transformer.errors import AtlasError, AttentionError
from transformer.values.kinds import KINDS
from transformer.values.tokens import Token
from transformer.values.trace import STORED, Trace

FOLDER = Path("attention")
# Environment variable for the folder of attention files.
FOLDER_VARIABLE = "ATTENTION_ATLAS_ATTENTION"
EXTENSIONS = (".npz", ".json")
# Maximum size of a file, and of all its arrays together, in bytes: enough for 16 layers with 32 heads on 256 tokens.
MAX_BYTES = 160 * 2**20
FILES = SharedResults(limit=2 * MAX_BYTES)
ADVICE = 'Write the file with attention_atlas.show(..., save="mine.npz"), or provide arrays and tokens as JSON.'


class JsonFile(msgspec.Struct, forbid_unknown_fields=True):
    """Content of a JSON file: arguments of `Trace.from_attention`, or `attention` and `tokens` of a single stack."""

    attention: list[Any] | None = None
    tokens: list[str] | None = None
    encoder: list[Any] | None = None
    decoder: list[Any] | None = None
    cross: list[Any] | None = None
    source_tokens: list[str] = []
    target_tokens: list[str] = []
    source_text: str | None = None
    target_text: str | None = None
    source_offsets: list[tuple[int, int] | None] | None = None
    target_offsets: list[tuple[int, int] | None] | None = None


class TraceText(msgspec.Struct, rename=STORED):
    """The texts and tokens that the page needs from a trace's NPZ archive."""

    source_text: str
    target_text: str
    source_tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...]
    predicted_tokens: tuple[Token, ...]


def folder() -> Path:
    """Return the folder in which the server's operator provides attention files."""
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER)


def names() -> list[str]:
    """Return the names of the NPZ and JSON files in `folder()`, except names that the page's URL does not allow."""
    try:
        file_names = [path.name for path in folder().iterdir() if path.suffix in EXTENSIONS and path.is_file()]
    except OSError:
        return []
    return sorted(name for name in file_names if re.fullmatch(NAME, name))


def folder_trace(name: str) -> Trace:
    """Return the attention in a file in `folder()`, cached for all sessions.

    Raises:
        AttentionError: the file cannot be read or contains no valid attention; the message says why.
    """
    path = folder() / name
    try:
        status = path.stat()
    except OSError as error:
        raise AttentionError(f"{name} cannot be read: {error.strerror}.") from None
    return _cached_trace(path, status.st_mtime_ns, status.st_size)


@FILES.remember()
def _cached_trace(path: Path, changed: int, size: int) -> Trace:
    if size > MAX_BYTES:
        raise AttentionError(f"{path.name} is larger than {MAX_BYTES / 2**20:.0f} MB: keep fewer layers or tokens.")
    return trace_of_file(path.name, path.read_bytes())


def uploaded_trace(name: str, content: bytes) -> Trace:
    """Return the attention in an uploaded file, cached by the file's content.

    Raises:
        AttentionError: the file contains no valid attention.
    """
    return FILES.get(("uploaded", sha256(content).digest()), lambda: trace_of_file(name, content))


def trace_of_file(name: str, content: bytes) -> Trace:
    """Parse the attention in a file.

    Raises:
        AttentionError: the file contains no valid attention; the message says what to do.
    """
    try:
        return _of_arrays(content) if name.endswith(".npz") else _of_json(content)
    except AtlasError as error:
        raise AttentionError(f"{name}: {error}") from None
    except (KeyError, TypeError, ValueError, OSError, zipfile.BadZipFile, RecursionError, msgspec.MsgspecError):
        raise AttentionError(f"{name} contains no attention weights. {ADVICE}") from None


def _of_json(content: bytes) -> Trace:
    arguments = msgspec.json.decode(content, type=JsonFile)
    if arguments.attention is not None:
        return trace_of(arguments.attention, arguments.tokens or ())
    fields = msgspec.structs.asdict(arguments)
    return Trace.from_attention(**{name: fields[name] for name in fields if name not in ("attention", "tokens")})


def _of_arrays(content: bytes) -> Trace:
    """Return the attention in an NPZ archive; arrays are loaded only if their total size is within MAX_BYTES."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {each.filename.removesuffix(".npy"): each.file_size for each in archive.infolist()}
    wanted = ["words", *(kind for kind in KINDS if kind in sizes)]
    if sum(sizes[name] for name in wanted) > MAX_BYTES:
        raise AttentionError(
            f"the file's arrays take up more than {MAX_BYTES / 2**20:.0f} MB: keep fewer layers or tokens."
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as saved:
        arrays = {name: saved[name] for name in wanted}
    words = json.loads(arrays.pop("words").tobytes())
    texts = msgspec.convert(words, TraceText)
    weights: dict[str, Any] = {kind: array for kind, array in arrays.items() if array.size}
    return Trace.from_attention(
        **weights,
        source_text=texts.source_text,
        target_text=texts.target_text,
        source_tokens=texts.source_tokens,
        target_tokens=(*texts.target_tokens, *texts.predicted_tokens[-1:]),
    )
