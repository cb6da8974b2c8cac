"""Finds, for each task in `tasks.py`, the head that does the task best, and example sentences.

A task is something that a head may do, such as attending to the previous word. Each task determines the map cells
that should get attention (the task's links). The head with the largest share of attention on the links, over many
sentences, represents the task. For a specific task, the share must also exceed what general tasks predict. For example,
a head that attends to every left neighbour also attends to “not” from the next word.
"""

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
# A head does a task if at least this share of its attention is on the task's links. This project chose the threshold.
MIN_TASK_SHARE = 0.4
# For a task that is not general, the share must also exceed the share expected from general tasks by at least this
# margin. Voita et al. 2019 (section 5.2) likewise require a syntactic head to beat the best fixed offset by 10 points.
MARGIN = 0.1
# Decimal places to which shares are rounded.
DIGITS = 4
# If a task has a median of at least MANY_LINKS links per sentence, its examples have at least ENOUGH_LINKS links.
MANY_LINKS, ENOUGH_LINKS = 6, 5


@dataclass(frozen=True)
class Example:
    """An example sentence for a task, with one row of the head's map.

    Attributes:
        text, target: the sentence and the model's translation.
        words: whether tokens are merged into words.
        rows, columns: positions of the query tokens and of the key tokens in the trace.
        read: text of the query; in the decoder, the text just read. "" is a start symbol, "▁" a single space.
        written: in the decoder, the predicted text; "" is the end symbol.
        labels: texts of the words or tokens that the row may attend to; "" is a start or end symbol.
        weights: attention weights of the row, one per label.
        looked_at: index of the label that illustrates the task.
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
        share: mean share of the head's attention on the task's links, over all rows that have links.
        everyone: mean of `share` over all heads of the attention kind.
        rule: name of the general task that predicts most of `share`; empty if the exhibit's task is itself general,
            or if no general task predicts any part.
        explained: share that general tasks predict, averaged over the task's links. The prediction for a link is the
            head's largest mean share on the general tasks that cover the link; 0 if no general task covers it.
        rows, sentences: numbers of rows and sentences that were measured.
        examples: sentences that illustrate the task, best first.
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
        """Whether `share` is large enough and, if the task is not general, exceeds `explained` by enough."""
        return self.share >= MIN_TASK_SHARE and (TASK[self.task].general or self.share - self.explained >= MARGIN)


@dataclass(frozen=True)
class Gallery(Record):
    """The head found for each task in one model, with example sentences.

    Attributes:
        model: `Translator.version` of the model.
        sentences: number of sentences read.
        exhibits: one head per task, in the order of `TASKS`. Tasks without links and tasks for languages that the model
            does not use are left out.
    """

    model: str
    sentences: int
    exhibits: tuple[Exhibit, ...]

    def __post_init__(self) -> None:
        unknown = {name for exhibit in self.exhibits for name in (exhibit.task, exhibit.rule)} - {"", *TASK}
        if unknown:
            raise ValueError(f"this version does not support these tasks of the gallery: {', '.join(sorted(unknown))}")


def gallery_of(traces: Iterable[Trace], model: str, languages: Languages = LANGUAGES) -> Gallery:
    """Find the head that represents each task, and the sentences that illustrate the task best.

    Args:
        traces: traces of one model.
        model: `Translator.version` of the model.
        languages: the model's languages; tasks about words of other languages are left out.

    Raises:
        ValueError: there are no traces.
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
        raise ValueError("a gallery needs at least one trace")
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
    """A task measured on one sentence: the trace, the links, and each head's attention weight on each link."""

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
    """Return the head that represents a task, with example sentences.

    General tasks predict part of each head's attention to the task's links. Among the heads that pass the thresholds,
    choose the one whose attention to these links exceeds the prediction by the most. If no head passes, choose the
    head with the most attention to these links.

    Args:
        task: task to find a head for.
        measurements: measurements of the task, one per sentence.
        rules: for each general task, the fraction of every head's attention that goes to that task's links, [L, H].
    """
    rows = sum(len(each.links) for each in measurements)
    means = np.concatenate([each.shares for each in measurements], axis=-1).mean(axis=-1)
    general = [rule for rule in rules if rule.kind == task.kind and not task.general]
    # One array [L, H, links] per general task: the share that the task predicts for each head and link; 0 if the task
    # does not cover the link. An array of zeros comes first, so that no general task is named if all predictions are 0.
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
    # If most sentences have many links, a sentence with only a few is a poor example.
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
    """Return, for each link of a sentence, whether the general task `rule` covers it.

    The rule covers a link if the rule has a link from the same row to at least one of the same columns. In some rules,
    such as attending to the end symbol, all links lead to the same columns. Such a rule covers links to these columns
    from every row, even from rows in which the rule has no link.
    """
    ruled = dict(rule.links(measurement.trace))
    places = set(ruled.values())
    anywhere = places.pop() if len(ruled) > 1 == len(places) else ()
    return [not set(columns).isdisjoint(ruled.get(row, anywhere)) for row, columns in measurement.links]


def _build_example(kind: Kind, measurement: _TaskMeasurement, layer: int, head: int) -> Example:
    """Build an example from a measured sentence: its strongest link for the task, and the map row with this link.

    Encoder examples show words. Decoder examples show tokens: each step reads one token and predicts another, and
    merging tokens into words would hide this.
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
        # A link between two tokens of the same word illustrates nothing.
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
    """Return the text that tokens cover.

    Return "" for a start or end symbol, the token's name for a language code, and "▁" for a single space.
    """
    first = tokens[0]
    if first.special:
        return first.text if first.role == "language" else ""
    return covered_text(tokens, text) or SPACE_MARK
