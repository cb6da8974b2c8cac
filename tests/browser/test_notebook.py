"""Tests of the widget in JupyterLab, Notebook 7 and marimo, in an environment without torch, Streamlit or a network."""

import base64
import json
import os
import re
import socket
import subprocess
import textwrap
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE, ROOT
from tests.browser.environment import programs_of_environment

# JupyterLab and marimo are large, so these tests run only at night.
pytestmark = pytest.mark.install(nightly=True)

TRACE = """import numpy as np
import attention_atlas

weights = np.full((4, 6, 5, 5), 0.2)
trace = attention_atlas.Trace.from_attention(
    encoder=weights, cross=weights, source_tokens="▁The ▁old ▁man ▁slept </s>".split(),
    target_tokens="<pad> ▁Der ▁alte ▁Mann ▁schlief".split(),
)
browser = attention_atlas.Browser(trace, kind="cross", layer=0, head=5)
browser"""
CHOSEN = 'f"chosen: {browser.kind} {browser.layer} {browser.head} {browser.rows} {browser.columns}"'
# Notebook cells. The last one changes the widget's choice from Python.
CELLS = (TRACE, CHOSEN, "browser.layer, browser.head, browser.rows = 2, 3, [4]")
MARIMO = f"""import marimo

app = marimo.App()


@app.cell
def _():
{textwrap.indent(TRACE.removesuffix("browser"), "    ")}    import marimo as mo
    chosen = mo.ui.anywidget(browser)
    chosen
    return browser, chosen, mo


@app.cell
def _(chosen):
    {CHOSEN.replace("browser", "chosen")}


@app.cell
def _(browser, mo):
    mo.ui.button(label="Python chooses", on_click=lambda _: browser.set_trait("layer", 2))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the notebook servers in a new environment, and return the folder of its executables."""
    wanted = [f"{ROOT}[widget]", "jupyterlab>=4.4,<5", "notebook>=7.4,<8", "marimo>=0.20,<0.30"]
    return programs_of_environment(tmp_path_factory, *wanted)


@contextmanager
def serving(programs: Path, work: Path, command: Callable[[int], Sequence[str]], health: str) -> Iterator[str]:
    """Run a notebook server on a free port, and yield the server's URL.

    Args:
        programs: folder of the server's executable.
        work: folder of the notebook.
        command: returns the command line for a port.
        health: URL path that responds once the server is ready.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program, *options = command(port)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [programs / program, *options],
        cwd=work,
        env={**os.environ, "PATH": path, "HOME": str(work)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(PATIENCE // 1000):
            try:
                urllib.request.urlopen(f"http://localhost:{port}{health}", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, f"{program} exited during startup"
                time.sleep(1)
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None, "id": f"c{at}"}
        for at, source in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = tmp_path_factory.mktemp("work") / "look.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    return path


@pytest.fixture(scope="module")
def jupyter(programs: Path, notebook: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the notebook's URL in JupyterLab, or in the application given by the fixture's parameter."""
    program = getattr(request, "param", "jupyter-lab")
    with serving(
        programs,
        notebook.parent,
        lambda port: [
            program,
            "--no-browser",
            f"--port={port}",
            "--IdentityProvider.token=",
            "--allow-root",
            f"--ServerApp.root_dir={notebook.parent}",
        ],
        "/api",
    ) as address:
        yield f"{address}/{'lab/tree' if program == 'jupyter-lab' else 'notebooks'}/{notebook.name}"


