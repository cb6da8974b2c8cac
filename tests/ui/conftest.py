"""Fixtures for AppTest. A logged warning fails the test."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
import torch
from streamlit.components.v2 import manifest_scanner
from streamlit.elements.lib import policies
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner

from pages.ui.runs import models
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.transformer import build
from transformer.running.translator import Translator

# Warning that Streamlit logs in every script run without a server.
BARE = "missing ScriptRunContext"


@pytest.fixture(scope="session", autouse=True)
def components_searched_once() -> Iterator[None]:
    """Search the installed packages for Streamlit components only once. A search takes longer than running a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


class PagesOfAServer(PagesManager):
    """Replaces PagesManager in AppTest, which resets a class attribute that the app's own menu needs."""


@pytest.fixture(scope="session", autouse=True)
def scripts_compiled_once() -> Iterator[None]:
    """Compile the app and its pages once. All pages run in app.py, as they do on a server after its first user."""
    with pytest.MonkeyPatch.context() as patch:
        scripts = ScriptCache()
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: scripts)
        patch.setattr(app_test, "PagesManager", PagesOfAServer)
        yield


def end_of_run(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
    """Wait until the page's script has ended; replaces Streamlit's `require_widgets_deltas`, which polls."""
    thread = runner._script_thread
    assert thread is not None
    thread.join(timeout)
    if thread.is_alive():
        runner.request_stop()
        raise RuntimeError(f"the page has not ended after {timeout} seconds")


@pytest.fixture(scope="session", autouse=True)
def no_polling() -> Iterator[None]:
    """Wait for page scripts without polling. AppTest polls a thousand times per second, which slows the script down."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", end_of_run)
        yield


@pytest.fixture(scope="session")
def narrow(shipped: Translator) -> Translator:
    """Return a model with the shipped model's layers, heads and vocabulary, but a smaller width.

    Pages show as many maps, heads and words as with the shipped model, but need a tenth of the computation. The
    weights are perturbed, so that attention is not uniform.
    """
    torch.manual_seed(5)
    model = build(replace(shipped.config, d_model=96, d_ff=48)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter += (0.3 if parameter.ndim == 1 else 0.02) * torch.randn_like(parameter)
    return Translator(Checkpoint(model, shipped.tokenizer), device="cpu", version="narrow")


@pytest.fixture
def narrow_app(monkeypatch: pytest.MonkeyPatch, narrow: Translator) -> Translator:
    """Use the narrow model in the app, to test behaviour that does not depend on the model."""
    monkeypatch.setattr(models, "load_translator", lambda device, folder: narrow)
    return narrow


@pytest.fixture(autouse=True)
def log_without_warnings(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Streamlit warns only once per process about a widget with two initial values. Reset its flag, so that every test
    # that causes the warning fails.
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    yield
    warned = [
        record.getMessage()
        for when in ("setup", "call")
        for record in caplog.get_records(when)
        if record.levelno >= logging.WARNING and BARE not in record.getMessage()
    ]
    assert warned == []
