"""Measures every head over a file of any length: streamed, in batches of sentences, and resumable."""

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
from transformer.files.records import packed, unpacked
from transformer.files.replacing import replaced
from transformer.model.devices import use_one_thread
from transformer.running.translator import Translator
from transformer.surveys.corpus_workers import cluster_at, processes_here
from transformer.training.data import read_lines
from transformer.values.trace import KINDS, Kind, Trace


class Summed(Protocol):
    """Measurements of a part of the sentences, a dataclass that `packed` can write."""

    def __add__(self, other: Self, /) -> Self: ...


Sum = TypeVar("Sum", bound=Summed)
# Number of sentences that a process averages at once before the state is saved: some seconds of work.
PART = 256
# Number of sentences translated together; more would hardly be faster, and keep more traces in memory.
TOGETHER = 16


@dataclass(frozen=True, eq=False)
class PartMetrics:
    """The head metrics of a part of the file.

    Attributes:
        sentences: number of measured sentences.
        skipped: number of sentences that are too long for the model.
        heads: averages by kind; empty if no sentence was measured.
    """

    sentences: int
    skipped: int
    heads: dict[Kind, HeadMetrics]

    def __add__(self, other: PartMetrics) -> PartMetrics:
        measured = [part for part in (self, other) if part.sentences]
        heads: dict[Kind, HeadMetrics] = {
            kind: average(part.heads[kind] for part in measured) for kind in KINDS if measured
        }
        return PartMetrics(self.sentences + other.sentences, self.skipped + other.skipped, heads)


@dataclass(frozen=True)
class SurveyState:
    """The measurement so far.

    Attributes:
        model: `Translator.version` of the model.
        digest: digest of the sentences that were read.
        read: number of these sentences.
        part: their measurements, packed.
    """

    model: str
    digest: str
    read: int
    part: bytes


NOTHING = PartMetrics(0, 0, {})
# Number of bytes of the SHA-256 at the beginning of a state file.
SEAL_BYTES = 32


def sentences_of(path: Path) -> Iterator[str]:
    """The lines of a file that are not blank, one in memory at a time.

    Raises:
        FileNotFoundError, ValueError: as in `read_lines`.
    """
    return (sentence for _, line in read_lines(path) if (sentence := line.strip()))


def check_corpus(path: Path) -> None:
    """Reject a file that cannot be measured, before a model is loaded.

    Raises:
        FileNotFoundError, ValueError: as in `read_lines`; the latter also for a path that is not a file, such as a
            pipe. `measure_corpus` could neither count its lines nor resume, because it can be read only once.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file, but must be read more than once: save it in a file, .gz or not")
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
    """Measure every head on every sentence of a file, and average; resume an interrupted call.

    Args:
        translator: loaded from a folder, if there are several processes.
        path: a text file, one sentence per line.
        state: file with the measurement so far; the caller removes it after saving the result.
        processes: number of processes that measure, each with its own model and one thread.
        cluster: address of a Ray cluster that measures instead, with all of its processors, or with its GPUs if the
            translator is on one. "auto" is the cluster of this machine, "local" this machine alone. The model's folder
            must be at the same path on each of its machines.
        report: receives the number of sentences read, and their metrics, whenever the state is saved.

    Raises:
        ValueError: the file cannot be read, or has no sentence that the model can read; `state` is damaged, or belongs
            to another model or file; or the translator has no folder that other processes could load.
        AtlasError: a measuring process was killed, Ray is not installed, or there is no such cluster.
    """
    check_corpus(path)
    so_far = in_parts(
        path,
        state,
        translator.version,
        partial(_parts, translator, processes=processes, cluster=cluster),
        NOTHING,
        PART,
        report,
    )
    if not so_far.sentences:
        state.unlink(missing_ok=True)
        raise ValueError(f"{path} has no sentence that the model can read: write one per line")
    return so_far


def in_parts(
    path: Path,
    state: Path,
    model: str,
    measure: Callable[[Iterator[list[str]]], Iterator[Sum]],
    nothing: Sum,
    size: int,
    report: Callable[[int, Sum], object],
) -> Sum:
    """Measure the sentences of a file part by part, and add; resume an interrupted call.

    Args:
        path, state, report: as in `measure_corpus`.
        model: the models that are measured; another value does not resume.
        measure: measures each part of the sentences, in their order.
        nothing: the sum of no parts.
        size: number of sentences of a part.

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
        _note(digest, stretch)
        read, so_far = read + len(stretch), so_far + part
        _save(state, SurveyState(model, digest.hexdigest(), read, packed(so_far)))
        report(read, so_far)
    return so_far


