"""The heads of a model that do something which can be told in one sentence, each with sentences that show it.

For every task of `tasks.py` the text alone says which cells of a map belong to it (its links). The head that
has most of its attention there over many sentences is the head of the task. How much others have stands beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from transformer.analysis.heads.tasks import TASK, TASKS, Link, Task, covered_text
from transformer.analysis.view import axes_of, view_of
from transformer.files.records import Fields, read_fields
from transformer.text.languages import LANGUAGES, Languages
from transformer.text.vocabulary import SPACE_MARK, Piece
from transformer.values.trace import Kind, Trace

EXAMPLES = 3
# A head does a task if it has at least this share of its attention there (a threshold of this atlas).
DOES = 0.4
# Shares are remembered with this many digits after the point.
DIGITS = 4
# A head that looks at every word's neighbour is shown on a sentence with enough words to see it.
MANY_LINKS, ENOUGH_LINKS = 6, 5


@dataclass(frozen=True)
class Example:
    """A sentence that shows what a head does.

    Attributes:
        text, target: the sentence and the model's translation.
        words: whether its pieces are merged into words.
        rows, columns: positions in the trace of what looks and of what is looked at.
        read: what looks; in the decoder, what was just read. "" is a start symbol, "▁" a space by itself.
        written: in the decoder, what is predicted; "" is the end symbol.
        labels: what may be looked at; "" is a start or end symbol.
        weights: of the row, one a label.
        looked_at: the number of the label that is looked at.
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
    """The head of a task.

    Attributes:
        task: its name.
        kind, layer, head: counted from 0.
        share: of the attention of its rows, on the links, on average.
        everyone: the same share, on average over all heads of the kind.
        rows, sentences: how many it was measured on.
        examples: the sentences that show it best, the best first.
    """

    task: str
    kind: Kind
    layer: int
    head: int
    share: float
    everyone: float
    rows: int
    sentences: int
    examples: tuple[Example, ...]

    @property
    def does_it(self) -> bool:
        """Whether the head has enough of its attention there."""
        return self.share >= DOES


