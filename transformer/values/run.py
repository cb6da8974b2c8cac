"""A run as a value, and the one interface that answers it.

A run says what is asked of a model: a text, a target, settings, interventions. It is a frozen dataclass, so equal runs
are equal values, which can be cached, compared and sent. `get` answers a run. Three kinds of objects have it:

- the model itself (`running.translator.Translator`, `checkpoints.checkpoint.LanguageModel`);
- a client of a model in another process (`serving.client.RemoteTranslator`);
- `running.remembered_runs.RememberedRuns`, a cache in front of either. All sessions share the app's `CachedRuns`.

>>> from transformer import Translator
>>> from transformer.running.runs.trace import TraceRun
>>> Translator.load().get(TraceRun("I have a dream.")).target_text
'Ich habe einen Traum.'

A new kind of run is one file: a subclass of `Run` beside the code that computes its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

Result = TypeVar("Result")
# A run computes with the model, wherever it is; with its weights, in this process; or only with results of other runs.
Resource = Literal["model", "weights", "results"]
# A number, an array of numbers, or a text, which a result states.
Stated = float | str | np.ndarray


class Run(Generic[Result]):
    """A request to a model; a subclass is a frozen dataclass, whose fields are hashable.

    Attributes:
        KINDS: the subclasses by name, registered by their definition.
        uses: what the run computes with.
        message: text for the waiting user; empty for none.
        long: whether it takes seconds for a long text, so that translations should not wait for it.
        needs: runs whose results `compute` takes.
    """

    KINDS: ClassVar[dict[str, type[Run[Any]]]] = {}
    uses: ClassVar[Resource] = "model"
    message: str = ""
    long: bool = False

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            Run.KINDS[cls.__name__] = cls

    @property
    def needs(self) -> tuple[Run[Any], ...]:
        return ()

    def compute(self, runs: Any, *needed: Any) -> Result:
        """The result.

        Args:
            runs: the model; for a run that computes only with results, any object that answers runs.
            needed: results of `needs`.
        """
        raise NotImplementedError

    def states(self, result: Result) -> Mapping[str, Stated]:
        """The numbers of a result by their names, which a saved experiment claims; none for most runs."""
        return {}


class Runs:
    """Answers runs: a model, or a stand-in for one."""

    def get(self, run: Run[Result]) -> Result:
        """The result of a run.

        Raises: any error of the run; an AtlasError says what to do.
        """
        return self.answer(run, *map(self.get, run.needs))

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        """The result of a run, given those of the runs that it needs."""
        return run.compute(self, *needed)
