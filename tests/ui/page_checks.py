"""Checks of a page's figures, tables and session."""

import gc
import json
import re
from collections.abc import Collection, Iterator
from types import FunctionType, ModuleType

from streamlit.runtime import Runtime
from streamlit.testing.v1 import AppTest

from pages.ui.runs.inference import RUNS
from tests.ui.driver import figures, messages

# Invalid axis titles: a unit without a quantity, or a default title of Vega or Plotly.
UNITS = {"nats", "bits", "%", "percent", "logit", "logits", "value", "score", "x", "y"}
WORDS = {
    "masked",
    "no partner",
    "out of the patch's reach: exactly 0",
    "above",
    "below",
    "left",
    "right",
    "written",
    "residual stream",
}
# Figures that show their own texts instead of the user's sentence.
OWN_TEXTS = ("two-heads", "long-maps", "training", "lab-answer")
# Quantities that pages count from 1. Dimensions, offsets and training steps are numbered differently.
COUNTED = {"position", "row", "column", "layer", "head", "draw", "token"}
DECIMALS = re.compile(r"[+−-]?\d+\.(\d+)")
FORM = re.compile(r"%\+?\.(\d+)f")


def expressions(spec: object) -> Iterator[str]:
    """Yield all strings of a chart specification except data values. Vega may read these strings as expressions."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key not in ("value", "datasets", "values", "usermeta"):
                yield from expressions(value)
    elif isinstance(spec, list):
        for each in spec:
            yield from expressions(each)
    elif isinstance(spec, str):
        yield spec


def axis_titles(spec: object) -> Iterator[str | None]:
    """Yield the axis titles of a Vega-Lite or Plotly specification."""
    if isinstance(spec, list):
        for each in spec:
            yield from axis_titles(each)
    elif isinstance(spec, dict):
        for key, value in spec.items():
            if key in ("x", "y") and isinstance(value, dict) and value.get("axis", {}) is not None:
                yield value.get("title", value.get("field"))
            elif key in ("xaxis", "yaxis") and isinstance(value, dict):
                yield value.get("title", {}).get("text")
            elif key in ("layout", "encoding", "layer", "vconcat", "hconcat", "spec"):
                yield from axis_titles(value)


def menus(test) -> list[dict[str, str]]:
    """Return the messages that the save menus of all figures received."""
    keys = {"file", "title", "sentence", "label", "experiment"}
    return [data for _, data in messages(test, "file") if data.keys() == keys]


def every_figure_has_a_menu(test: AppTest, own: Collection[str], text: str) -> None:
    """Check that every figure has a save menu with a unique file name, a title and the sentence.

    Args:
        own: file names of figures that components draw; all other figures are Plotly or Altair charts.
        text: sentence or language-model text that the page reads.
    """
    sent = menus(test)
    names = [data["file"] for data in sent]
    assert len(names) == len(set(names)) == sum(figures(test)) + len(own) and set(own) <= set(names)
    for data in sent:
        assert data["title"].count(".") and ";" not in data["title"]
        assert data["sentence"] == "" or text in data["sentence"] or data["file"] in OWN_TEXTS


def no_text_is_an_expression(test: AppTest) -> None:
    """Check that no user text becomes a Vega expression, and that no axis title is just a unit or a default title."""
    for node in test.get("vega_lite_chart"):
        for string in expressions(json.loads(node.proto.spec)):
            assert set(re.findall(r"""["']([^"']*)["']""", string)) <= WORDS, string
    charts = [*test.get("vega_lite_chart"), *test.get("plotly_chart")]
    titles = {title for node in charts for title in axis_titles(json.loads(node.proto.spec)) if title is not None}
    assert not UNITS & titles


def problems(table, config, shown=None):
    """Return the formatting problems of a table.

    Args:
        table: the data.
        config: Streamlit's column configuration.
        shown: displayed text of each cell; by default, the data.
    """
    shown = table if shown is None else shown
    found, decimals = [], set()
    for name, column in table.items():
        if column.dtype.kind == "f":
            form = config.get(str(name), {}).get("type_config", {}).get("format") or ""
            if decimal := FORM.fullmatch(form):
                decimals.add(int(decimal[1]))
            elif not form.endswith("e") and shown[name].dtype.kind == "f":
                found.append(f"each number of {name} has as many decimals as it needs")
        if shown[name].dtype.kind == "O":
            decimals |= {len(number[1]) for text in shown[name] if (number := DECIMALS.fullmatch(str(text)))}
        if str(name) in COUNTED and column.dtype.kind == "i" and len(column) and column.min() < 1:
            found.append(f"{name} counts from {column.min()}")
    return found + ([f"{sorted(decimals)} decimals"] if len(decimals) > 1 else [])


def reachable(root: object) -> list[object]:
    """Return every object reachable from an object, including through closures.

    The search stops at classes, modules, Streamlit's runtime, and the cached model runs that all sessions share.
    """
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, ModuleType | type | Runtime) or each is RUNS:
            continue
        seen[id(each)] = each
        waiting += (
            (each.__closure__ or (), each.__defaults__) if isinstance(each, FunctionType) else (gc.get_referents(each))
        )
    return list(seen.values())
