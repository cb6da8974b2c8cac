"""`Run`, a request to a model, and `Runs`, the interface of objects that answer such requests.

A run is a frozen dataclass that contains the request's text, target, settings and interventions. Runs can therefore be
cached, compared and sent to another process. `Runs.get` returns a run's result. `Runs` has three implementations:

- a model in this process (`running.translator.Translator`, `checkpoints.checkpoint.Checkpoint`);
- a client of a model in another process (`serving.client.RemoteTranslator`);
- a cache in front of a model or client (`running.remembered_runs.RememberedRuns`, and the app's `CachedRuns`, which all
  sessions share).

>>> from transformer import Translator
>>> from transformer.running.runs.trace import TraceRun
>>> Translator.load().get(TraceRun("I have a dream.")).target_text
'Ich habe einen Traum.'

To add a new type of run, write one file: a subclass of `Run`, next to the code that computes its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

Result = TypeVar("Result")
# Resource that a run needs: the model, which may be in another process; the weights, which must be in the current
# process; or only the results of other runs.
Resource = Literal["model", "weights", "results"]
# Type of a named value in a result. A saved experiment can store such values for later checking.
Stated = float | str | np.ndarray


class Run(Generic[Result]):
    """A request to a model. Each subclass is a frozen dataclass with hashable fields.

    Attributes:
        KINDS: all public subclasses by name; defining a subclass registers it.
        uses: resource that the run needs: the model, the model's weights, or only the results of other runs.
        message: text shown while the user waits; empty for none.
        long: whether the run can take seconds on a long text, and so must not delay translations.
        needs: runs whose results are passed to `compute`.
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
            runs: the model, or any `Runs` object if the run uses only the results of other runs.
            needed: results of the runs in `needs`, in order.
        """
        raise NotImplementedError

    def states(self, result: Result) -> Mapping[str, Stated]:
        """Return the values of a result, by name, that an experiment saves and a check recomputes; empty by default."""
        return {}


class Runs:
    """Base class of objects that return the results of runs: models, caches, and clients of remote models."""

    def get(self, run: Run[Result]) -> Result:
        """Return a run's result, after getting the results that the run needs.

        Raises: any error raised by the computation; an AtlasError's message says what to do.
        """
        return self.answer(run, *map(self.get, run.needs))

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        """Compute a run's result, given the results of the runs in `run.needs`."""
        return run.compute(self, *needed)
