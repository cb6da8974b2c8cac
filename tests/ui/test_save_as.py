"""Tests of the save menus that tests/ui/test_every_page.py does not cover."""

import pytest

from attention_atlas.browser.wire import unframe
from tests.ui.driver import healthy, messages, opened, send
from tests.ui.page_checks import every_figure_has_a_menu, no_text_is_an_expression

# Text that could be read as a spreadsheet formula, as markup, or as a string in an expression.
TEXT = '<b>"if"; =1+2'


# These tests are slow, because the figures need a model run for each head that is switched off or removed.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("page", "address", "own"),
    [
        ("pages/switch_heads_off.py", {"off_importance": "true"}, ["head-switches"]),
        ("pages/switch_heads_off.py", {"off_removal": "true"}, ["head-switches"]),
    ],
    ids=str,
)
def test_every_figure_has_a_save_menu_and_never_treats_user_text_as_code(narrow_app, page, address, own):
    """The user's text is both source and translation, so any model will do."""
    test = opened(page, text=TEXT, target=TEXT, **address)
    assert healthy(test)
    every_figure_has_a_menu(test, own, TEXT)
    no_text_is_an_expression(test)


def test_gallery_of_the_shipped_model_has_a_save_menu():
    test = opened("pages/gallery.py", text=TEXT)
    assert healthy(test)
    every_figure_has_a_menu(test, ["gallery"], TEXT)


def test_pdf_writer_is_sent_only_after_a_pdf_is_requested():
    test = opened("pages/about.py")

    def writers():
        sent = [node.proto.bytes for node in test.get("bidi_component") if node.proto.bytes]
        return [header for header in (unframe(data)[0] for data in sent) if "fonts" in header]

    assert not writers()
    ((exporter, _),) = messages(test, "colours")
    send(test, exporter, "pdf", True)
    assert healthy(test) and len(writers()) == 1
