import gc
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest
import torch

from pages.ui.long_texts.models import LOADED, small_model
from pages.ui.runs import inference, turns
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.models import LOADING_LOCK, MODELS, load_language, load_translator
from pages.ui.runs.script_runs import SCRIPT_RUNS
from transformer.ablation.effect import Effect, EffectRun
from transformer.ablation.importance import ImportanceRun
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.errors import TextError
from transformer.running.runs.attribution import AttributionRun
from transformer.running.runs.metrics import MetricsRun
from transformer.running.runs.scores import ScoresRun
from transformer.running.runs.trace import TraceRun
from transformer.running.runs.translation import DecodingRun, TranslationRun
from transformer.running.translator import Translator
from transformer.values.cancellation import cancellable, check_cancelled
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions
from transformer.values.run import Run
from transformer.values.trace import KINDS, Trace
from transformer.values.translation import TracedTranslation

# Timeout in seconds, longer than any run. With a timeout, a lock that is never released fails the test instead of
# hanging it.
PATIENCE = 60


class Watch:
    """Records how many threads run a translator at the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.most = 0
        self.calls: Counter[str] = Counter()
        # The delay is long enough for another thread to start a run too.
        self.seconds = 0.02

    def over(self, run: Callable) -> Callable:
        def noted(*args: object, **settings: object) -> object:
            with self.lock:
                self.calls[run.__name__] += 1
                self.running.add(threading.get_ident())
                self.most = max(self.most, len(self.running))
            try:
                time.sleep(self.seconds)
                return run(*args, **settings)
            finally:
                with self.lock:
                    self.running.discard(threading.get_ident())

        return noted


numbers = itertools.count()


@pytest.fixture
def watch(monkeypatch) -> Watch:
    watch = Watch()
    for name in ("answer", "trace_together"):
        monkeypatch.setattr(Translator, name, watch.over(getattr(Translator, name)))
    return watch


@pytest.fixture
def model(model_folder) -> Translator:
    # The version is unique, because the cache outlives the test.
    return Translator(load_checkpoint(model_folder), device="cpu", version=f"watched {next(numbers)}")


BARE = Interventions(decoder_mask=False)


def asked(text: str) -> list[Run[Any]]:
    """Return different runs that a page may request for a text."""
    return [
        TraceRun(text),
        TraceRun(text, "Ein Hund."),
        TraceRun(text, details=True, interventions=BARE),
        TraceRun(text, "Ein Hund.", True, BARE),
        TraceRun(text, interventions=BARE),
        MetricsRun(TraceRun(text, "Ein Hund."), "cross"),
        DecodingRun(text),
        TranslationRun(text),
    ]


def test_model_runs_of_several_users_never_overlap(model, watch, monkeypatch):
    # With the usual time slice, a run on a busy machine might exceed it and let other runs go first.
    monkeypatch.setattr(turns, "TIME_SLICE", PATIENCE)
    texts = ["A dog.", "The old man reads a book."]
    with ThreadPoolExecutor(max_workers=8) as people:
        answers: list[Future] = [people.submit(CachedRuns(model).get, run) for text in texts for run in asked(text)]
        found = [answer.result(timeout=PATIENCE) for answer in answers]
    assert len(found) == 16 and all(each is not None for each in found)
    assert watch.most == 1


def test_failed_model_run_does_not_block_the_next_run(model):
    runs = CachedRuns(model)
    for run in asked(" "):
        with pytest.raises(TextError):
            runs.get(run)
    with ThreadPoolExecutor(max_workers=1) as somebody_else:
        trace = somebody_else.submit(runs.get, TraceRun("A dog.")).result(timeout=PATIENCE)
    assert trace.source_text == "A dog."


def test_many_concurrent_users_each_get_their_own_answer(model, watch):
    """Answers are bitwise identical to those of single requests. Only users with an empty text get an error."""
    texts = [f"{'old ' * (number % 5)}{number}." if number % 9 else " " for number in range(50)]
    arrived = threading.Barrier(len(texts))

    def ask(text: str) -> Trace | TextError:
        arrived.wait(PATIENCE)
        try:
            return CachedRuns(model).get(TraceRun(text))
        except TextError as error:
            return error

    with ThreadPoolExecutor(max_workers=len(texts)) as people:
        answers = list(people.map(ask, texts, timeout=PATIENCE))
    assert watch.most == 1
    # Most users wait during the previous run, so their requests are batched.
    assert watch.calls["trace_together"] < len(texts) / 2
    watch.seconds = 0
    for text, answer in zip(texts, answers, strict=True):
        if not text.strip():
            assert isinstance(answer, TextError)
            continue
        alone = model.trace(text)
        assert isinstance(answer, Trace) and answer.source_text == text
        assert answer.predicted_tokens == alone.predicted_tokens and answer.target_text == alone.target_text
        for kind in KINDS:
            assert np.array_equal(answer.attention(kind), alone.attention(kind))
        assert np.array_equal(answer.log_probs, alone.log_probs)


ONE_OFF = Interventions(gates={("cross", 0, 0): 0.0})
OTHER = TraceRun("The old man reads a book.")


@pytest.mark.parametrize(
    "run",
    [
        AttributionRun(TraceRun("A dog."), "rollout"),
        ScoresRun("A dog.", None, (ONE_OFF,)),
        ImportanceRun(TraceRun("A dog."), "zero"),
    ],
    ids=lambda run: type(run).__name__,
)
def test_translation_does_not_wait_for_a_long_run(model, monkeypatch, run):
    begun, ends = threading.Event(), threading.Event()
    compute = type(run).compute

    def lasting(*args: Any) -> object:
        begun.set()
        assert ends.wait(PATIENCE)
        return compute(*args)

    monkeypatch.setattr(type(run), "compute", lasting)
    runs = CachedRuns(model)
    with ThreadPoolExecutor(max_workers=2) as people:
        long = people.submit(runs.get, run)
        assert begun.wait(PATIENCE)
        try:
            trace = people.submit(runs.get, OTHER).result(timeout=PATIENCE)
        finally:
            ends.set()
        assert trace.source_text == OTHER.text and long.result(timeout=PATIENCE) is not None


@pytest.mark.parametrize(
    "run",
    [
        TranslationRun("A dog."),
        DecodingRun("A dog.", DecodingSettings("beam")),
        EffectRun(TraceRun("A dog."), ONE_OFF, 1),
    ],
    ids=lambda run: type(run).__name__,
)
def test_long_model_run_yields_to_other_requests(model, monkeypatch, run):
    """Yielding between two steps does not change the result."""
    monkeypatch.setattr(turns, "TIME_SLICE", 0.0)
    kind, runs = type(run), CachedRuns(model)
    compute = kind.compute
    order: list[str] = []
    others: list[Future] = []

    def crossed(*args: Any) -> object:
        own = copy_context()

        def step() -> None:
            if not others:
                others.append(people.submit(runs.get, OTHER))
                while len(inference.MODEL_LOCK._queue) < 2:
                    time.sleep(0.001)
            own.run(check_cancelled)

        with cancellable(step):
            found = compute(*args)
        order.append("run")
        return found

    def noted(*args: Any) -> None:
        together(*args)
        order.append("other")

    together = Translator.trace_together
    monkeypatch.setattr(Translator, "trace_together", noted)
    monkeypatch.setattr(kind, "compute", crossed)
    with ThreadPoolExecutor(max_workers=2) as people:
        found = people.submit(runs.get, run).result(PATIENCE)
        assert others[0].result(PATIENCE).source_text == OTHER.text
    assert order == ["other", "run"]
    monkeypatch.setattr(kind, "compute", compute)
    inference.RUNS.clear()
    assert text_of(runs.get(run)) == text_of(found)


def text_of(found: Any) -> str:
    """Return the translation in the result of a run."""
    if isinstance(found, Effect):
        return found.free.target_text
    return found.translation.text if isinstance(found, TracedTranslation) else found.text


def test_equivalent_trace_requests_are_computed_once(model, model_folder):
    """Equivalent requests share a trace, but another model has its own trace."""
    run, runs = TraceRun("A dog."), CachedRuns(model)
    first = runs.get(run)
    twin = CachedRuns(Translator(load_checkpoint(model_folder), device="cpu", version=model.version))
    assert twin.get(TraceRun("A dog.", None, False, Interventions())) is first
    assert runs.get(MetricsRun(run, "cross")) is twin.get(MetricsRun(run, "cross"))
    assert runs.get(TraceRun("A dog.", interventions=BARE)) is not first
    other = CachedRuns(Translator(load_checkpoint(model_folder), device="cpu", version=f"watched {next(numbers)}"))
    assert other.get(run) is not first


@pytest.mark.parametrize("kind", ["language model", pytest.param("model of long texts", marks=pytest.mark.thorough)])
def test_pages_are_rendered_while_a_model_loads(tiny_language_model, kind):
    MODELS.clear()
    LOADED.clear()
    begun = threading.Event()

    def opens() -> object:
        with SCRIPT_RUNS:
            begun.set()
            if kind == "language model":
                return load_language("cpu", tiny_language_model)
            return small_model("full")

    def draws() -> bool:
        with SCRIPT_RUNS:
            return True

    with ThreadPoolExecutor(max_workers=2) as people:
        with LOADING_LOCK:
            loaded = people.submit(opens)
            assert begun.wait(PATIENCE)
            assert people.submit(draws).result(timeout=PATIENCE) and not loaded.done()
        assert loaded.result(timeout=PATIENCE) is not None


@pytest.mark.thorough
def test_loaded_model_uses_one_thread_and_is_exempt_from_garbage_collection():
    MODELS.clear()
    gc.unfreeze()
    torch.set_num_threads(2)
    try:
        load_translator("cpu")
        assert torch.get_num_threads() == 1
        # All modules and parameters are frozen. Session objects are not, because they are created later.
        assert gc.get_freeze_count() > 100_000
    finally:
        # Restore the global state for the other tests.
        gc.freeze()
        torch.set_num_threads(1)