@pytest.fixture(scope="module")
def marimo(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a marimo notebook in dark mode."""
    work = tmp_path_factory.mktemp("marimo")
    (work / "look.py").write_text(MARIMO, encoding="utf-8")
    (work / "pyproject.toml").write_text('[tool.marimo.display]\ntheme = "dark"\n')
    with serving(
        programs,
        work,
        lambda port: ["marimo", "run", "look.py", "--headless", "--no-token", f"--port={port}"],
        "/health",
    ) as address:
        yield address


@contextmanager
def offline(browser: Browser, address: str) -> Iterator[Page]:
    """Open a page; any request to another machine fails the test."""
    outside = []
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.on("request", lambda request: outside.append(request.url))
    page.goto(address)
    yield page
    page.close()
    assert [url for url in outside if not url.startswith(("http://localhost", "data:", "blob:"))] == []


@pytest.fixture
def page(browser: Browser, jupyter: str) -> Iterator[Page]:
    with offline(browser, jupyter) as page:
        # Wait for the kernel. In JupyterLab, wait for the status bar, because the indicator shows "idle" too early.
        idle = page.get_by_text("Python 3 (ipykernel) | Idle")
        if "/lab/" not in jupyter:
            idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
        expect(idle).to_be_visible()
        yield page


def run(page: Page, cell: int) -> None:
    page.locator(".jp-Notebook .jp-InputArea-editor").nth(cell).click()
    page.keyboard.press("Shift+Enter")


def choose_by_hand(page: Page) -> None:
    """Choose layer 2 in the select box, press a key to choose the previous head, and pin a cell."""
    expect(page.locator(".atlas[data-drawn$=' 1 6']")).to_be_visible()
    atlas = page.locator(".atlas")
    atlas.locator("select").first.select_option(label="2")
    atlas.locator("canvas.large").focus()
    page.keyboard.press(",")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".atlas[data-drawn$=' 2 5']")).to_be_visible()


@pytest.mark.parametrize("jupyter", ["jupyter-lab", "jupyter-notebook"], indirect=True)
def test_widget_state_is_synchronised_between_python_and_jupyter(page):
    run(page, 0)
    choose_by_hand(page)
    # The browser reports a choice with a short delay, so wait before running the next cell.
    page.wait_for_timeout(2_000)
    run(page, 1)
    expect(page.get_by_text(re.compile(r"^'chosen: cross 1 4 \[\d\] \[\d\]'$"))).to_be_visible()
    run(page, 2)
    expect(page.locator(".atlas[data-drawn$=' 3 4']")).to_be_visible()
    page.get_by_role("button", name="Encoder attention").click()
    expect(page.locator(".atlas[data-drawn^='encoder ']")).to_be_visible()


def test_keys_in_the_widget_trigger_no_notebook_command(page):
    """In JupyterLab, the "m" key turns a code cell into Markdown."""
    run(page, 0)
    page.locator(".atlas[data-drawn] canvas.large").focus()
    page.keyboard.press("m")
    expect(page.locator(".atlas select").nth(2)).to_have_value("lines")
    assert page.locator(".jp-MarkdownCell").count() == 0


def test_widget_follows_the_theme_of_the_notebook(page: Page):
    run(page, 0)
    atlas = page.locator(".atlas[data-drawn]")
    expect(atlas).to_have_css("color", "rgb(15, 23, 42)")
    page.evaluate("document.body.style.setProperty('--jp-layout-color0', '#111')")
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    expect(atlas).to_have_css("color", "rgb(238, 242, 248)")


def test_saved_notebook_shows_a_picture_without_a_kernel(page: Page, programs: Path, notebook: Path):
    run(page, 0)
    page.locator(".atlas[data-drawn]").wait_for()
    page.keyboard.press("Control+s")
    page.wait_for_function("!document.querySelector('.jp-mod-current.jp-mod-dirty')")
    subprocess.run([programs / "jupyter", "nbconvert", "--to=html", "--log-level=ERROR", notebook], check=True)
    html = notebook.with_suffix(".html").read_text(encoding="utf-8")
    (picture,) = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]*)"', html)
    assert 'aria-label="Cross attention, layer 1, head 6"' in base64.b64decode(picture).decode()


def test_widget_state_is_synchronised_between_python_and_marimo(browser: Browser, marimo: str):
    with offline(browser, marimo) as page:
        choose_by_hand(page)
        expect(page.get_by_text(re.compile(r"chosen: cross 1 4 \[\d\] \[\d\]"))).to_be_visible()
        page.get_by_role("button", name="Python chooses").click()
        expect(page.locator(".atlas[data-drawn$=' 3 5']")).to_be_visible()
        expect(page.locator(".atlas")).to_have_css("color", "rgb(238, 242, 248)")
