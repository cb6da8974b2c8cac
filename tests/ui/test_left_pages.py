"""Tests that leaving a page ends its computation and frees the model for other users."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest

from pages.ui.runs import inference
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.shared import SharedResults
from tests.model_server import model_server
from transformer.ablation.effect import EffectRun
from transformer.ablation.importance import ImportanceRun
from transformer.attribution.attribution import Target
from transformer.checkpoints.checkpoint import load_language_model
from transformer.language_modelling.runs import TextContinuationRun
from transformer.running.runs.attribution import AttributionRun, DeletionRun
from transformer.running.runs.trace import TraceRun
from transformer.running.runs.translation import DecodingRun, TranslationRun
from transformer.serving.client import RemoteTranslator
from transformer.serving.service import Service
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions

BEAM = DecodingSettings("beam", beam_size=2)
OFF = Interventions(gates={("cross", 0, 0): 0.0})


def page(decode):
    # AppTest runs the source of this function alone, without the imports of this file.
    import streamlit as st

    decode()
    st.write("decoded")


DOG, FIRST = TraceRun("A dog."), Target((0,))
LEFT = (
    TraceRun("A dog.", interventions=OFF),
    AttributionRun(DOG, "erasure", (FIRST,)),
    TextContinuationRun("A dog", BEAM, 9),
    # These runs are marked as thorough, because tests/unit/test_cancellation.py already cancels each of them without a
    # page.
    *(
        pytest.param(run, marks=pytest.mark.thorough)
        for run in (
            TranslationRun("A dog.", BEAM),
            DecodingRun("A dog.", BEAM),
            ImportanceRun(DOG, "zero"),
            EffectRun(DOG, OFF),
            AttributionRun(DOG, "frozen_gradient", (FIRST,)),
            AttributionRun(DOG, "integrated_gradients", (FIRST,)),
            DeletionRun(AttributionRun(DOG, "weights", (FIRST,)), (0, 1)),
        )
    ),
)


@pytest.mark.parametrize("run", LEFT, ids=lambda run: f"{type(run).__name__} {getattr(run, 'method', '')}")
def test_model_run_is_cancelled_when_the_user_leaves_the_page(
    small_translator, tiny_language_model: Path, monkeypatch, run
):
    of_text = isinstance(run, TextContinuationRun)
    runs = CachedRuns(load_language_model(tiny_language_model, "cpu") if of_text else small_translator)
    compute = type(run).compute

    def left_meanwhile(*args: Any) -> object:
        context = get_script_run_ctx()
        assert context is not None and context.script_requests is not None
        context.script_requests.request_stop()
        found = compute(*args)
        decoded.append(found)
        return found

    decoded: list[object] = []
    inference.RUNS.clear()
    with monkeypatch.context() as patched:
        patched.setattr(type(run), "compute", left_meanwhile)
        test = AppTest.from_function(page, args=(lambda: runs.get(run),)).run()
        assert not test.exception and not test.markdown and not decoded
    assert not inference.MODEL_LOCK._queue and not inference.LONG_RUNS._queue
    again = AppTest.from_function(page, args=(lambda: runs.get(run),)).run()
    assert [each.value for each in again.markdown] == ["decoded"]


@pytest.mark.parametrize("run", [TranslationRun("A dog.", BEAM), DOG], ids=lambda run: type(run).__name__)
def test_leaving_a_page_does_not_wait_for_the_model_server(small_translator, model_folder: Path, run):
    go_on = threading.Event()
    asked, answered = [], []

    class Slow(Service):
        def answer(self, run, between_steps=None):
            asked.append(run)
            go_on.wait(20)
            answered.append(run)
            return super().answer(run, between_steps)

    def leave() -> None:
        context = get_script_run_ctx()
        assert context is not None and context.script_requests is not None
        context.script_requests.request_stop()
        CachedRuns(remote).get(run)

    inference.RUNS.clear()
    with model_server(Slow(small_translator)) as address:
        remote = RemoteTranslator(address, model_folder, "cpu")
        test = AppTest.from_function(page, args=(leave,), default_timeout=30).run()
        ended = list(answered)
        go_on.set()
        assert not test.exception and not test.markdown and asked == [run] and not ended


def test_user_who_leaves_a_page_stops_waiting_for_a_result_that_another_user_requested():
    shared, began, enough = SharedResults(1_000), threading.Event(), threading.Event()

    @shared.remember()
    def slow() -> str:
        began.set()
        assert enough.wait(60)
        return "found"

    def leave() -> None:
        context = get_script_run_ctx()
        assert context is not None and context.script_requests is not None
        context.script_requests.request_stop()
        slow()

    with ThreadPoolExecutor(1) as somebody_else:
        found = somebody_else.submit(slow)
        assert began.wait(60)
        try:
            test = AppTest.from_function(page, args=(leave,), default_timeout=30).run()
        finally:
            enough.set()
        assert not test.exception and not test.markdown
        assert found.result(60) == "found"
    assert slow() == "found"
