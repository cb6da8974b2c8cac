"""Model runs, each computed once and shared by all users who request it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from pages.ui.runs.script_runs import SCRIPT_RUNS
from pages.ui.runs.shared import SharedResults, end_if_left, place_shown, show_progress
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
# Runs that take seconds for a long sentence have a separate queue, so that they do not delay translations.
LONG_RUNS = Turns(show_place=place_shown, meanwhile=SCRIPT_RUNS)
# The limit in bytes is enough for the results of hundreds of typical sentences, or of five sentences of maximum length
# with all intermediate values.
RUNS = SharedResults(limit=160 * 2**20, waiting=SCRIPT_RUNS.released)
# Each model's weights as arrays. They are dropped together with the model, because on the CPU they share its memory.
WEIGHTS: WeakKeyDictionary[Translator | LanguageModel, Weights] = WeakKeyDictionary()


@contextmanager
def model_turn(turns: Turns = MODEL_LOCK) -> Iterator[None]:
    """Context manager for a model run in this process: waits for a turn, and holds it during the run.

    Between steps, the run ends if the user has left the page, and a long run lets waiting runs go first.
    """

    def between_steps() -> None:
        end_if_left()
        turns.yield_turn()

    with turns, cancellable(between_steps, show_progress):
        yield


@contextmanager
def server_run() -> Iterator[None]:
    """Context manager for a model run on the model server; the run ends if the user leaves the page."""
    with SCRIPT_RUNS.released(), cancellable(end_if_left):
        yield


class CachedRuns(ModelRuns):
    """A model's runs, shared by all sessions; each run waits for its turn and is computed only once.

    Waiting requests for traces are computed as one batch if they specify only a sentence: no translation, no
    interventions, no intermediate values. A model server has its own queue; while it computes, this process goes on.
    """

    def __init__(self, model: Translator | LanguageModel) -> None:
        super().__init__(model)
        # Models with equal weights on the same device give the same results, so they share cache entries.
        self.identity = model.version, model.device

    def weights(self) -> Weights:
        """Return the model's parameters as read-only arrays."""
        weights = WEIGHTS.get(self.model)
        if weights is None:
            # If two threads get here at the same time, both use the result that is stored first.
            weights = WEIGHTS.setdefault(self.model, self.model.weights())
        return weights

    def get(self, run: Run[Result]) -> Result:
        return RUNS.get((*self.identity, run), lambda: super(CachedRuns, self).get(run), run.message)

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        if run.uses == "results":
            return super().answer(run, *needed)
        remote = isinstance(self.model, RemoteTranslator)
        if isinstance(run, TraceRun) and run.plain and not remote:
            # Batch these traces, because many users request them at the same time in a lecture.
            return MODEL_LOCK.together(self.identity, run.text, self.model.trace_together)
        with server_run() if remote and run.uses == "model" else model_turn(LONG_RUNS if run.long else MODEL_LOCK):
            return self.model.answer(run, *needed)
