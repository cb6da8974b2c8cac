"""Supplies what claims measure: runs of the model on a sentence, and the words and heads that a lesson names.

A lesson never names a head by its number, because models differ in their heads. It gives a rule that finds a head.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.view import View, view_of
from transformer.errors import LessonError
from transformer.lessons.document import quoted
from transformer.running.remembered_runs import ModelRuns
from transformer.running.runs.scores import ScoresRun
from transformer.running.runs.trace import TraceRun
from transformer.values.interventions import AS_TRAINED, Interventions, all_heads
from transformer.values.tokens import Token
from transformer.values.trace import Kind, Trace

# For each job, the metric whose highest value on the sentence finds the head with that job.
JOBS = {
    "previous": "previous",
    "next": "next",
    "same": "same",
    "end": "end",
    "start": "first",
    "alignment": "alignment_predicted",
    "certain": "confidence",
}
# A job of decoder heads that needs a run without the mask: attention to later tokens, which the mask hides.
LATER = "later"
HEAD_RULES = f"{', '.join(JOBS)}; two words of the sentence as 'it -> animal'; or layer and head as '3.5'"
# Number of a step of the translation, from 1.
STEP = re.compile(r"[1-9][0-9]{0,5}")
NUMBERS = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")
END_NAME, START_NAME = "the end symbol", "the start symbol"


@dataclass(frozen=True)
class Evidence:
    """A sentence, and the model that runs on it.

    Attributes:
        runs: answers runs of a translator.
        sentence: sentence of the lesson.
    """

    runs: ModelRuns
    sentence: str

    def trace(self, *, details: bool = False, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return the trace of the sentence; with interventions, the model reads its unchanged translation."""
        read = None if interventions == AS_TRAINED else self.trace().target_text
        return self.runs.get(TraceRun(self.sentence, read, details, interventions))

    def head_changes(self) -> np.ndarray:
        """Measure the change of the translation's log-probability without each head alone (zero ablation), nats.

        The order is that of `all_heads`.
        """
        variants = tuple(Interventions(gates={head: 0.0}) for head in all_heads(self.runs.config))
        return self.runs.get(ScoresRun(self.sentence, None, variants)).change

    def view(self, kind: Kind) -> View:
        """Return the attention between whole words, including start and end symbols."""
        return view_of(self.trace(), kind, words=True)

    def step(self, number: int) -> int:
        """Convert the number of a step, from 1, to the row in which that step predicts a token.

        Raises:
            LessonError: the translation has no such step.
        """
        steps = len(self.trace().predicted_tokens)
        if not 1 <= number <= steps:
            raise LessonError(f"there is no step {number}: this translation has steps 1 to {steps}")
        return number - 1

    def curve(self) -> str:
        """Return the learning curve in the model's folder, as CSV.

        Raises:
            LessonError: there is no learning curve.
        """
        if not self.runs.curve:
            raise LessonError("the model has no learning curve: train it here, or use a model that was trained here")
        return self.runs.curve

    def of(self, sentence: str) -> Evidence:
        """Return the evidence of the same model on another sentence."""
        return Evidence(self.runs, sentence)

    def metrics(self, kind: Kind, *, interventions: Interventions = AS_TRAINED) -> Mapping[str, np.ndarray]:
        """Return all metrics of the heads of a kind on the sentence, [L, H] each, by name."""
        scores = self.runs.tokenizer.key_scores(kind)
        return head_metrics(self.trace(interventions=interventions), kind, scores).values

    def metric(self, kind: Kind, name: str, *, interventions: Interventions = AS_TRAINED) -> np.ndarray:
        """Return one metric of all heads of a kind on the sentence, [L, H].

        Raises:
            LessonError: the kind has no such metric.
        """
        values = self.metrics(kind, interventions=interventions)
        if name not in values:
            raise LessonError(f"heads of the kind {kind} have no metric {quoted(name)}")
        return np.nan_to_num(values[name], nan=-1.0)

    def shares(self, kind: Kind, job: str, *, interventions: Interventions = AS_TRAINED) -> np.ndarray:
        """Return each head's share of attention on a job in JOBS, or on LATER: 0 to 1, [L, H].

        Raises:
            LessonError: the kind has no such job.
        """
        if job != LATER:
            return self.metric(kind, JOBS[job], interventions=interventions)
        if kind != "decoder":
            raise LessonError(f"nothing is hidden from heads of the kind {kind}, so they have no job {quoted(job)}")
        return np.triu(self.trace(interventions=interventions).decoder, 1).sum(axis=-1).mean(axis=-1)

    def head(self, kind: Kind, rule: str) -> tuple[int, int]:
        """Return layer and head, from 0, that a rule finds; HEAD_RULES lists the rules.

        Raises:
            LessonError: the rule is invalid, or the word or head that it names does not exist.
        """
        layers, heads = self.trace().attention(kind).shape[:2]
        if rule in JOBS:
            return _largest(self.metric(kind, JOBS[rule]))
        one, _, other = map(str.strip, rule.partition("->"))
        if one and other:
            if kind != "encoder":
                raise LessonError(f"two English words, as in {quoted(rule)}, find a head only in the encoder")
            row, column = self.row(kind, one, (0, 0)), self.column(kind, other)
            return _largest(self.view(kind).weights[:, :, row, column])
        if numbers := NUMBERS.fullmatch(rule):
            layer, head = int(numbers[1]), int(numbers[2])
            if 1 <= layer <= layers and 1 <= head <= heads:
                return layer - 1, head - 1
            raise LessonError(f"there is no head {rule!r}: this model has {layers} layers of {heads} heads")
        raise LessonError(f"{quoted(rule)} is not a rule for a head; the rules are: {HEAD_RULES}")

    def row(self, kind: Kind, word: str, head: tuple[int, int]) -> int:
        """Return the index of a row of `view`.

        In the encoder, it is the row of an English word. In cross-attention, it is the step at which the head looks
        most at that word. In the decoder, `word` is the number of a step, from 1.

        Raises:
            LessonError: the sentence has no such word, or the translation has no such step.
        """
        view = self.view(kind)
        if kind == "encoder":
            return _index(word, row_names(view), self.sentence)
        if kind == "cross":
            return int(view.weights[*head, :, self.column(kind, word)].argmax())
        if not STEP.fullmatch(word) or int(word) > len(view.axes.rows):
            raise LessonError(f"there is no step {quoted(word)}: this translation has steps 1 to {len(view.axes.rows)}")
        return int(word) - 1

    def column(self, kind: Kind, word: str) -> int:
        """Return the column of an English word, in encoder attention or cross-attention.

        Raises:
            LessonError: the sentence has no such word.
        """
        if kind == "decoder":
            raise LessonError("a lesson cannot name words of the translation: the model decides them")
        return _index(word, column_names(self.view(kind)), self.sentence)


def row_names(view: View) -> list[str]:
    """Return the name of each row: the word that looks; in the decoder, the word that the row predicts."""
    if view.axes.predicted is None:
        return [name(group, view.axes.row_text) for group in view.axes.rows]
    return [name(group, view.axes.row_text) for group in view.axes.predicted]


def column_names(view: View) -> list[str]:
    """Return the word of each column."""
    return [name(group, view.axes.column_text) for group in view.axes.columns]


def name(tokens: Sequence[Token], text: str) -> str:
    """Return a word without the punctuation around it, to be used in a sentence."""
    if tokens[0].special:
        return END_NAME if tokens[0].role == "end" else START_NAME
    spans = [token.span for token in tokens if token.span is not None]
    word = text[spans[0][0] : spans[-1][1]].strip()
    return word.strip('.,;:!?"()') or word


def _index(word: str, names: list[str], sentence: str) -> int:
    # If a word occurs several times, this is its first occurrence.
    if word in names:
        return names.index(word)
    raise LessonError(f"there is no word {quoted(word)} in “{sentence}”; its words are: {', '.join(names)}")


def _largest(values: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    return int(layer), int(head)