@dataclass(frozen=True)
class Gallery:
    """The heads of a model by task, and what they were found on.

    Attributes:
        model: `Translator.version`.
        sentences: how many were read.
        exhibits: in the order of `TASKS`; none for a task of other languages, or that no sentence has.
    """

    model: str
    sentences: int
    exhibits: tuple[Exhibit, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Gallery:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is something else; the message says where.
        """
        fields = read_fields(text)
        exhibits = tuple(map(_read_exhibit, fields.all_inner("exhibits", 0)))
        return cls(fields.text("model"), fields.whole("sentences", 1), exhibits)


def _read_exhibit(fields: Fields) -> Exhibit:
    task = TASK[fields.choice("task", TASK)]
    return Exhibit(
        task.name, fields.choice("kind", [task.kind]), fields.whole("layer"), fields.whole("head"),
        fields.number("share", 0, 1), fields.number("everyone", 0, 1), fields.whole("rows", 1),
        fields.whole("sentences", 1), tuple(map(_read_example, fields.all_inner("examples"))),
    )


def _read_example(fields: Fields) -> Example:
    labels, looked_at = fields.texts("labels"), fields.whole("looked_at")
    if looked_at >= len(labels):
        raise ValueError(f"{fields.where}looked_at is {looked_at}, and there are {len(labels)} labels from 0 on")
    return Example(
        text=fields.text("text"), target=fields.text("target"), words=fields.flag("words"), rows=fields.wholes("rows"),
        columns=fields.wholes("columns"), read=fields.text("read"), written=fields.text("written"), labels=labels,
        weights=tuple(fields.array("weights", (len(labels),), 0, 1).tolist()), looked_at=looked_at,
    )


def gallery_of(traces: Iterable[Trace], model: str, languages: Languages = LANGUAGES) -> Gallery:
    """Find the head of each task, and the sentences that show it best.

    Args:
        traces: of one model.
        model: `Translator.version` of the model.
        languages: of the model; a task that is about the words of another language is left out.

    Raises:
        ValueError: there is no trace.
    """
    tasks = [task for task in TASKS if task.fits(languages)]
    found: dict[str, list[_Measured]] = {task.name: [] for task in tasks}
    sentences = 0
    for trace in traces:
        sentences += 1
        for task in tasks:
            links = list(task.links(trace)) if trace.complete else []
            if links:
                found[task.name].append(_measured(trace, task.kind, links))
    if not sentences:
        raise ValueError("a gallery takes at least one trace")
    return Gallery(model, sentences, tuple(_exhibit(task, found[task.name]) for task in tasks if found[task.name]))


@dataclass(frozen=True, eq=False)
class _Measured:
    """What a task needs to remember of a sentence: shares [L, H, links], and the trace's rows as words."""

    shares: np.ndarray
    trace: Trace
    links: Sequence[Link]


def _measured(trace: Trace, kind: Kind, links: Sequence[Link]) -> _Measured:
    weights = trace.attention(kind).astype(np.float64)
    shares = np.stack([weights[:, :, row, list(columns)].sum(axis=-1) for row, columns in links], axis=-1)
    return _Measured(shares, trace, links)


def _exhibit(task: Task, measured: Sequence[_Measured]) -> Exhibit:
    rows = sum(len(each.links) for each in measured)
    means = np.concatenate([each.shares for each in measured], axis=-1).mean(axis=-1)
    layer, head = (int(index) for index in np.unravel_index(means.argmax(), means.shape))
    # Of a task with many links in most sentences, a sentence with few shows nothing.
    least = ENOUGH_LINKS if np.median([len(each.links) for each in measured]) >= MANY_LINKS else 1
    shown = [each for each in measured if len(each.links) >= least] or list(measured)
    best = sorted(shown, key=lambda each: -float(each.shares[layer, head].mean()))[:EXAMPLES]
    return Exhibit(
        task.name, task.kind, layer, head, round(float(means[layer, head]), DIGITS),
        round(float(means.mean()), DIGITS), rows, len(measured),
        tuple(_example(task.kind, each, layer, head) for each in best),
    )


def _example(kind: Kind, measured: _Measured, layer: int, head: int) -> Example:
    """The strongest link of a sentence, with the row that it is in.

    In words for the encoder. A step of the decoder reads one piece and predicts one, which words would merge.
    """
    axes = axes_of(measured.trace, kind, words=kind == "encoder")
    weights = view_of(measured.trace, kind, words=axes.words)

    def place(link: Link) -> tuple[int, int]:
        """Row and column of the view."""
        row, columns = link
        most = max(columns, key=lambda column: float(measured.trace.attention(kind)[layer, head, row, column]))
        return (
            next(number for number, group in enumerate(axes.row_positions) if row in group),
            next(number for number, group in enumerate(axes.column_positions) if most in group),
        )

    row, column = max(
        map(place, measured.links),
        # Within a word of several pieces there is nothing to see.
        key=lambda at: (axes.row_positions[at[0]] != axes.column_positions[at[1]] or kind != "encoder",
                        float(weights.weights[layer, head, *at])),
    )
    seen = np.flatnonzero(weights.mask[row])
    return Example(
        text=measured.trace.source_text, target=measured.trace.target_text, words=axes.words,
        rows=axes.row_positions[row], columns=axes.column_positions[column],
        read=_label(axes.rows[row], axes.row_text),
        written="" if axes.predicted is None else _label(axes.predicted[row], axes.row_text),
        labels=tuple(_label(axes.columns[each], axes.column_text) for each in seen),
        weights=tuple(round(float(weight), DIGITS) for weight in weights.weights[layer, head, row, seen]),
        looked_at=int(np.flatnonzero(seen == column)[0]),
    )


def _label(pieces: Sequence[Piece], text: str) -> str:
    """What pieces cover, or what a piece that covers nothing is: a code of a language, or a space by itself."""
    first = pieces[0]
    if first.special:
        return first.text if first.role == "language" else ""
    return covered_text(pieces, text) or SPACE_MARK
