"""The JupyterLab widget in an environment without torch, Streamlit and a network."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from venv import EnvBuilder

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE, ROOT

# JupyterLab is a large installation.
pytestmark = pytest.mark.install(nightly=True)

PROGRAMS = "Scripts" if sys.platform == "win32" else "bin"
CELLS = (
    """import numpy as np
import attention_atlas

weights = np.full((4, 6, 5, 5), 0.2)
trace = attention_atlas.Trace.from_attention(
    encoder=weights, cross=weights, source_tokens="▁The ▁old ▁man ▁slept </s>".split(),
    target_tokens="<pad> ▁Der ▁alte ▁Mann ▁schlief".split(),
)
browser = attention_atlas.Browser(trace, kind="cross", layer=0, head=5)
browser""",
    "print('chosen:', browser.kind, browser.layer, browser.head, browser.rows, browser.columns)",
    "browser.layer, browser.head, browser.rows = 2, 3, [4]",
)


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a notebook with CELLS in JupyterLab."""
    environment, work = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("work")
    EnvBuilder(with_pip=True).create(environment)
    programs = environment / PROGRAMS
    wanted = [f"{ROOT}[widget]", "jupyterlab>=4.4,<5"]
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *wanted], check=True)
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None, "id": f"c{at}"}
        for at, source in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (work / "look.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [programs / "jupyter-lab", "--no-browser", f"--port={port}", "--IdentityProvider.token=", "--allow-root",
         f"--ServerApp.root_dir={work}"], cwd=work, env={**os.environ, "PATH": path},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(PATIENCE // 1000):
            try:
                urllib.request.urlopen(f"http://localhost:{port}/api", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, "JupyterLab ended at its start"
                time.sleep(1)
        yield f"http://localhost:{port}/lab/tree/look.ipynb"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def page(browser: Browser, laboratory: str) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(laboratory)
    # The kernel is ready.
    expect(page.locator(".jp-NotebookPanel-toolbar [data-status=idle]").first).to_be_visible()
    yield page
    page.close()


def run(page: Page, cell: int) -> None:
    page.locator(".jp-Notebook .jp-InputArea-editor").nth(cell).click()
    page.keyboard.press("Shift+Enter")


def test_python_and_the_browser_exchange_state(page):
    outside = []
    page.on("request", lambda request: outside.append(request.url) if "localhost" not in request.url else None)
    run(page, 0)
    atlas = page.locator(".atlas")
    expect(page.locator(".atlas[data-drawn$=' 1 6']")).to_be_visible()
    atlas.locator("select").first.select_option(label="2")
    # The browser reports a choice after a short rest, as for a user who then runs the next cell.
    page.wait_for_timeout(2_000)
    run(page, 1)
    expect(page.get_by_text("chosen: cross 1 5 [] []")).to_be_visible()
    run(page, 2)
    expect(page.locator(".atlas[data-drawn$=' 3 4']")).to_be_visible()
    page.get_by_role("button", name="Encoder attention").click()
    expect(page.locator(".atlas[data-drawn^='encoder ']")).to_be_visible()
    assert [url for url in outside if not url.startswith(("data:", "blob:"))] == []


def test_theme_follows_the_notebook(page: Page):
    run(page, 0)
    atlas = page.locator(".atlas[data-drawn]")
    expect(atlas).to_have_css("color", "rgb(15, 23, 42)")
    page.evaluate("document.body.style.setProperty('--jp-layout-color0', '#111')")
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    expect(atlas).to_have_css("color", "rgb(238, 242, 248)")
