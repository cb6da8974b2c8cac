"""What is computed for a page ends when the page is left, and the model is free for others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest

from pages.ui.runs import inference, language_runs
from pages.ui.runs.shared import SharedResults
from tests.model_server import model_server
from transformer.attribution.attribution import Method, Target
from transformer.checkpoints.checkpoint import load_language_model
from transformer.running.translator import Translator
from transformer.serving.client import RemoteTranslator
from transformer.serving.service import Service
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions

BEAM = DecodingSettings("beam", beam_size=2)
OFF = Interventions(gates={("cross", 0, 0): 0.0})


def page(decode):
    # It runs by itself, without what this file imports.
    import streamlit as st

    decode()
    st.write("decoded")


# The method of attribution after the name, where there is one.
@pytest.mark.parametrize("run_of", [
    "translate", "trace", "trace_decoding", "score", "effect_of", "trace_continuation", "attribute erasure",
    "attribute frozen_gradient", "attribute integrated_gradients", "deletion_curves",
])
def test_a_run_ends_when_its_page_is_left(small_translator, tiny_language_model: Path, monkeypatch, run_of):
    loaded = load_language_model(tiny_language_model, "cpu")
    name, _, method = run_of.partition(" ")
    first = Target((0,))
    decode = {
        "attribute": lambda: inference.attribution(
            small_translator, "A dog.", "", cast("Method", method), (first,), False
        ),
        "deletion_curves": lambda: inference.deletion_curves(
            small_translator, "A dog.", "", "weights", first, False, (0, 1)
        ),
        "translate": lambda: inference.translate(small_translator, "A dog.", BEAM),
        "trace": lambda: inference.trace(small_translator, "A dog.", "", OFF),
        "trace_decoding": lambda: inference.trace_decoding(small_translator, "A dog.", BEAM, (), frozenset()),
        "score": lambda: inference.importance(small_translator, "A dog.", "", "zero", 0, 1),
        "effect_of": lambda: inference.effect(small_translator, "A dog.", "", OFF, 1),
        "trace_continuation": lambda: language_runs.trace_continuation(loaded, "A dog", BEAM, 9, (), frozenset()),
    }[name]
    place, attribute = {
        "trace_continuation": (language_runs, "continue_and_trace"), "effect_of": (inference, name),
    }.get(name, (Translator, name))
    run = getattr(place, attribute)

    def left_meanwhile(*args: object, **settings: object) -> object:
        context = get_script_run_ctx()
        assert context is not None and context.script_requests is not None
        context.script_requests.request_stop()
        found = run(*args, **settings)
        decoded.append(found)
        return found

    decoded: list[object] = []
    inference.RUNS.clear()
    with monkeypatch.context() as patched:
        patched.setattr(place, attribute, left_meanwhile)
        test = AppTest.from_function(page, args=(decode,)).run()
        assert not test.exception and not test.markdown and not decoded
    assert not inference.MODEL_LOCK._queue and not inference.LONG_RUNS._queue
    assert [each.value for each in AppTest.from_function(page, args=(decode,)).run().markdown] == ["decoded"]


@pytest.mark.parametrize("run", ["translate", "trace"])
def test_a_page_that_is_left_does_not_wait_for_a_models_server(small_translator, model_folder: Path, run):
    go_on = threading.Event()
    asked, answered = [], []

    class Slow(Service):
        def answer(self, request, between_steps=None):
            asked.append(request.run)
            go_on.wait(20)
            answered.append(request.run)
            return super().answer(request, between_steps)

    def leave() -> None:
        context = get_script_run_ctx()
        assert context is not None and context.script_requests is not None
        context.script_requests.request_stop()
        if run == "trace":
            inference.trace(remote, "A dog.")
        else:
            inference.translate(remote, "A dog.", BEAM)

    inference.RUNS.clear()
    with model_server(Slow(small_translator)) as address:
        remote = RemoteTranslator(address, model_folder, "cpu")
        test = AppTest.from_function(page, args=(leave,), default_timeout=30).run()
        ended = list(answered)
        go_on.set()
        assert not test.exception and not test.markdown and asked == [run] and not ended


def test_a_page_that_is_left_waits_for_nobody_elses_result():
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
