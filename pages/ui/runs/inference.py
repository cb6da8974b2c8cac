"""Runs of the model, computed once and shared by all users who request the same run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from pages.ui.runs.script_runs import SCRIPT_RUNS
from pages.ui.runs.shared import SharedResults, end_if_left, place_shown
from pages.ui.runs.turns import Turns
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.running.remembered_runs import ModelRuns
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.serving.client import RemoteTranslator
from transformer.values.cancellation import cancellable
from transformer.values.run import Result, Run
from transformer.values.weights import Weights

MODEL_LOCK = Turns(show_place=place_shown, meanwhile=SCRIPT_RUNS)
# Runs that take seconds for a long sentence have turns of their own, so that they do not delay a translation.
LONG_RUNS = Turns(show_place=place_shown, meanwhile=SCRIPT_RUNS)
# Room for hundreds of usual sentences, or for five at the limit on length with everything that is recorded of them.
RUNS = SharedResults(limit=160 * 2**20, waiting=SCRIPT_RUNS.given_up)
# On the CPU they share the model's own memory, so they are dropped together with the model.
WEIGHTS: WeakKeyDictionary[Translator | LanguageModel, Weights] = WeakKeyDictionary()


@contextmanager
def turn(turns: Turns = MODEL_LOCK) -> Iterator[None]:
    """A turn at a model of this process, for one run.

    Between two of its steps, the run ends if the user left its page, and lets others go first if it takes long.
    """

    def between_steps() -> None:
        end_if_left()
        turns.make_way()

    with turns, cancellable(between_steps):
        yield


@contextmanager
def elsewhere() -> Iterator[None]:
    """Wait while a server computes a run; the run ends if the user left its page."""
    with SCRIPT_RUNS.given_up(), cancellable(end_if_left):
        yield


class CachedRuns(ModelRuns):
    """Runs of a model that all sessions share: each is computed once, in a turn at the model.

    Plain traces that wait at the same time are computed together. If a server runs the model, it gives the turns there,
    and other runs continue here meanwhile.
    """

    def __init__(self, model: Translator | LanguageModel) -> None:
        super().__init__(model)
        # A model gives the same results as another one with the same weights on the same device.
        self.identity = model.version, model.device

    def weights(self) -> Weights:
        """Return the model's parameters, which are read-only."""
        found = WEIGHTS.get(self.model)
        if found is None:
            # If two threads create them at once, one result is kept.
            found = WEIGHTS.setdefault(self.model, self.model.weights())
        return found

    def get(self, run: Run[Result]) -> Result:
        return RUNS.get((*self.identity, run), lambda: super(CachedRuns, self).get(run), run.message)

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        if run.uses == "results":
            return super().answer(run, *needed)
        remote = isinstance(self.model, RemoteTranslator)
        if isinstance(run, TraceRun) and run.plain and not remote:
            # A full lecture hall requests many plain traces at once.
            return MODEL_LOCK.together(self.identity, run.text, self.model.trace_together)
        with elsewhere() if remote and run.uses == "model" else turn(LONG_RUNS if run.long else MODEL_LOCK):
            return self.model.answer(run, *needed)
