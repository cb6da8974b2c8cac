"""Measures every head over a text file of any size. The file is streamed, and interrupted measurements are resumed."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Protocol, Self, TypeVar

from transformer.analysis.heads.metrics import HeadMetrics, average, head_metrics
from transformer.errors import AtlasError
from transformer.files.atomic_writes import atomic_file
from transformer.files.records import pack, unpack
from transformer.measurements.corpus_workers import cluster_workers, local_workers
from transformer.model.devices import use_one_thread
from transformer.running.translator import Translator
from transformer.training.data import read_lines
from transformer.values.trace import KINDS, Kind, Trace


class Addable(Protocol):
    """A dataclass of measurements that can be added to other measurements, and serialised by `pack`."""

    def __add__(self, other: Self, /) -> Self: ...


Total = TypeVar("Total", bound=Addable)
# Number of sentences after which the state is saved. Measuring this many sentences takes a few seconds.
PART_SIZE = 256
# Number of sentences in a batch. A larger batch would hardly be faster, and would keep more traces in memory.
BATCH_SIZE = 16


@dataclass(frozen=True, eq=False)
class PartMetrics:
    """Head metrics for one part of a text file.

    Attributes:
        sentences: number of measured sentences.
        skipped: number of sentences that the model cannot read, for example because they are too long.
        heads: average metrics by attention kind; empty if no sentence was measured.
    """

    sentences: int
    skipped: int
    heads: dict[Kind, HeadMetrics]

    def __add__(self, other: PartMetrics) -> PartMetrics:
        parts = [part for part in (self, other) if part.sentences]
        heads: dict[Kind, HeadMetrics] = {kind: average(part.heads[kind] for part in parts) for kind in KINDS if parts}
        return PartMetrics(self.sentences + other.sentences, self.skipped + other.skipped, heads)


@dataclass(frozen=True)
class MeasurementState:
    """Saved state of an unfinished measurement.

    Attributes:
        model: `Translator.version` of the model.
        digest: digest of the sentences read so far.
        read: number of sentences read so far.
        part: measurements of these sentences, serialised by `pack`.
    """

    model: str
    digest: str
    read: int
    part: bytes


NO_METRICS = PartMetrics(0, 0, {})
# Length of the SHA-256 digest at the beginning of a state file, in bytes.
SEAL_BYTES = 32


def sentences_of(path: Path) -> Iterator[str]:
    """Yield a file's non-blank lines, keeping one line in memory at a time.

    Raises:
        FileNotFoundError, ValueError: as in `read_lines`.
    """
    return (sentence for _, line in read_lines(path) if (sentence := line.strip()))


def check_corpus(path: Path) -> None:
    """Check that a file can be measured. Call this before loading a model, which takes longer.

    Raises:
        FileNotFoundError, ValueError: as in `read_lines`. ValueError also for a path that is not a regular file, such
            as a pipe: `measure_corpus` must read the file more than once, to count lines or to resume.
    """
    if path.exists() and not path.is_file():
        raise ValueError(
            f"{path} is not a regular file, but must be read more than once: save its content in a "
            "file, which may be gzip-compressed"
        )
    next(sentences_of(path), None)


def measure_corpus(
    translator: Translator,
    path: Path,
    state: Path,
    *,
    processes: int = 1,
    cluster: str | None = None,
    report: Callable[[int, PartMetrics], object] = lambda read, so_far: None,
) -> PartMetrics:
    """Measure every head on every sentence of a file, and average the metrics.

    If an earlier call with the same `state` was interrupted, the measurement is resumed.

    Args:
        translator: the model; it must have been loaded from a folder if other processes take part.
        path: text file with one sentence per line.
        state: file for intermediate results. The caller deletes it after saving the final result.
        processes: number of processes, each with its own model and one thread.
        cluster: address of a Ray cluster to use instead of local processes. All its CPUs are used, or all its GPUs
            if the translator is on a GPU. "auto" joins the cluster that already runs on this machine; "local" starts
            one on this machine alone. The model's folder must have the same path on all machines of the cluster.
        report: function called whenever the state is saved, with the number of sentences read and their metrics.

    Returns:
        The metrics averaged over all sentences.

    Raises:
        ValueError: the file cannot be read, or has no sentence that the model can read; `state` is damaged, or belongs
            to another model or file; or the translator has no folder that other processes could load.
        AtlasError: a worker process was killed, Ray is not installed, or the cluster does not exist.
    """
    check_corpus(path)
    so_far = measure_in_parts(
        path,
        state,
        translator.version,
        partial(_parts, translator, processes=processes, cluster=cluster),
        NO_METRICS,
        PART_SIZE,
        report,
    )
    if not so_far.sentences:
        state.unlink(missing_ok=True)
        raise ValueError(f"{path} has no sentence that the model can read: write one short sentence per line")
    return so_far


def measure_in_parts(
    path: Path,
    state: Path,
    model: str,
    measure: Callable[[Iterator[list[str]]], Iterator[Total]],
    nothing: Total,
    size: int,
    report: Callable[[int, Total], object],
) -> Total:
    """Measure a file's sentences in parts, and add up the results.

    If an earlier call with the same `state` was interrupted, the measurement is resumed.

    Args:
        path, state, report: as in `measure_corpus`.
        model: versions of the measured models; a state with other versions is rejected.
        measure: function that yields the result of each part, in order.
        nothing: result for zero sentences, to which the results of the parts are added.
        size: number of sentences in a part.

    Raises:
        ValueError: the file cannot be read; `state` is damaged, or belongs to another model or file.
    """
    digest = hashlib.sha256()
    sentences = sentences_of(path)
    read, so_far = _resume(state, model, sentences, digest, nothing)
    stretches: deque[list[str]] = deque()

    def ahead() -> Iterator[list[str]]:
        while stretch := list(islice(sentences, size)):
            stretches.append(stretch)
            yield stretch

    for part in measure(ahead()):
        stretch = stretches.popleft()
        _update_digest(digest, stretch)
        read, so_far = read + len(stretch), so_far + part
        _save(state, MeasurementState(model, digest.hexdigest(), read, pack(so_far)))
        report(read, so_far)
    return so_far


def measure_part(translator: Translator, sentences: Sequence[str]) -> PartMetrics:
    """Measure every head on every given sentence, and average the metrics."""
    metrics: dict[Kind, list[HeadMetrics]] = {kind: [] for kind in KINDS}
    skipped = 0

    def note(number: int, trace: Trace | AtlasError) -> None:
        if isinstance(trace, AtlasError):
            nonlocal skipped
            skipped += 1
            return
        for kind in KINDS:
            metrics[kind].append(head_metrics(trace, kind, translator.tokenizer.key_scores(kind)))

    # Batch sentences of similar length, because they finish decoding at about the same time.
    ordered = iter(sorted(sentences, key=len))
    while batch := list(islice(ordered, BATCH_SIZE)):
        translator.trace_together(batch, note)
    heads: dict[Kind, HeadMetrics] = {kind: average(each) for kind, each in metrics.items() if each}
    return PartMetrics(len(metrics["encoder"]), skipped, heads)


def _parts(
    translator: Translator, stretches: Iterator[list[str]], processes: int, cluster: str | None
) -> Iterator[PartMetrics]:
    if processes == 1 and cluster is None:
        for stretch in stretches:
            yield measure_part(translator, stretch)
        return
    if translator.folder is None:
        raise ValueError("other processes cannot load this model, which has no folder: save it, or use one process")
    work = partial(_measure_in_process, translator.folder, translator.device)
    workers = local_workers(work, processes) if cluster is None else cluster_workers(cluster, work, translator.device)
    with workers as (submit, count):
        # Submit one more part than there are workers, so that no worker waits while the next part is read.
        # Later parts stay on disk.
        waiting = deque(map(submit, islice(stretches, count + 1)))
        while waiting:
            part = waiting.popleft()()
            waiting.extend(map(submit, islice(stretches, 1)))
            yield unpack(part, PartMetrics)


def _measure_in_process(folder: Path, device: str, sentences: list[str]) -> bytes:
    return pack(measure_part(_own_translator(folder, device), sentences))


@cache
def _own_translator(folder: Path, device: str) -> Translator:
    use_one_thread()
    return Translator.load(folder, device)


def _update_digest(digest: hashlib._Hash, sentences: Iterable[str]) -> None:
    for sentence in sentences:
        digest.update(sentence.encode() + b"\n")


def _resume(
    state: Path, model: str, sentences: Iterator[str], digest: hashlib._Hash, nothing: Total
) -> tuple[int, Total]:
    """Restore the state of an interrupted call: the number of sentences read, and their measurements.

    Also advances `sentences` past these sentences, and adds them to `digest`.
    """
    advice = f"delete {state} to start again"
    try:
        content = state.read_bytes()
    except FileNotFoundError:
        return 0, nothing
    except OSError as error:
        raise ValueError(f"cannot read {state} ({error.strerror}): {advice}") from error
    try:
        if hashlib.sha256(content[SEAL_BYTES:]).digest() != content[:SEAL_BYTES]:
            raise ValueError("the digest does not match")
        saved = unpack(content[SEAL_BYTES:], MeasurementState)
        so_far = unpack(saved.part, type(nothing))
    except ValueError:
        raise ValueError(f"{state} is damaged, or from an older version of Attention Atlas: {advice}") from None
    if saved.model != model:
        raise ValueError(f"{state} contains measurements of another model: {advice}")
    _update_digest(digest, islice(sentences, saved.read))
    if digest.hexdigest() != saved.digest:
        raise ValueError(f"{state} contains measurements of other sentences: {advice}")
    return saved.read, so_far


def _save(path: Path, state: MeasurementState) -> None:
    """Write the state file atomically: if the process is killed while writing, the old file is kept."""
    content = pack(state)
    with atomic_file(path) as new:
        new.write_bytes(hashlib.sha256(content).digest() + content)
