"""What may import what: computing knows nothing of the screen, and the screen touches no tensor."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def files(folder):
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", files("transformer"), ids=lambda path: str(path.relative_to(ROOT)))
def test_computing_knows_nothing_of_the_screen(path):
    packages = {name.split(".")[0] for name in imported(path)}
    assert not packages & {"streamlit", "plotly", "altair", "pandas", "pages", "app"}


@pytest.mark.parametrize("path", [*files("pages"), ROOT / "app.py"], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_screen_touches_no_tensor(path):
    names = set(imported(path))
    assert not {name for name in names if name.split(".")[0] == "torch"}
    assert not {name for name in names if name.startswith(("transformer.model", "transformer.decoding"))}


@pytest.mark.parametrize("path", files("transformer/analysis"), ids=lambda path: path.name)
def test_analysis_needs_no_torch(path):
    assert "torch" not in {name.split(".")[0] for name in imported(path)}


def test_every_page_goes_through_the_router_first():
    for path in (ROOT / "pages").glob("*.py"):
        if path.name == "__init__.py":
            continue
        statements = [
            node for node in ast.parse(path.read_text(encoding="utf-8")).body
            if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call)
        ]
        first = next(node for node in statements if isinstance(node, ast.Expr))
        assert ast.unparse(first) == "ensure_router()", path.name


def test_nothing_is_ever_unpickled():
    for path in [*files("transformer"), *files("pages"), ROOT / "app.py"]:
        text = path.read_text(encoding="utf-8")
        assert "pickle" not in text.replace("allow_pickle=False", ""), path.name
        assert "torch.load(" not in text, path.name
