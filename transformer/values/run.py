"""A run as a value, and the one interface that answers it.

A run says what is asked of a model: a text, a target, settings, interventions. It is a frozen dataclass, so equal runs
are equal values: they can be kept, compared and sent. Whoever answers runs has `get`. There are three: the model itself
(`running.translator.Translator`, `checkpoints.checkpoint.LanguageModel`), one whose model is elsewhere
(`serving.client.RemoteTranslator`), and `running.remembered_runs.RememberedRuns`, which decorates either; the app's
`CachedRuns` is one whose results all sessions share.

>>> from transformer import Translator
>>> from transformer.running.runs.trace import TraceRun
>>> Translator.load().get(TraceRun("I have a dream.")).target_text
'Ich habe einen Traum.'

A new kind of run is one file: a subclass of `Run` beside what it computes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeVar

Result = TypeVar("Result")
# What a run computes with: the model, wherever it is; its weights, in this process; or the results of other runs alone.
Means = Literal["model", "weights", "results"]


class Run(Generic[Result]):
    """What is asked of a model; a subclass is a frozen dataclass, whose fields are hashable.

    Attributes:
        uses: what it computes with.
        message: for whoever waits; empty for none.
        long: whether it takes seconds for a long text, so that nobody should wait for it who wants a translation.
        needs: runs whose results `compute` takes.
    """

    uses: ClassVar[Means] = "model"
    message: str = ""
    long: bool = False

    @property
    def needs(self) -> tuple[Run[Any], ...]:
        return ()

    def compute(self, runs: Any, *needed: Any) -> Result:
        """The result.

        Args:
            runs: the model, or where it computes with results alone, whoever answers.
            needed: results of `needs`.
        """
        raise NotImplementedError


class Runs:
    """Answers runs: a model, or what stands for one."""

    def get(self, run: Run[Result]) -> Result:
        """The result of a run.

        Raises: what the run raises; an AtlasError says what to do.
        """
        return self.answer(run, *map(self.get, run.needs))

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        """The result of a run, given those of the runs that it needs."""
        return run.compute(self, *needed)
