"""Evidence for a lesson's claims: model runs on a sentence, and the words and heads that the lesson names.

A lesson usually selects a head by a rule, such as "previous", because layer and head numbers differ between models.
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

# Metric for each job. The head with the highest value on the sentence is the head that does the job.
JOBS = {
    "previous": "previous",
    "next": "next",
    "same": "same",
    "end": "end",
    "start": "first",
    "alignment": "alignment_predicted",
    "certain": "confidence",
}
# Job name for attention to later tokens. Decoder heads can do this job only without the mask.
LATER_TOKENS = "later"
HEAD_RULES = f"{', '.join(JOBS)}; two words of the sentence, as in 'it -> animal'; or layer and head, as in '3.5'"
# Matches the 1-based number of a decoding step.
STEP_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
HEAD_NUMBERS = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")
END_NAME, START_NAME = "the end symbol", "the start symbol"


@dataclass(frozen=True)
class Evidence:
    """A sentence, and a model to run on it.

    Attributes:
        runs: computes model runs, such as `TraceRun`, or returns stored results.
        sentence: the lesson's sentence.
    """

    runs: ModelRuns
    sentence: str

    def trace(self, *, details: bool = False, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return the sentence's trace.

        With interventions, the model rereads the translation that it wrote without interventions.
        """
        read = None if interventions == AS_TRAINED else self.trace().target_text
        return self.runs.get(TraceRun(self.sentence, read, details, interventions))

    def head_changes(self) -> np.ndarray:
        """Return the change in the translation's log-probability, in nats, when each head is removed on its own.

        Heads are removed by zero ablation. The changes are in the order of `all_heads`.
        """
        variants = tuple(Interventions(gates={head: 0.0}) for head in all_heads(self.runs.config))
        return self.runs.get(ScoresRun(self.sentence, None, variants)).change

    def view(self, kind: Kind) -> View:
        """Return one attention kind's maps, whose rows and columns are whole words, or start and end symbols."""
        return view_of(self.trace(), kind, words=True)

    def step(self, number: int) -> int:
        """Convert a 1-based step number to the 0-based row in which the step's token is predicted.

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
            LessonError: the model has no learning curve.
        """
        if not self.runs.curve:
            raise LessonError(
                "the model has no learning curve: use a model that was trained with `python -m transformer.training`"
            )
        return self.runs.curve

    def for_sentence(self, sentence: str) -> Evidence:
        """Return the evidence for another sentence, with the same model."""
        return Evidence(self.runs, sentence)

    def metrics(self, kind: Kind, *, interventions: Interventions = AS_TRAINED) -> Mapping[str, np.ndarray]:
        """Return all head metrics for one attention kind on the sentence, by metric name, [L, H] each."""
        scores = self.runs.tokenizer.key_scores(kind)
        return head_metrics(self.trace(interventions=interventions), kind, scores).values

    def metric(self, kind: Kind, name: str, *, interventions: Interventions = AS_TRAINED) -> np.ndarray:
        """Return one metric for all heads of an attention kind, [L, H]; -1 where the metric is undefined.

        Raises:
            LessonError: the attention kind has no such metric.
        """
        values = self.metrics(kind, interventions=interventions)
        if name not in values:
            raise LessonError(f"{kind} heads have no metric {quoted(name)}: choose one of {', '.join(values)}")
        return np.nan_to_num(values[name], nan=-1.0)

    def shares(self, kind: Kind, job: str, *, interventions: Interventions = AS_TRAINED) -> np.ndarray:
        """Return each head's score for a job, 0 to 1, [L, H]; -1 where the job's metric is undefined.

        For most jobs, the score is the fraction of attention that the head spends on the job.

        Args:
            kind: attention kind of the heads.
            job: a job in JOBS, or LATER_TOKENS.
            interventions: changes to the model.

        Raises:
            LessonError: heads of this attention kind have no such job.
        """
        if job != LATER_TOKENS:
            return self.metric(kind, JOBS[job], interventions=interventions)
        if kind != "decoder":
            raise LessonError(f"the job {quoted(job)} needs decoder heads: {kind} attention does not mask later tokens")
        return np.triu(self.trace(interventions=interventions).decoder, 1).sum(axis=-1).mean(axis=-1)

    def head(self, kind: Kind, rule: str) -> tuple[int, int]:
        """Return the 0-based layer and head that a rule selects. For the rules, see HEAD_RULES.

        Raises:
            LessonError: the rule is invalid, or names a word or head that does not exist.
        """
        layers, heads = self.trace().attention(kind).shape[:2]
        if rule in JOBS:
            return _largest(self.metric(kind, JOBS[rule]))
        one, _, other = map(str.strip, rule.partition("->"))
        if one and other:
            if kind != "encoder":
                raise LessonError(f"two English words, as in {quoted(rule)}, can select a head only in the encoder")
            row, column = self.row(kind, one, (0, 0)), self.column(kind, other)
            return _largest(self.view(kind).weights[:, :, row, column])
        if numbers := HEAD_NUMBERS.fullmatch(rule):
            layer, head = int(numbers[1]), int(numbers[2])
            if 1 <= layer <= layers and 1 <= head <= heads:
                return layer - 1, head - 1
            raise LessonError(f"there is no head {rule!r}: this model has {layers} layers of {heads} heads")
        raise LessonError(f"{quoted(rule)} does not select a head; use one of these rules: {HEAD_RULES}")

    def row(self, kind: Kind, word: str, head: tuple[int, int]) -> int:
        """Return the index of the map row that a word selects.

        In the encoder, this is the row of an English word. In cross-attention, it is the step at which the head attends
        most to the English word. In the decoder, `word` is a 1-based step number.

        Raises:
            LessonError: the sentence has no such word, or the translation has no such step.
        """
        view = self.view(kind)
        if kind == "encoder":
            return _index(word, row_names(view), self.sentence)
        if kind == "cross":
            return int(view.weights[*head, :, self.column(kind, word)].argmax())
        if not STEP_NUMBER.fullmatch(word) or int(word) > len(view.axes.rows):
            raise LessonError(f"there is no step {quoted(word)}: this translation has steps 1 to {len(view.axes.rows)}")
        return int(word) - 1

    def at_row(self, kind: Kind, head: str, row: str) -> tuple[int, int, int]:
        """Return the 0-based layer and head that a rule selects, and the position of the selected row's first token."""
        layer, number = at = self.head(kind, head)
        return layer, number, self.view(kind).axes.row_positions[self.row(kind, row, at)][0]

    def column(self, kind: Kind, word: str) -> int:
        """Return the column index of an English word, in encoder attention or cross-attention.

        Raises:
            LessonError: the sentence has no such word, or the attention kind is "decoder".
        """
        if kind == "decoder":
            raise LessonError("a lesson cannot name words of the translation, because the model chooses them")
        return _index(word, column_names(self.view(kind)), self.sentence)


def row_names(view: View) -> list[str]:
    """Return each row's label: the attending word or, in the decoder, the word that the row predicts."""
    if view.axes.predicted is None:
        return [name(group, view.axes.row_text) for group in view.axes.rows]
    return [name(group, view.axes.row_text) for group in view.axes.predicted]


def column_names(view: View) -> list[str]:
    """Return each column's label: the word, or the name of a start or end symbol."""
    return [name(group, view.axes.column_text) for group in view.axes.columns]


def name(tokens: Sequence[Token], text: str) -> str:
    """Return a word's text without surrounding punctuation, or the name of a start or end symbol."""
    if tokens[0].special:
        return END_NAME if tokens[0].role == "end" else START_NAME
    spans = [token.span for token in tokens if token.span is not None]
    word = text[spans[0][0] : spans[-1][1]].strip()
    return word.strip('.,;:!?"()') or word


def _index(word: str, names: list[str], sentence: str) -> int:
    # If a word occurs several times, use the first occurrence.
    if word in names:
        return names.index(word)
    raise LessonError(f"there is no word {quoted(word)} in “{sentence}”; its words are: {', '.join(names)}")


def _largest(values: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    return int(layer), int(head)
