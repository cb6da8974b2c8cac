"""Finds heads whose task can be described in one sentence, and sentences that show each task.

For every task in `tasks.py`, the text alone determines which map cells belong to the task (its links). A general task
is, for example, to look at the previous word. A task is represented by the head with the largest share of attention on
the links, over many sentences. For a specific task, the share must also exceed what the general tasks explain. For
example, a head that looks at every left neighbour also looks at “not” from the next word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.analysis.heads.tasks import TASK, TASKS, HeadTask, Link, covered_text
from transformer.analysis.view import axes_of, view_of
from transformer.files.records import Record
from transformer.text.languages import LANGUAGES, Languages
from transformer.text.vocabulary import SPACE_MARK
from transformer.values.tokens import Token
from transformer.values.trace import Kind, Trace

EXAMPLES = 3
# A head does a task if at least this share of its attention is on the task's links (a threshold of this project).
MIN_TASK_SHARE = 0.4
# For a specific task, the share must also exceed the part that the general rules explain by this margin. Voita et al.
# 2019 (section 5.2) likewise require a syntactic head to beat the best fixed offset by 10 points.
MARGIN = 0.1
# Number of decimal places to which shares are rounded.
DIGITS = 4
# If a task's median number of links per sentence is at least MANY_LINKS, examples have at least ENOUGH_LINKS links.
MANY_LINKS, ENOUGH_LINKS = 6, 5


@dataclass(frozen=True)
class Example:
    """A sentence that shows what a head does, with one row of the head's map.

    Attributes:
        text, target: the sentence and the model's translation.
        words: whether tokens are merged into words.
        rows, columns: positions of the query tokens and of the key tokens in the trace.
        read: text of the query; in the decoder, the text just read. "" is a start symbol, "▁" a single space.
        written: in the decoder, the predicted text; "" is the end symbol.
        labels: texts that the row may look at; "" is a start or end symbol.
        weights: attention weights of the row, one per label.
        looked_at: index of the label that shows the task.
    """

    text: str
    target: str
    words: bool
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    read: str
    written: str
    labels: tuple[str, ...]
    weights: tuple[float, ...]
    looked_at: int


@dataclass(frozen=True)
class Exhibit:
    """The head that represents a task.

    Attributes:
        task: name of the task.
        kind, layer, head: attention kind, 0-based layer and 0-based head.
        share: mean share of the head's attention on the links, over all rows that have links.
        everyone: mean share of attention on the links over all heads of the attention kind.
        rule: general task that explains most of the share; empty for a general task, or if none explains any part.
        explained: part of the share that the general tasks explain. If a general task also has a link, the head's mean
            share on that general task counts as explained.
        rows, sentences: numbers of rows and sentences that were measured.
        examples: sentences that show the task best, best first.
    """

    task: str
    kind: Kind
    layer: int
    head: int
    share: float
    everyone: float
    rule: str
    explained: float
    rows: int
    sentences: int
    examples: tuple[Example, ...]

    @property
    def passes(self) -> bool:
        """Whether enough of the head's attention is on the links, beyond what the general rules explain."""
        return self.share >= MIN_TASK_SHARE and (TASK[self.task].general or self.share - self.explained >= MARGIN)


@dataclass(frozen=True)
class Gallery(Record):
    """A model's heads by task, and the number of sentences in which they were found.

    Attributes:
        model: `Translator.version` of the model.
        sentences: number of sentences read.
        exhibits: one head per task, in the order of `TASKS`. Tasks of other languages and tasks without links are left
            out.
    """

    model: str
    sentences: int
    exhibits: tuple[Exhibit, ...]

    def __post_init__(self) -> None:
        if not {name for exhibit in self.exhibits for name in (exhibit.task, exhibit.rule)} <= {"", *TASK}:
            raise ValueError("the gallery has a task that this version does not know")


def gallery_of(traces: Iterable[Trace], model: str, languages: Languages = LANGUAGES) -> Gallery:
    """Find the head for each task, and the sentences that show the task best.

    Args:
        traces: traces of one model.
        model: `Translator.version` of the model.
        languages: the model's languages; tasks about the words of other languages are left out.

    Raises:
        ValueError: there is no trace.
    """
    tasks = [task for task in TASKS if task.fits(languages)]
    measurements: dict[str, list[_TaskMeasurement]] = {task.name: [] for task in tasks}
    sentences = 0
    for trace in traces:
        sentences += 1
        for task in tasks:
            links = list(task.links(trace)) if trace.complete else []
            if links:
                measurements[task.name].append(_measure_task(trace, task.kind, links))
    if not sentences:
        raise ValueError("a gallery takes at least one trace")
    rules = {
        task: np.concatenate([each.shares for each in measurements[task.name]], axis=-1).mean(axis=-1)
        for task in tasks
        if task.general and measurements[task.name]
    }
    return Gallery(
        model,
        sentences,
        tuple(_choose_head(task, measurements[task.name], rules) for task in tasks if measurements[task.name]),
    )


@dataclass(frozen=True, eq=False)
class _TaskMeasurement:
    """A task measured on one sentence: attention shares [L, H, links], the trace, and the task's links."""

    shares: np.ndarray
    trace: Trace
    links: Sequence[Link]


