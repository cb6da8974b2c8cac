"""Every figure of every page: a menu that saves it, axes with names, and no text of the reader in an expression."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.components.wire import unframe
from tests.ui.driver import figures, healthy, opened, send

# Read as a row of a spreadsheet, as markup, or as a string of an expression.
TEXT = '<b>"if"; =1+2'
# What is no name of an axis: a unit alone, or what Vega and Plotly write where nobody named it.
UNITS = {"nats", "bits", "%", "percent", "logit", "logits", "value", "score", "x", "y"}
WORDS = {"masked", "above", "below", "left", "right", "written", "residual stream"}


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


def menus(test) -> list[dict[str, str]]:
    """What the menus of all figures were sent."""
    sent = [json.loads(node.proto.json) for node in test.get("bidi_component") if node.proto.json]
    return [data for data in sent if data.keys() == {"file", "title", "sentence", "label"}]


@pytest.mark.parametrize(("page", "address", "own"), [
    ("pages/translate.py", {}, ["drawing"]),
    ("pages/cross_attention.py", {}, []),
    ("pages/decoding.py", {"method": "beam"}, ["decoding-steps", "beam-tree"]),
    ("pages/decoding.py", {"method": "greedy"}, ["decoding-steps"]),
    ("pages/switch_heads_off.py", {"off_heads": "cross.6.5"}, ["head-switches"]),
    ("pages/compare_heads.py", {"compare_part": "two_heads"}, ["two-heads"]),
    ("pages/positional_encoding.py", {"positions_part": "curves"}, []),
    *(("pages/inside_a_layer.py", {"inside_part": part}, []) for part in ("mask", "example")),
    ("pages/about.py", {}, []),
    ("pages/change_attention.py", {}, []),
    ("pages/switch_heads_off.py", {"off_importance": "true"}, ["head-switches"]),
    # Every head of the model is removed for it.
    pytest.param("pages/switch_heads_off.py", {"off_removal": "true"}, ["head-switches"], marks=pytest.mark.thorough),
    *(("pages/compare_heads.py", {"compare_part": part}, []) for part in ("heads", "similarity", "layers")),
    *(("pages/what_mattered.py", {"mattered_part": part, "mattered_deletion": "true", "mattered_revealed": "true"}, [])
      for part in ("strip", "writers", "agreement", "sides", "guess")),
    *(("pages/positional_encoding.py", {"positions_part": part}, [])
      for part in ("shuffled", "matrix", "distances", "sum", "alternatives")),
    *(("pages/inside_a_layer.py", {"inside_part": part}, []) for part in ("stages", "cell", "norm", "parameters")),
    *(("pages/backpropagation.py", {"backward_part": part}, []) for part in ("walk", "sizes")),
    ("pages/long_texts.py", {"long_part": "map"}, ["long-maps"]),
    *(("pages/long_texts.py", {"long_part": part}, []) for part in ("cost", "loss")),
], ids=str)
def test_every_figure_has_a_menu_and_holds_text_as_data(narrow_app, page, address, own):
    """Text of the reader on both sides, so that any model will do."""
    test = opened(page, text=TEXT, target=TEXT, **address)
    assert healthy(test)
    every_figure_has_a_menu(test, own)
    for node in test.get("vega_lite_chart"):
        for string in expressions(json.loads(node.proto.spec)):
            assert set(re.findall(r"""["']([^"']*)["']""", string)) <= WORDS, string
    charts = [*test.get("vega_lite_chart"), *test.get("plotly_chart")]
    titles = {title for node in charts for title in axis_titles(json.loads(node.proto.spec)) if title is not None}
    assert not UNITS & titles


def test_every_figure_of_what_is_recorded_of_the_model_that_ships_has_a_menu():
    test = opened("pages/gallery.py", text=TEXT)
    assert healthy(test)
    every_figure_has_a_menu(test, ["gallery"])


def every_figure_has_a_menu(test: AppTest, own: list[str]) -> None:
    sent = menus(test)
    names = [data["file"] for data in sent]
    assert len(names) == len(set(names)) == sum(figures(test)) + len(own) and set(own) <= set(names)
    for data in sent:
        assert data["title"].count(".") and ";" not in data["title"]
        assert data["sentence"] in ("", f"Sentence: {TEXT}") or data["file"] in ("two-heads", "long-maps")


def test_what_makes_a_pdf_comes_when_it_is_wanted():
    test = opened("pages/about.py")

    def writers():
        sent = [node.proto.bytes for node in test.get("bidi_component") if node.proto.bytes]
        return [header for header in (unframe(data)[0] for data in sent) if "fonts" in header]

    assert not writers()
    (exporter,) = (node for node in test.get("bidi_component") if '"colours"' in node.proto.json)
    send(test, exporter, "pdf", True)
    assert healthy(test) and len(writers()) == 1
