"""Aligns many sentence pairs in batches, and scores the alignments against human alignments."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from transformer.analysis.aligned_pair import AlignedPair, Unit, align
from transformer.analysis.aligner import MIN_ALIGNED_SHARE, Aligner
from transformer.analysis.alignment import alignment_error_rate
from transformer.analysis.heads.statistics import Statistics
from transformer.errors import AtlasError
from transformer.files.paths import measurement_file
from transformer.files.small_files import read_small_text
from transformer.measurements.corpus import BATCH_SIZE, measure_part
from transformer.running.translator import Translator
from transformer.training.data import read_lines
from transformer.values.trace import Trace

# Name of the file that `attention-atlas measure` writes in a model folder.
STATISTICS = "head_statistics.json"
# Number of sentences on which to measure a model that has no recorded statistics.
MEASURED_SENTENCES = 100
# Number of sentence pairs to sort by length at a time. The traces of all these pairs are in memory at once.
SORTED_PAIRS = 128
# A link in a human alignment: "1-2" is sure, "1?2" or "1p2" is possible.
LINK = re.compile(r"([0-9]+)([-?p])([0-9]+)")
# A line in the format of Mihalcea and Pedersen 2003 ("An Evaluation Exercise for Word Alignment"): 1-based numbers of
# the sentence pair, the source word and the target word. Word 0 means no word; S (the default) is sure, P is possible.
ROW = re.compile(r"\s*([0-9]+)\s+([0-9]+)\s+([0-9]+)(?:\s+([SP]))?(?:\s+[0-9.]+)?\s*")
Links = set[tuple[int, int]]


def aligner_of(translator: Translator, sentences: Iterable[str]) -> Aligner:
    """Return a model's alignment heads.

    They are read from the model folder's statistics, or else measured on the first `MEASURED_SENTENCES` sentences.

    Raises:
        ValueError: no head of the model aligns words.
    """
    statistics = _recorded(translator)
    if statistics is None:
        part = measure_part(translator, list(islice(sentences, MEASURED_SENTENCES)))
        statistics = Statistics(translator.version, part.sentences, part.heads) if part.sentences else None
    if statistics is None or statistics.aligner is None:
        raise ValueError(
            f"no head of this model aligns more than {MIN_ALIGNED_SHARE:.0%} of the target tokens "
            "to the same source token as the mean of all heads: name the heads to use, as in --heads cross.6.1"
        )
    return statistics.aligner


def align_all(
    translator: Translator, pairs: Iterable[tuple[str, str | None]], aligner: Aligner, unit: Unit
) -> Iterator[AlignedPair | AtlasError]:
    """Align each sentence pair; if a pair's target is None, align the source with the model's own translation.

    Yields:
        For each pair in order, the alignment, or the error if the model cannot read one side of the pair.
    """
    pairs = iter(pairs)
    while ahead := list(islice(pairs, SORTED_PAIRS)):
        traces: dict[int, Trace | AtlasError] = {}
        # Batch sentences of similar length, because they finish decoding at about the same time.
        order = sorted(range(len(ahead)), key=lambda number: len(ahead[number][0]))
        for begin in range(0, len(order), BATCH_SIZE):
            batch = order[begin : begin + BATCH_SIZE]
            texts, targets = zip(*(ahead[number] for number in batch), strict=True)
            translator.trace_together(texts, partial(_log_progress, traces, batch), targets)
        for number in range(len(ahead)):
            trace = traces.pop(number)
            yield trace if isinstance(trace, AtlasError) else align(trace, aligner, unit, translator.tokenizer.codes)


def dictionary(pairs: Iterable[AlignedPair]) -> list[tuple[str, str, int]]:
    """Return (source word, target word, number of links) for each pair of linked words, most frequent pair first."""
    counts = Counter((pair.source[source], pair.target[target]) for pair in pairs for source, target in pair.links)
    return sorted(((*words, count) for words, count in counts.items()), key=lambda each: (-each[2], each))


class GoldAlignments:
    """Human alignments from a file, to score other alignments against.

    Each line contains all links of a sentence pair ("0-0 1-1 2?1") or a single link ("1 3 2 P").

    Args:
        path: path of the file.
        first: number of a sentence's first word, 0 or 1, in a file with one line per pair.

    Raises:
        FileNotFoundError: as in `read_lines`.
        ValueError: as in `read_lines`, or a link is invalid, or a pair's number is 0.
    """

    def __init__(self, path: Path, first: int = 0) -> None:
        lines = list(read_lines(path))
        rows = [row for _, line in lines if (row := ROW.fullmatch(line))]
        by_link = bool(rows) and len(rows) == sum(bool(line.strip()) for _, line in lines)
        self._path, self._row, self._first = (path, "pair", 1) if by_link else (path, "line", first)
        self._lines = _links_of_rows(rows) if by_link else [self._parsed(number, line) for number, line in lines]
        if by_link and any(int(row[1]) == 0 for row in rows):
            raise ValueError(f"{path} contains a pair with number 0: number the pairs from 1")
        self._links: tuple[set, set, set] = set(), set(), set()

    def note(self, number: int, pair: AlignedPair | None) -> None:
        """Add one sentence pair's alignment to the score.

        Args:
            number: 0-based index of the pair.
            pair: alignment of the pair. None if the pair could not be aligned; all its sure links then count as missed.

        Raises:
            ValueError: the file has no such pair, or has a link to a word that the pair does not have.
        """
        where = f"{self._path}, {self._row} {number + 1}"
        if number >= len(self._lines):
            raise ValueError(f"{where} is missing: add the alignment of sentence pair {number + 1}")
        sure, possible = self._lines[number]
        for source, target in sure | possible:
            if pair and not (0 <= source < len(pair.source) and 0 <= target < len(pair.target)):
                raise ValueError(
                    f"{where}: there is a link {source + self._first}-{target + self._first}, but the two texts have "
                    f"{len(pair.source)} and {len(pair.target)} words: choose --unit and --gold-first to match the file"
                )
        for all_links, links in zip(self._links, (pair.links if pair else (), sure, possible), strict=True):
            all_links.update((number, *link) for link in links)

    def error_rate(self) -> float:
        """Return the alignment error rate over all sentence pairs together, 0 to 1 (see `alignment_error_rate`)."""
        return alignment_error_rate(*self._links)

    def _parsed(self, number: int, line: str) -> tuple[Links, Links]:
        sure, possible = set(), set()
        for text in line.split():
            match = LINK.fullmatch(text)
            if match is None:
                raise ValueError(
                    f"{self._path}, line {number}: {text!r} is not a link such as 0-0 (sure) or 0?0 (possible)"
                )
            link = int(match[1]) - self._first, int(match[3]) - self._first
            (sure if match[2] == "-" else possible).add(link)
        return sure, possible


def _links_of_rows(rows: Iterable[re.Match[str]]) -> list[tuple[Links, Links]]:
    """Return (sure links, possible links) for each sentence pair; both are empty for a pair without rows."""
    found: dict[int, tuple[Links, Links]] = {}
    for row in rows:
        pair, *link = (int(group) - 1 for group in row.groups()[:3])
        links = found.setdefault(pair, (set(), set()))
        if min(link) >= 0:
            links[row[4] == "P"].add((link[0], link[1]))
    return [found.get(pair, (set(), set())) for pair in range(max(found) + 1)]


def _recorded(translator: Translator) -> Statistics | None:
    """Read the statistics recorded for a model; None if they are missing or belong to another model version."""
    if translator.folder is None:
        return None
    try:
        statistics = Statistics.from_json(read_small_text(measurement_file(translator.folder, STATISTICS)))
    except (OSError, ValueError):
        return None
    return statistics if statistics.model == translator.version else None


def _log_progress(
    traces: dict[int, Trace | AtlasError], numbers: Sequence[int], place: int, trace: Trace | AtlasError
) -> None:
    traces[numbers[place]] = trace
