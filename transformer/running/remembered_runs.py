"""Runs that a model answers; made once, for those who ask for the same again."""

from __future__ import annotations

from typing import Any

from transformer.values.run import Result, Run, Runs
from transformer.values.weights import Weights


class ModelRuns(Runs):
    """Runs that a model answers, and those that need nothing but their results.

    Attributes:
        model: that computes; here or elsewhere, of either kind.
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
    """Runs that remember what they computed, for as long as they live."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._results: dict[Run[Any], Any] = {}

    def get(self, run: Run[Result]) -> Result:
        if run not in self._results:
            self._results[run] = super().get(run)
        return self._results[run]
