"""The charts of every page, as the browser is sent them: no expression holds text of the reader or of the model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from pages.ui.params.backpropagation import PARTS as BACKWARD
from pages.ui.params.inside import PARTS as INSIDE
from pages.ui.params.mattered import PARTS as MATTERED
from pages.ui.params.positions import PARTS as POSITIONS
from tests.ui.driver import healthy, opened

# What is no name of an axis: a unit alone, or what Vega and Plotly write where nobody named it.
UNITS = {"nats", "bits", "%", "percent", "logit", "logits", "value", "score", "x", "y"}
WORDS = {"masked", "above", "below", "left", "right", "written", "residual stream"}
PAGES = [
    ("pages/cross_attention.py", {}), ("pages/about.py", {}), ("pages/change_attention.py", {}),
    *(("pages/switch_heads_off.py", {f"off_{part}": "true"}) for part in ("importance", "removal")),
    *(("pages/compare_heads.py", {"compare_part": part}) for part in ("heads", "similarity", "layers")),
    *(("pages/positional_encoding.py", {"positions_part": part}) for part in POSITIONS),
    *(("pages/inside_a_layer.py", {"inside_part": part}) for part in INSIDE),
    *(("pages/backpropagation.py", {"backward_part": part}) for part in BACKWARD),
    ("pages/long_texts.py", {"long_part": "cost"}), ("pages/long_texts.py", {"long_part": "loss"}),
    *(
        ("pages/what_mattered.py", {"mattered_part": part, "mattered_deletion": "true", "mattered_revealed": "true"})
        for part in MATTERED
    ),
]


def expressions(spec: object) -> Iterator[str]:
    """All strings of a specification but its values, which are data."""
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
    """What stands at the axes of a specification of Vega-Lite or of Plotly."""
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


@pytest.mark.parametrize(("page", "address"), PAGES, ids=str)
def test_axes_are_named_and_no_expression_holds_text(narrow_app, page, address):
    """Text of the reader on both sides, so that any model will do."""
    test = opened(page, text='He said "if" to me.', target='Er sagte "if" zu mir.', **address)
    assert healthy(test)
    for node in test.get("vega_lite_chart"):
        for string in expressions(json.loads(node.proto.spec)):
            assert set(re.findall(r"""["']([^"']*)["']""", string)) <= WORDS, string
    charts = [*test.get("vega_lite_chart"), *test.get("plotly_chart")]
    titles = {title for node in charts for title in axis_titles(json.loads(node.proto.spec)) if title is not None}
    assert not UNITS & titles
