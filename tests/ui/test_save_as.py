"""Figures that can be saved, beside those that tests/ui/test_every_page.py sees on every page."""

from __future__ import annotations

import pytest

from attention_atlas.browser.wire import unframe
from tests.ui.driver import healthy, opened, send
from tests.ui.page_checks import every_figure_has_a_menu, no_text_is_an_expression

# Read as a row of a spreadsheet, as markup, or as a string of an expression.
TEXT = '<b>"if"; =1+2'


# Every head of the model is switched off or removed for it.
@pytest.mark.thorough
@pytest.mark.parametrize(("page", "address", "own"), [
    ("pages/switch_heads_off.py", {"off_importance": "true"}, ["head-switches"]),
    ("pages/switch_heads_off.py", {"off_removal": "true"}, ["head-switches"]),
], ids=str)
def test_every_figure_has_a_menu_and_holds_text_as_data(narrow_app, page, address, own):
    """Text of the reader on both sides, so that any model will do."""
    test = opened(page, text=TEXT, target=TEXT, **address)
    assert healthy(test)
    every_figure_has_a_menu(test, own, TEXT)
    no_text_is_an_expression(test)


def test_every_figure_of_what_is_recorded_of_the_model_that_ships_has_a_menu():
    test = opened("pages/gallery.py", text=TEXT)
    assert healthy(test)
    every_figure_has_a_menu(test, ["gallery"], TEXT)


def test_what_makes_a_pdf_comes_when_it_is_wanted():
    test = opened("pages/about.py")

    def writers():
        sent = [node.proto.bytes for node in test.get("bidi_component") if node.proto.bytes]
        return [header for header in (unframe(data)[0] for data in sent) if "fonts" in header]

    assert not writers()
    (exporter,) = (node for node in test.get("bidi_component") if '"colours"' in node.proto.json)
    send(test, exporter, "pdf", True)
    assert healthy(test) and len(writers()) == 1
