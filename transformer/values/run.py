"""`Run`, a request to a model as a value, and `Runs`, the interface of the objects that answer it.

A run describes a request to a model: a text, a target, settings, interventions. It is a frozen dataclass, so equal runs
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
# A run uses the model, its weights, or only the results of other runs. The model may be in another process, but the
# weights must be in this one.
Resource = Literal["model", "weights", "results"]
# A value that a result reports: a number, an array of numbers, or a text.
Stated = float | str | np.ndarray


class Run(Generic[Result]):
    """A request to a model; a subclass is a frozen dataclass, whose fields are hashable.

    Attributes:
        KINDS: all subclasses by name; the definition of a subclass registers it.
        uses: whether the run needs the model, its weights, or only results of other runs.
        message: text shown to the waiting user; empty for none.
        long: whether the run takes seconds for a long text, so that translations should not wait for it.
        needs: other runs, whose results `compute` receives.
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
        """Compute the result of the run.

        Args:
            runs: the model; for a run that computes only with results, any object that answers runs.
            needed: the results of the runs in `needs`, in the same order.
        """
        raise NotImplementedError

    def states(self, result: Result) -> Mapping[str, Stated]:
        """The values of a result by name, which a saved experiment can state as claims; empty for most kinds of run."""
        return {}


class Runs:
    """Base class of objects that answer runs: a model, or a stand-in for one."""

    def get(self, run: Run[Result]) -> Result:
        """The result of a run.

        Raises: any error of the run; an AtlasError says what to do.
        """
        return self.answer(run, *map(self.get, run.needs))

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        """Compute the result of a run from the results of the runs that it needs."""
        return run.compute(self, *needed)
