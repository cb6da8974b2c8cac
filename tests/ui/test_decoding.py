"""The page of decoding, driven without a browser, with the model that ships."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.decoding.course import SHOWS
from transformer.road import METHODS, Way
from transformer.translator import Translator

PAGE = "pages/decoding.py"
TEXT = "I have a dream."


@pytest.fixture(scope="module")
def model():
    return Translator.load(device="cpu")


def opened(**address: str) -> AppTest:
    """The page, opened with an address."""
    test = AppTest.from_file("../../app.py", default_timeout=120)
    for key, value in {"text": TEXT, **address}.items():
        test.query_params[key] = value
    return test.run().switch_page(PAGE).run()


def told(test: AppTest) -> dict:
    """What the browser was told: the header of its bytes."""
    assert not test.exception and not test.error
    (node,) = test.get("bidi_component")
    return json.loads(node.proto.bytes[4 : 4 + int.from_bytes(node.proto.bytes[:4], "little")])


def ids(header: dict) -> list[int]:
    return [step["id"] for step in header["steps"]]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_shows_its_own_road(model, method):
    header = told(opened(method=method, size="3", seed="4", temperature="1.5", step="2"))
    settings = {"beam": {"size": 3}, "sample": {"seed": 4, "temperature": 1.5}}.get(method, {})
    found = model.search(TEXT, Way(method, **settings))
    assert ids(header) == [piece.id for piece in found.pieces]
    assert (header["tree"] is not None) == (method == "beam")
    assert header["asked"]["course"]["step"] == 1


@pytest.mark.parametrize("show", SHOWS)
def test_the_head_is_that_of_the_other_pages(show):
    test = opened(show=show, layer="3", head="5")
    course = told(test)["asked"]["course"]
    assert (course["layer"], course["head"], course["show"]) == (2, 4, show)
    test.switch_page("pages/cross_attention.py").run()
    assert not test.exception and test.query_params["layer"] == "3"


def test_a_forced_piece_in_the_address_is_taken(model):
    own = told(opened())
    second = own["steps"][2]["candidates"][1][0]
    forced = ".".join(map(str, [*ids(own)[:2], second]))
    test = opened(forced=forced, step="3")
    header = told(test)
    assert ids(header)[:3] == [*ids(own)[:2], second] and ids(header) != ids(own)
    assert [road["current"] for road in header["roads"]] == [False, True]
    assert header["roads"][1]["parts"] == 2 and test.query_params["forced"] == forced
    again = told(test.run())
    assert again["asked"] == header["asked"] and again["roads"] == header["roads"]


def test_a_banned_piece_is_not_said(model):
    own = told(opened())
    header = told(opened(never=str(ids(own)[2])))
    assert ids(own)[2] not in ids(header) and header["never"][0][0] == ids(own)[2]


def test_a_translation_of_the_readers_is_walked_along(model):
    test = opened(target="Ich habe einen Hund.")
    header = told(test)
    assert ids(header) == model.tokenizer.encode_ids("Ich habe einen Hund.")
    assert all(step["forced"] for step in header["steps"])
    first, current = header["roads"]
    assert current["current"] and first["course"]["forced"] == list(
        piece.id for piece in model.search(TEXT, Way()).pieces
    )
    other = told(opened(target="Ich habe einen Hund.", forced=str(header["steps"][0]["candidates"][1][0])))
    assert ids(other) != ids(header), "another road may be taken from there"


def test_a_forced_piece_belongs_to_its_sentence():
    test = opened(forced="362", step="2", method="beam")
    test.text_input("text").set_value("Hello.")
    next(button for button in test.button if button.label == "Translate").click()
    header = told(test.run())
    assert header["course"]["forced"] == [] and header["course"]["method"] == "beam"
    assert "forced" not in test.query_params and test.query_params["method"] == "beam"
    assert len(header["roads"]) <= 2, "roads of another sentence are gone"


def test_the_course_survives_a_change_of_page():
    test = opened(forced="362", step="2")
    before = told(test)
    test.switch_page("pages/about.py").run()
    test.switch_page(PAGE).run()
    after = told(test)
    assert after["course"] == before["course"] and after["asked"]["number"] > before["asked"]["number"]


@pytest.mark.parametrize("value", ["", "0", "-1", "9999", "1e9", "nan", "²", "9" * 400, "<b>", "1.2.x", "3.3", "0.1"])
def test_rubbish_in_an_address_falls_back(value):
    names = ("step", "show", "method", "size", "alpha", "temperature", "top_k", "top_p", "seed", "forced", "never",
             "node")
    test = opened(**dict.fromkeys(names, value))
    header = told(test)
    assert not test.warning and 0 <= header["asked"]["course"]["step"] < len(header["steps"])


def test_too_much_forced_is_answered():
    test = opened(forced=".".join(["362"] * 200))
    assert "at most 128" in test.warning[0].value
    assert told(test)["course"]["forced"] == []


def test_another_step_makes_no_forward_pass(monkeypatch):
    test = opened(text="A sentence for walking along.")
    count = len(told(test)["steps"])

    def fail(*args, **kwargs):
        raise AssertionError("the model ran again")

    for name in ("translate", "read", "road", "search"):
        monkeypatch.setattr(Translator, name, fail)
    for step in range(count):
        test.query_params["step"] = str(step + 1)
        assert told(test.run())["asked"]["course"]["step"] == step


def test_ways_are_compared_once_opened(model, monkeypatch):
    test = opened()
    assert not test.dataframe
    test.session_state["ways"] = True
    test.run()
    assert not test.exception
    (table,) = test.dataframe
    assert list(table.value["German"])[0] == model.search(TEXT, Way()).text and len(table.value) == 5
    assert (table.value["log-probability"] < 0).all()

