"""Answers runs with a model, and caches their results."""

from __future__ import annotations

from typing import Any

from transformer.values.run import Result, Run, Runs
from transformer.values.weights import Weights


class ModelRuns(Runs):
    """Answers runs with a model; runs that need only results of other runs are computed here.

    Attributes:
        model: the model that computes: a translator or a language model, in this process or in another.
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
        """The model's parameters."""
        return self.model.weights()

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        return run.compute(self, *needed) if run.uses == "results" else self.model.answer(run, *needed)


class RememberedRuns(ModelRuns):
    """Answers runs as `ModelRuns` does, and caches every result until it is deleted."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._results: dict[Run[Any], Any] = {}

    def get(self, run: Run[Result]) -> Result:
        if run not in self._results:
            self._results[run] = super().get(run)
        return self._results[run]
