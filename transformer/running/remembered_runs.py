"""`Runs` objects that wrap a model, with or without a cache of results."""

from typing import Any

from transformer.values.run import Result, Run, Runs
from transformer.values.weights import Weights


class ModelRuns(Runs):
    """Executes runs with a model, which may be in another process.

    Runs that use only the results of other runs are computed in the current process.

    Attributes:
        model: a translator, a language model, or the client of a model server.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def config(self) -> Any:
        return self.model.config

    @property
    def tokenizer(self) -> Any:
        return self.model.tokenizer

    @property
    def curve(self) -> str:
        return self.model.curve

    def weights(self) -> Weights:
        """Return the model's parameters."""
        return self.model.weights()

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        return run.compute(self, *needed) if run.uses == "results" else self.model.answer(run, *needed)


class RememberedRuns(ModelRuns):
    """Like `ModelRuns`, but caches every result for the lifetime of the object."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._results: dict[Run[Any], Any] = {}

    def get(self, run: Run[Result]) -> Result:
        if run not in self._results:
            self._results[run] = super().get(run)
        return self._results[run]
