"""Tests of every page and every part of a page, with the narrow model."""

import json
from collections.abc import Iterator
from dataclasses import fields

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.testing.v1 import AppTest

from pages.ui.layout.roles import MAIN
from pages.ui.params.fields import Params
from pages.ui.params.language_model import LanguageModelParams
from pages.ui.params.lecture import LectureParams
from pages.ui.params.long_texts import LongTextsParams
from pages.ui.params.model import ModelParams
from pages.ui.params.patch import PatchParams
from pages.ui.params.sentence_list import ListParams
from tests.places import PAGES_FIRST, PLACES, Place
from tests.ui.driver import (
    DREAM,
    GIVEN,
    INVALID_VALUES,
    MARKUP,
    box,
    expand,
    figures,
    healthy,
    opened,
    texts,
    typed,
    without_escapes,
    written,
)
from tests.ui.page_checks import every_figure_has_a_menu, no_text_is_an_expression, problems, reachable
from transformer.values.trace import Trace

# Parameters for which any text is valid, and parameter classes with their own warning about invalid values.
TYPED = {LanguageModelParams: {"text", "first", "second", "model"}, LongTextsParams: {"text"}, PatchParams: {"other"}}
WHOLE = (ModelParams, LectureParams, ListParams)
# A page that renders quickly with any parameters.
ANOTHER = "pages/gallery.py"
# A value that no parameter accepts. `pytest -m thorough` also tries values that some parameters accept, such as a seed
# or a stage name.
INVALID = "<b>"
SOME_ACCEPT = [pytest.param(value, marks=pytest.mark.thorough) for value in [*INVALID_VALUES, "nonsense"]]
# Values that a URL may contain but that this model, sentence or translation does not have, by field name.
BEYOND = {
    "layer": "16",
    "head": "16",
    "rows": "299.300",
    "columns": "299",
    "row": "300",
    "column": "300",
    "step": "99",
    "stage": "nonsense",
    "metric": "nonsense",
    "explained": "999",
    "moment": "9999",
    "item": "pppp",
    "forced": "23999",
    "against": "23999",
    "hidden_source": "99",
}
# Markup, a spreadsheet formula, and a word that Vega could read as an expression. The text is short, because pages that
# compute gradients take time for each token. tests/ui/test_app.py tries more markup on other pages.
UNTRUSTED = '<b> [x](http://y) $\\frac :red[x] "if"; =1+2'
# Pages on which each table column has its own unit, and so its own number of decimal places.
OWN_DECIMALS = ("language_model",)
# File names of the figures that components draw, keyed by page or part. All other figures are Plotly or Altair charts.
OWN_FIGURES = {
    "translate": ["drawing"],
    "masked_attention": ["mask"],
    "decoding": ["decoding-steps", "beam-tree"],
    "language_model-steps": ["decoding-steps"],
    "language_model-heads": ["lm-copying"],
    "compare_heads-two_heads": ["two-heads"],
    "compare_heads-models": ["two-models"],
    "switch_heads_off": ["head-switches"],
    "training_lab": ["training", "lab-answer"],
    "long_texts-map": ["long-maps"],
}
# Number of Plotly charts and of Altair charts on each page or part, not counting charts of recorded measurements.
FIGURES = {
    "inside_a_layer-stages": (0, 0),
    "inside_a_layer-cell": (2, 2),
    "inside_a_layer-example": (0, 0),
    "inside_a_layer-mask": (0, 5),
    "inside_a_layer-norm": (0, 3),
    "inside_a_layer-parameters": (2, 0),
    "positional_encoding-curves": (2, 0),
    "positional_encoding-matrix": (2, 0),
    "positional_encoding-distances": (3, 4),
    "positional_encoding-sum": (0, 1),
    "positional_encoding-alternatives": (4, 2),
    "positional_encoding-shuffled": (0, 4),
    "what_mattered-strip": (0, 2),
    "what_mattered-writers": (0, 1),
    "what_mattered-agreement": (0, 1),
    "what_mattered-sides": (0, 1),
    "what_mattered-guess": (0, 0),
}
# Pages and parts that show texts other than the sentence.
OTHER_TEXTS = ("compare_heads-two_heads", "training_lab")
# Pages whose main figure shows data recorded for the shipped model, and is missing for the narrow model.
RECORDED = ("gallery", "about")


def address_of(place: Place, **more: str) -> dict[str, str]:
    """Return URL parameters that open a page or part, with a sentence and its translation, so that any model works."""
    return {"text": DREAM, **GIVEN, **dict(place.parameters), **more}


def everywhere(value: str) -> dict[str, str]:
    """Return URL parameters that set the parameters of all pages to one value.

    TYPED and WHOLE parameters are left out, and so are those that choose a page's part or subject.
    """
    return {
        cls.PREFIX + each.name: value
        for cls in Params.registered()
        if cls not in WHOLE
        for each in fields(cls)
        if each.name not in TYPED.get(cls, ()) and each.name not in ("part", "subject")
    }


