"""Tests of the app with a model server: pages work as with a local model, and an unreachable server is reported."""

from collections.abc import Iterator

import pytest

from pages.ui.runs.inference import RUNS
from pages.ui.runs.models import MODELS
from tests.model_server import model_server
from tests.ui.driver import DREAM, healthy, opened, submit, texts, unescaped
from transformer.running.translator import Translator
from transformer.serving.client import SERVER_VARIABLE
from transformer.serving.service import Service

DREAMED = "Ich habe einen Traum"


@pytest.fixture(autouse=True)
def empty_caches() -> Iterator[None]:
    """Clear the shared caches before and after the test."""
    for shared in (MODELS, RUNS):
        shared.clear()
    yield
    for shared in (MODELS, RUNS):
        shared.clear()


@pytest.fixture
def asked() -> list[str]:
    """Return the list to which the service adds the name of each model run that it executes."""
    return []


@pytest.fixture
def service(shipped: Translator, asked: list[str]) -> Service:
    class Noting(Service):
        def answer(self, run, between_steps=None):
            asked.append(type(run).__name__)
            return super().answer(run, between_steps)

    return Noting(shipped)


@pytest.mark.parametrize(
    ("page", "runs"),
    [
        ("pages/decoding.py", {"TraceRun", "DecodingRun"}),
        *(
            pytest.param(f"pages/{page}.py", {"TraceRun"}, marks=pytest.mark.thorough)
            for page in ("cross_attention", "switch_heads_off", "inside_a_layer", "what_mattered")
        ),
    ],
)
def test_pages_show_the_results_of_the_model_server(monkeypatch, service, asked, page, runs):
    with model_server(service) as address:
        monkeypatch.setenv(SERVER_VARIABLE, address)
        test = opened(page, text=DREAM)
        assert healthy(test)
    assert set(asked) >= runs


@pytest.mark.thorough
def test_unreachable_model_server_is_reported_until_it_returns(monkeypatch, service):
    with model_server(service) as address:
        monkeypatch.setenv(SERVER_VARIABLE, address)
        test = opened(text=DREAM)
        assert healthy(test) and "on the CPU of the model server" in texts(test)
    submit(test, "A new sentence.")
    (error,) = test.error
    assert "does not answer" in error.value and not test.exception
    assert not test.warning, "another sentence would not help, and none is offered"
    # A cached result needs no server.
    submit(test, DREAM)
    assert not test.error and DREAMED in unescaped(test)
    # This page requests a model run that is not cached.
    test.switch_page("pages/inside_a_layer.py").run()
    assert len(test.error) == 1 and not test.exception
    with model_server(service, int(address.rpartition(":")[2])):
        test.run()
        assert healthy(test)
        submit(test, "A new sentence.")
        assert healthy(test)


def test_nonexistent_model_server_is_reported_in_one_line(monkeypatch):
    monkeypatch.setenv(SERVER_VARIABLE, "http://127.0.0.1:1")
    test = opened()
    (error,) = test.error
    assert "does not answer" in error.value and not test.exception