def _measure_task(trace: Trace, kind: Kind, links: Sequence[Link]) -> _TaskMeasurement:
    weights = trace.attention(kind).astype(np.float64)
    shares = np.stack([weights[:, :, row, list(columns)].sum(axis=-1) for row, columns in links], axis=-1)
    return _TaskMeasurement(shares, trace, links)


def _choose_head(
    task: HeadTask, measurements: Sequence[_TaskMeasurement], rules: Mapping[HeadTask, np.ndarray]
) -> Exhibit:
    """Choose the head that exceeds the general rules most or, if no head passes, the head with the largest share.

    Args:
        task: the task.
        measurements: measurements of the task, one per sentence.
        rules: share of every head's attention on each general task's links, [L, H].
    """
    rows = sum(len(each.links) for each in measurements)
    means = np.concatenate([each.shares for each in measurements], axis=-1).mean(axis=-1)
    general = [rule for rule in rules if rule.kind == task.kind and not task.general]
    # The part of each link that each general rule explains, [L, H, links].
    parts = [
        np.zeros((*means.shape, rows)),
        *(
            rules[rule][..., None]
            * [each for measurement in measurements for each in _covered_by_rule(measurement, rule)]
            for rule in general
        ),
    ]
    explained = np.max(parts, axis=0).mean(axis=-1)
    beyond = np.where((means >= MIN_TASK_SHARE) & (means - explained >= MARGIN), means - explained, 0.0)
    best = means if task.general or not beyond.any() else beyond
    layer, head = (int(index) for index in np.unravel_index(best.argmax(), means.shape))
    rule = ["", *(each.name for each in general)][int(np.argmax([part[layer, head].mean() for part in parts]))]
    # If a task has many links in most sentences, a sentence with only a few does not illustrate it.
    least = ENOUGH_LINKS if np.median([len(each.links) for each in measurements]) >= MANY_LINKS else 1
    candidates = [each for each in measurements if len(each.links) >= least] or list(measurements)
    examples = sorted(candidates, key=lambda each: -float(each.shares[layer, head].mean()))[:EXAMPLES]
    return Exhibit(
        task.name,
        task.kind,
        layer,
        head,
        round(float(means[layer, head]), DIGITS),
        round(float(means.mean()), DIGITS),
        rule,
        round(float(explained[layer, head]), DIGITS),
        rows,
        len(measurements),
        tuple(_build_example(task.kind, example, layer, head) for example in examples),
    )


def _covered_by_rule(measurement: _TaskMeasurement, rule: HeadTask) -> list[bool]:
    """Return, for each link of a sentence, whether a general rule also covers the link.

    A rule that always has the same columns, such as the end symbol, covers these columns in every row.
    """
    ruled = dict(rule.links(measurement.trace))
    places = set(ruled.values())
    anywhere = places.pop() if len(ruled) > 1 == len(places) else ()
    return [not set(columns).isdisjoint(ruled.get(row, anywhere)) for row, columns in measurement.links]


def _build_example(kind: Kind, measurement: _TaskMeasurement, layer: int, head: int) -> Example:
    """Build an example from a sentence's strongest link and the link's row.

    Encoder examples show words. Decoder examples show tokens, because each step reads one token and predicts another,
    which merging into words would hide.
    """
    axes = axes_of(measurement.trace, kind, words=kind == "encoder")
    weights = view_of(measurement.trace, kind, words=axes.words)

    def place(link: Link) -> tuple[int, int]:
        row, columns = link
        most = max(columns, key=lambda column: float(measurement.trace.attention(kind)[layer, head, row, column]))
        return (
            next(number for number, group in enumerate(axes.row_positions) if row in group),
            next(number for number, group in enumerate(axes.column_positions) if most in group),
        )

    row, column = max(
        map(place, measurement.links),
        # A link within one word of several tokens illustrates nothing.
        key=lambda at: (
            axes.row_positions[at[0]] != axes.column_positions[at[1]] or kind != "encoder",
            float(weights.weights[layer, head, *at]),
        ),
    )
    visible_columns = np.flatnonzero(weights.mask[row])
    return Example(
        text=measurement.trace.source_text,
        target=measurement.trace.target_text,
        words=axes.words,
        rows=axes.row_positions[row],
        columns=axes.column_positions[column],
        read=_label(axes.rows[row], axes.row_text),
        written="" if axes.predicted is None else _label(axes.predicted[row], axes.row_text),
        labels=tuple(_label(axes.columns[each], axes.column_text) for each in visible_columns),
        weights=tuple(round(float(weight), DIGITS) for weight in weights.weights[layer, head, row, visible_columns]),
        looked_at=int(np.flatnonzero(visible_columns == column)[0]),
    )


def _label(tokens: Sequence[Token], text: str) -> str:
    """Return the text that tokens cover; "" for a start or end symbol, the token's name for a code or a space."""
    first = tokens[0]
    if first.special:
        return first.text if first.role == "language" else ""
    return covered_text(tokens, text) or SPACE_MARK