def shown(test: AppTest) -> list[object]:
    """Return everything on the page that a user can read or set, in page order."""
    kinds = ("segmented_control", "selectbox", "number_input", "toggle", "multiselect", "text_input")
    return [
        texts(test),
        figures(test),
        [(each.label, each.value) for each in test.metric],
        [node.proto.spec for kind in ("vega_lite_chart", "plotly_chart") for node in test.get(kind)],
        [each.value.to_csv() for each in test.dataframe],
        [(each.key, str(each.value)) for kind in kinds for each in getattr(test, kind)],
        [(each.key, each.label) for each in test.button],
    ]


def containers(test: AppTest) -> Iterator[str]:
    waiting = [test._tree]
    while waiting:
        node = waiting.pop()
        waiting += getattr(node, "children", {}).values()
        yield str(getattr(getattr(node, "proto", None), "id", "")).rpartition("-")[2]


@pytest.mark.parametrize("place", PAGES_FIRST, ids=str)
def test_page_is_unchanged_by_invalid_url_values_and_after_a_visit_to_another_page(narrow_app, place):
    test = opened(place.page.script, **address_of(place))
    assert healthy(test) and figures(test) == FIGURES.get(str(place), figures(test))
    found, address = shown(test), dict(test.query_params)
    test.switch_page(ANOTHER).run()
    assert healthy(test) and dict(test.query_params) == address and address["text"] == DREAM
    test.switch_page(place.page.script).run()
    assert healthy(test) and typed(test) in (DREAM, None) and shown(test) == found
    again = opened(place.page.script, **everywhere(INVALID) | address)
    # On the Change attention page, a warning at the end names the dropped edit.
    assert not again.exception and not again.error
    assert shown(again)[1:] == found[1:] and texts(again).startswith(texts(test))
    assert len(again.warning) == len(test.warning) + (place.page.name == "change_attention")


def reads_a_sentence(place: Place) -> bool:
    parts = [place.page.parts[name] for _, name in place.parameters]
    return str(place) not in OTHER_TEXTS and all(part.reads for part in parts)


# Pages that read a sentence; the lesson list reads none.
@pytest.mark.parametrize(
    "place",
    [place for place in PLACES if place.page.needs == "translator" and place.page.name not in ("lessons", *RECORDED)],
    ids=str,
)
def test_unreadable_sentence_is_reported(narrow_app, place):
    for text in (" ", "word " * 1000):
        test = opened(place.page.script, **{**address_of(place), "text": text})
        assert healthy(test, warned=reads_a_sentence(place)) and typed(test) in (text, None)


@pytest.mark.parametrize("value", SOME_ACCEPT)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_page_renders_if_all_url_parameters_have_the_same_arbitrary_value(narrow_app, place, value):
    test = opened(place.page.script, **address_of(place, **everywhere(value)))
    assert not test.exception and not test.error


@pytest.mark.parametrize("place", PAGES_FIRST, ids=str)
def test_user_text_is_shown_literally_and_every_figure_has_a_save_menu(narrow_app, monkeypatch, place):
    """Also opens all expanders and checks the tables in them. The session must not keep a trace alive through callbacks
    or downloads.
    """
    managers: list[MediaFileManager] = []
    begin = MediaFileManager.__init__
    monkeypatch.setattr(
        MediaFileManager, "__init__", lambda self, *given: (managers.append(self), begin(self, *given))[1]
    )
    address = dict.fromkeys(("text", "target", "lm_text", "lm_first", "lm_second", "long_text"), UNTRUSTED)
    test = opened(place.page.script, **address, **place.more)
    assert not test.exception and not test.error
    for name in ("sentence", "another", "beginning"):
        assert box(test, name).get("text", UNTRUSTED) == UNTRUSTED
    options = [str(option) for each in test.button_group for option in each.options]
    labels = [each.label for each in (*test.button, *test.expander)]
    said = without_escapes("\n".join([texts(test), *options, *labels])).replace("](https://", "")
    assert not [mark for mark in MARKUP if mark in said]
    every_figure_has_a_menu(test, OWN_FIGURES.get(str(place), []), UNTRUSTED)
    no_text_is_an_expression(test)
    expand(test)
    assert not test.exception and not test.error
    for node in test.dataframe:
        columns = ", ".join(map(str, node.value.columns))
        found = problems(node.value, json.loads(node.proto.columns or "{}"), written(node))
        assert [each for each in found if place.page.name not in OWN_DECIMALS or "decimals" not in each] == [], columns
    kept = reachable([test.session_state, [manager._deferred_callables for manager in managers]])
    assert any(isinstance(each, WidgetMetadata) for each in kept)
    assert not [each for each in kept if isinstance(each, Trace)]


@pytest.mark.parametrize("place", PAGES_FIRST, ids=str)
def test_lecture_mode_shows_a_figure_if_url_values_exceed_the_model_or_sentence(request, place):
    if place.page.name not in RECORDED:
        request.getfixturevalue("narrow_app")
    chosen = {
        cls.PREFIX + each.name: BEYOND[each.name]
        for cls in Params.registered()
        for each in fields(cls)
        if each.name in BEYOND and cls.PREFIX != "lesson_"
    }
    address = address_of(place, **{**chosen, **place.more})
    test = opened(place.page.script, lecture="true", **address)
    assert not test.exception and not test.error
    assert list(containers(test)).count(MAIN) == 1
