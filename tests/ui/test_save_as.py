"""Every figure of every page has a menu that saves it, and what makes a PDF comes when it is wanted."""

from __future__ import annotations

import json

import pytest

from pages.ui.components.wire import unframe
from tests.ui.driver import figures, healthy, opened, send

TEXT = '<b>"; =1+2'


def menus(test) -> list[dict[str, str]]:
    """What the menus of all figures were sent."""
    sent = [json.loads(node.proto.json) for node in test.get("bidi_component") if node.proto.json]
    return [data for data in sent if data.keys() == {"file", "title", "sentence", "label"}]


@pytest.mark.parametrize(("page", "address", "own"), [
    ("pages/translate.py", {}, ["drawing"]),
    ("pages/cross_attention.py", {}, []),
    ("pages/decoding.py", {"method": "beam"}, ["decoding-steps", "beam-tree"]),
    ("pages/decoding.py", {"method": "greedy"}, ["decoding-steps"]),
    ("pages/switch_heads_off.py", {}, ["head-switches"]),
    ("pages/compare_heads.py", {"compare_part": "two_heads"}, ["two-heads"]),
    ("pages/positional_encoding.py", {"positions_part": "curves"}, []),
    ("pages/inside_a_layer.py", {"inside_part": "mask"}, []),
    ("pages/about.py", {}, []),
    ("pages/change_attention.py", {}, []),
    *(("pages/switch_heads_off.py", {f"off_{part}": "true"}, ["head-switches"]) for part in ("importance", "removal")),
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
def test_every_figure_has_a_menu(narrow_app, page, address, own):
    # The narrow model's own translation is long and means nothing.
    figures_have_menus(page, {**address, "target": TEXT}, own)


def test_every_figure_of_what_is_recorded_of_the_model_that_ships_has_a_menu():
    figures_have_menus("pages/gallery.py", {}, ["gallery"])


def figures_have_menus(page: str, address: dict[str, str], own: list[str]) -> None:
    test = opened(page, text=TEXT, **address)
    assert healthy(test)
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
