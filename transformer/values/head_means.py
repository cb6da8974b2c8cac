"""Data for mean and resample ablation: each head's mean output over many sentences, and the sentences' token ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from transformer.errors import CheckpointError
from transformer.files.atomic_writes import atomic_file
from transformer.values.kinds import KINDS, Kind
from transformer.values.patches import Pair
from transformer.values.trace import Trace

FILE = "head_means.safetensors"
SIDES = ("source", "target")


@dataclass(frozen=True, eq=False)
class HeadMeans:
    """Mean output of each head in a model, before the output projection.

    Means are over all positions of all sentences, including start and end symbols but not padding. The target of each
    sentence is the model's own greedy translation.

    Attributes:
        model: the model's `Translator.version`.
        sentences: the `sentences_digest` of the sentences.
        outputs: mean outputs by attention kind, float32 [L, H, K], read-only.
        pairs: token ids of each sentence and its translation, from which resample ablation recomputes the heads'
            outputs. Storing all outputs would take two thousand times the space of the means. Empty if an older
            version saved the means.
    """

    model: str
    sentences: str
    outputs: Mapping[Kind, np.ndarray]
    pairs: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        for array in self.outputs.values():
            array.setflags(write=False)

    def save(self, folder: Path) -> None:
        """Save the means in a model folder, replacing the file atomically."""
        metadata = {"model": self.model, "sentences": self.sentences, "contents": _seal(self.outputs, self.pairs)}
        arrays = {str(kind): np.ascontiguousarray(array) for kind, array in self.outputs.items()}
        for number, side in enumerate(SIDES):
            texts = [pair[number] for pair in self.pairs]
            arrays[f"{side}_lengths"] = np.array([len(text) for text in texts], dtype=np.int32)
            arrays[f"{side}_ids"] = np.array([token for text in texts for token in text], dtype=np.int32)
        with atomic_file(folder / FILE) as file:
            save_file(arrays, file, metadata)

    @classmethod
    def load(cls, folder: Path) -> HeadMeans | None:
        """Load the means from a model folder; return None if the folder has no means.

        Raises:
            CheckpointError: the file is damaged.
        """
        if not (folder / FILE).exists():
            return None
        try:
            with safe_open(folder / FILE, framework="np") as file:
                metadata = file.metadata()
                outputs: dict[Kind, np.ndarray] = {kind: file.get_tensor(kind) for kind in KINDS}
                # Files of older versions contain only the means.
                sides = [
                    _texts(file.get_tensor(f"{side}_ids"), file.get_tensor(f"{side}_lengths"))
                    for side in SIDES
                    if f"{side}_ids" in file.keys()  # noqa: SIM118 - `file` is not a mapping
                ]
            pairs = tuple(zip(*sides, strict=True))
            if not all(array.ndim == 3 and np.isfinite(array).all() for array in outputs.values()):
                raise ValueError("the means of some heads are missing or not finite")
            # Older versions saved no checksum.
            if metadata.get("contents", _seal(outputs, pairs)) != _seal(outputs, pairs):
                raise ValueError("the contents were altered after they were saved")
            return cls(metadata["model"], metadata["sentences"], outputs, pairs)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"The file {folder / FILE} is damaged ({error}). Recreate it with "
                "`python -m transformer.analysis means`."
            ) from error

    @classmethod
    def over(cls, traces: Iterable[Trace], model: str, sentences: str) -> HeadMeans:
        """Compute the means over traces, and store the traces' token ids as `pairs`."""
        pairs: list[Pair] = []

        def noted() -> Iterator[Trace]:
            for trace in traces:
                source, target = trace.source_tokens, trace.target_tokens
                pairs.append((tuple(token.id for token in source), tuple(token.id for token in target)))
                yield trace

        outputs = mean_outputs(noted())
        return cls(model, sentences, outputs, tuple(pairs))


def _seal(outputs: Mapping[Kind, np.ndarray], pairs: Sequence[Pair]) -> str:
    """Return the SHA-256 checksum of the means and the sentences, in hexadecimal."""
    digest = hashlib.sha256()
    for kind in KINDS:
        digest.update(np.ascontiguousarray(outputs[kind]).tobytes())
    if pairs:
        digest.update(repr(pairs).encode())
    return digest.hexdigest()


def _texts(ids: np.ndarray, lengths: np.ndarray) -> list[tuple[int, ...]]:
    """Split concatenated token ids into sentences.

    Raises:
        ValueError: an array or a sentence is invalid, or the lengths do not add up to the number of ids.
    """
    if not (ids.dtype == lengths.dtype == np.int32 and ids.ndim == lengths.ndim == 1 and lengths.sum() == len(ids)):
        raise ValueError(
            "token ids and sentence lengths must be one-dimensional int32 arrays, and the lengths must add up to the "
            "number of ids"
        )
    if not ((lengths > 0).all() and (ids >= 0).all()):
        raise ValueError("a sentence has no tokens, or a negative token id")
    return [tuple(part.tolist()) for part in np.split(ids, np.cumsum(lengths)[:-1])] if len(lengths) else []


def mean_outputs(traces: Iterable[Trace]) -> dict[Kind, np.ndarray]:
    """Return each head's mean output over all positions of all traces, by attention kind, float32 [L, H, K].

    Args:
        traces: at least one trace, with details and without interventions. An iterator is consumed one trace at a
            time.

    Raises:
        ValueError: there is no trace, or a trace has no details.
    """
    totals: dict[Kind, np.ndarray] = {}
    counts = dict.fromkeys(KINDS, 0)
    for trace in traces:
        for kind in KINDS:
            outputs = trace.detail(kind, "outputs").astype(np.float64)
            totals[kind] = totals.get(kind, 0.0) + outputs.sum(axis=2)
            counts[kind] += outputs.shape[2]
    if not totals:
        raise ValueError("there are no sentences: the mean needs at least one")
    return {kind: (total / counts[kind]).astype(np.float32) for kind, total in totals.items()}


def sentences_digest(sentences: Sequence[str]) -> str:
    """Return a digest of 16 hexadecimal digits that identifies the sentences and their order."""
    return hashlib.sha256("\n".join(sentences).encode()).hexdigest()[:16]
