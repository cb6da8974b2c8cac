"""The run that traces a translation: it keeps everything that it computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from transformer.decoding.texts import given_target
from transformer.model.recorder import Recorder
from transformer.running.translator_run import Target, TranslatorRun
from transformer.values.decoding_settings import GREEDY
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace

if TYPE_CHECKING:
    from transformer.running.translator import Translator


@dataclass(frozen=True)
class TraceRun(TranslatorRun[Trace]):
    """Everything computed while the model translates greedily, or reads a given translation (teacher forcing).

    Attributes:
        text: a sentence in the source language.
        target: its translation, or the ids of its tokens; None takes the translation that this run writes.
        details: whether to keep scores, queries, keys, values, head outputs and the residual stream.
        interventions: changes to this run only.

    Raises:
        TextError: one of the texts is empty or too long.
        DeviceError: the device ran out of memory.
        InterventionError: the interventions change a part that the model or the sentence lacks.
    """

    text: str
    target: Target = None
    details: bool = False
    interventions: Interventions = AS_TRAINED

    @property
    def message(self) -> str:
        return "Computing the scores …" if self.details else "Translating …"

    @property
    def plain(self) -> bool:
        return self == TraceRun(self.text)

    def compute(self, runs: Translator) -> Trace:
        given = None if self.target is None else given_target(runs.tokenizer, self.target, self.text)
        source = runs.encode(self.text, self.interventions, Recorder(details=self.details))
        if given is None:
            translation = source.decode(GREEDY)
            given = translation.text, translation.tokens
        return source.reader.read(*given)[0]