def measure_part(translator: Translator, sentences: Sequence[str]) -> PartMetrics:
    """Measure every head on each of some sentences, and average."""
    measured: dict[Kind, list[HeadMetrics]] = {kind: [] for kind in KINDS}
    skipped = 0

    def note(number: int, trace: Trace | AtlasError) -> None:
        if isinstance(trace, AtlasError):
            nonlocal skipped
            skipped += 1
            return
        for kind in KINDS:
            measured[kind].append(head_metrics(trace, kind, translator.tokenizer.key_scores(kind)))

    # Sentences of one length finish together.
    ordered = iter(sorted(sentences, key=len))
    while batch := list(islice(ordered, TOGETHER)):
        translator.trace_together(batch, note)
    heads: dict[Kind, HeadMetrics] = {kind: average(each) for kind, each in measured.items() if each}
    return PartMetrics(len(measured["encoder"]), skipped, heads)


def _parts(
    translator: Translator, stretches: Iterator[list[str]], processes: int, cluster: str | None
) -> Iterator[PartMetrics]:
    """The metrics of each part, in their order."""
    if processes == 1 and cluster is None:
        for stretch in stretches:
            yield measure_part(translator, stretch)
        return
    if translator.folder is None:
        raise ValueError("other processes can load a model only from a folder")
    work = partial(_measure_in_process, translator.folder, translator.device)
    workers = processes_here(work, processes) if cluster is None else cluster_at(cluster, work, translator.device)
    with workers as (submit, count):
        # One more than there are workers, so that none waits for the file; the rest stays on the disk.
        waiting = deque(map(submit, islice(stretches, count + 1)))
        while waiting:
            part = waiting.popleft()()
            waiting.extend(map(submit, islice(stretches, 1)))
            yield unpacked(part, PartMetrics)


def _measure_in_process(folder: Path, device: str, sentences: list[str]) -> bytes:
    return packed(measure_part(_own_translator(folder, device), sentences))


@cache
def _own_translator(folder: Path, device: str) -> Translator:
    """The translator of a process that measures for another one."""
    use_one_thread()
    return Translator.load(folder, device)


def _note(digest: hashlib._Hash, sentences: Iterable[str]) -> None:
    for sentence in sentences:
        digest.update(sentence.encode() + b"\n")


def _resume(state: Path, model: str, sentences: Iterator[str], digest: hashlib._Hash, nothing: Sum) -> tuple[int, Sum]:
    """The number of sentences that an earlier call has read, and their sum; the sentences are skipped."""
    advice = f"delete {state} to start again"
    try:
        content = state.read_bytes()
    except FileNotFoundError:
        return 0, nothing
    except OSError as error:
        raise ValueError(f"cannot read {state} ({error.strerror}): {advice}") from error
    try:
        if hashlib.sha256(content[SEAL_BYTES:]).digest() != content[:SEAL_BYTES]:
            raise ValueError("its seal is broken")
        found = unpacked(content[SEAL_BYTES:], SurveyState)
        so_far = unpacked(found.part, type(nothing))
    except ValueError:
        raise ValueError(f"{state} is damaged, or from an older version of Attention Atlas: {advice}") from None
    if found.model != model:
        raise ValueError(f"{state} was measured on another model: {advice}")
    _note(digest, islice(sentences, found.read))
    if digest.hexdigest() != found.digest:
        raise ValueError(f"{state} was measured on other sentences: {advice}")
    return found.read, so_far


def _save(path: Path, state: SurveyState) -> None:
    """Write the state; if the call is stopped meanwhile, the old state stays."""
    content = packed(state)
    with replaced(path) as new:
        new.write_bytes(hashlib.sha256(content).digest() + content)
