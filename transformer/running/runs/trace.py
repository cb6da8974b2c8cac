"""Run that traces the model on a sentence, with the model's own translation or a given one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from transformer.decoding.texts import given_target
from transformer.model.recorder import Recorder
from transformer.running.translator_run import Target, TranslatorRun
from transformer.values.decoding_settings import GREEDY
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.sites import HookFunctions
from transformer.values.trace import Trace

if TYPE_CHECKING:
    from transformer.running.translator import Translator


@dataclass(frozen=True)
class TraceRun(TranslatorRun[Trace]):
    """Traces the model on a sentence with a given translation (teacher forcing) or with a greedy translation.

    Attributes:
        text: source sentence.
        target: translation as text or token ids; None for the model's own translation under the interventions.
        details: whether to include scores, queries, keys, values, head outputs, the residual stream and the
            outputs of the feed-forward networks.
        interventions: interventions to run the model with.

    Raises:
        TextError: a text is empty or too long.
        DeviceError: the device ran out of memory.
        InterventionError: the model or the sentence does not support the interventions.
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
        return self.with_hooks(runs, {})

    def with_hooks(self, runs: Translator, hooks: HookFunctions, record: Recorder | None = None) -> Trace:
        """Compute the trace with `hooks`: functions, keyed by site, that read and change the model's values.

        `record` replaces the default recorder, which stores details only if `details` is True.
        """
        given = None if self.target is None else given_target(runs.tokenizer, self.target, self.text)
        encoded = runs.encode(self.text, self.interventions, record or Recorder(details=self.details), hooks)
        if given is None:
            translation = encoded.decode(GREEDY)
            given = translation.text, translation.tokens
        return encoded.reader.read(*given)[0]
