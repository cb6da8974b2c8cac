"""Every page and every control, driven without a browser, with the model that ships."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.figures import SCALES
from pages.ui.state import EXAMPLES
from transformer.translator import MAX_PIECES, Translator

ATTENTION = {
    "pages/encoder_attention.py": "encoder",
    "pages/masked_attention.py": "decoder",
    "pages/cross_attention.py": "cross",
}
READING = ["pages/translate.py", *ATTENTION]
PAGES = [*READING, "pages/about.py"]


def app(page: str = "pages/translate.py", **address: str) -> AppTest:
    """The app, opened at a page with an address."""
    test = AppTest.from_file("../../app.py", default_timeout=120)
    for key, value in address.items():
        test.query_params[key] = value
    return test.run().switch_page(page).run()


def charts(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("vega_lite_chart")]


def texts(test: AppTest) -> str:
    return "\n".join(element.value for kind in ("markdown", "caption", "header") for element in getattr(test, kind))


def submit(test: AppTest, text: str) -> None:
    """Type a sentence and press the button of the form."""
    test.text_input("text").set_value(text)
    next(button for button in test.button if button.label == "Translate").click()
    test.run()


def healthy(test: AppTest) -> bool:
    return not test.exception and not test.error


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_with_something_to_look_at(page):
    test = app(page)
    assert healthy(test) and not test.warning
    assert len(test.get("vega_lite_chart")) == {"pages/translate.py": 3, "pages/about.py": 0}.get(page, 2)


def test_a_sentence_is_translated():
    test = app()
    submit(test, "I have a dream.")
    assert healthy(test)
    expected = Translator.load(device="cpu").translate("I have a dream.").target_text
    assert expected in texts(test).replace("\\", "")
    assert test.query_params["text"] == "I have a dream."


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_translated(example):
    test = app("pages/cross_attention.py")
    test.selectbox("example").set_value(example).run()
    assert healthy(test) and test.text_input("text").value == example
    assert test.selectbox("example").value is None


@pytest.mark.parametrize("page", ATTENTION)
def test_every_layer_and_head_can_be_chosen(page):
    test = app(page, text="I have a dream.")
    for key, count in (("layer", 6), ("head", 8)):
        for number in range(1, count + 1):
            test.segmented_control(key).set_value(number).run()
            assert healthy(test)
            layer, head = test.segmented_control("layer").value, test.segmented_control("head").value
            assert f"**Layer {layer}, head {head}**" in texts(test)
    assert test.query_params["layer"] == "6" and test.query_params["head"] == "8"


@pytest.mark.parametrize("page", ATTENTION)
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("scale", SCALES)
def test_every_setting_works(page, words, hide, scale):
    test = app(page, text="The old man is reading a newspaper.", layer="2")
    test.toggle("words").set_value(words)
    test.toggle("hide").set_value(hide)
    test.selectbox("scale").set_value(scale)
    test.run()
    assert healthy(test) and not test.warning
    assert ("scaled up to 1" in texts(test)) == hide
    assert ("sum over its pieces" in texts(test)) == words
    size = "word" if words else "piece"
    assert charts(test)[0]["layer"][0]["encoding"]["x"]["title"] == f"to: the {size} looked at"


def test_choices_survive_a_change_of_page():
    test = app("pages/encoder_attention.py", text="Where is the dog?")
    test.segmented_control("layer").set_value(4)
    test.segmented_control("head").set_value(7)
    test.toggle("words").set_value(True)
    test.run()
    for page in ("pages/about.py", "pages/cross_attention.py", "pages/translate.py", "pages/masked_attention.py"):
        test.switch_page(page).run()
        assert healthy(test)
    assert test.text_input("text").value == "Where is the dog?"
    assert (test.segmented_control("layer").value, test.segmented_control("head").value) == (4, 7)
    assert test.toggle("words").value is True


def test_an_address_is_followed():
    choices = {"layer": "3", "head": "5", "words": "true", "hide": "true", "scale": SCALES[2]}
    test = app("pages/masked_attention.py", text="Hello.", **choices)
    assert test.text_input("text").value == "Hello."
    assert "**Layer 3, head 5**" in texts(test) and "by the square root" in texts(test)
    assert test.toggle("words").value and test.toggle("hide").value


RUBBISH = ["", "0", "-1", "7", "99", "1e9", "nan", "²", "9" * 400, "001" + "0" * 5000, "<b>", "١"]


@pytest.mark.parametrize("value", RUBBISH)
def test_rubbish_in_an_address_falls_back(value):
    test = app("pages/cross_attention.py", text="Hello.", layer=value, head=value, words=value, hide=value, scale=value)
    assert healthy(test) and not test.warning
    layer = test.segmented_control("layer").value
    assert layer == 1 and f"**Layer 1, head {test.segmented_control('head').value}**" in texts(test)
    assert not test.toggle("words").value


@pytest.mark.parametrize("page", READING)
@pytest.mark.parametrize("text", ["", "   ", "\t", "\x00", "\u200b"])
def test_nothing_typed_is_answered(page, text):
    test = app(page, text="x")
    submit(test, text)
    assert healthy(test)
    assert ["nothing to read" in warning.value for warning in test.warning] == [True]


HOSTILE = [
    "x", "🙂", "👩‍👩‍👧 🇩🇪", "שלום עולם", "مرحبا بالعالم",
    "日本語の文", "e\u0301\u0323", "?!...,;", "<b>x</b>",
    '"><script>alert(1)</script>', "&amp; &lt;", "a\x00b", "</s> <s>", "▁ a▁b", r"$\frac{a}{b}$",
    "# **md** [x](http://y) `c` :smile: :red[x]",
    "https://example.org/?a=b&c=d", "a\tb\nc", "dog " * 50, "'); DROP TABLE", "{{x}} ${y} %s", "\ufeffbom", "ﬁ… “q”",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_itself(text):
    test = app("pages/encoder_attention.py", text=text, words="true")
    assert healthy(test) and not test.warning
    assert test.text_input("text").value == text
    for markup in ("<b>", "<script", "](http", ":smile:", "$\\frac", ":red["):
        assert markup not in texts(test)
    test.switch_page("pages/translate.py").run()
    assert healthy(test)


def test_too_long_a_text_is_answered_and_kept():
    test = app(text="x")
    for text, reason in (("word " * 1000, "pieces"), ("a" * 50_000, "characters")):
        submit(test, text)
        assert healthy(test) and reason in test.warning[0].value
        assert test.text_input("text").value == text
        assert f"{MAX_PIECES} pieces" in test.text_input("text").label


def test_a_text_of_exactly_the_limit_is_accepted():
    test = app("pages/masked_attention.py", text="1" * (MAX_PIECES - 1))
    assert healthy(test) and not test.warning and len(test.get("vega_lite_chart")) == 2


def test_the_device_can_be_changed():
    test = app("pages/about.py")
    assert "cpu" in test.selectbox("device").options or "CPU" in test.selectbox("device").options
    test.selectbox("device").set_value("cpu").run()
    assert healthy(test)


def test_about_shows_the_card_and_the_parameters():
    test = app("pages/about.py")
    assert "CC BY-SA 4.0" in texts(test)
    assert [metric.value for metric in test.metric] == ["13.1 M", "6 + 6", "8", "8,000"]


def test_another_head_costs_no_forward_pass(monkeypatch):
    runs = []
    translate = Translator.translate
    monkeypatch.setattr(Translator, "translate", lambda self, text: runs.append(text) or translate(self, text))
    test = app("pages/encoder_attention.py", text="A sentence nobody has typed before.")
    assert len(runs) <= 2, "the example of the first visit, and this one"
    before = len(runs)
    for number in (2, 3):
        test.segmented_control("layer").set_value(number).run()
        test.segmented_control("head").set_value(number).run()
    test.toggle("words").set_value(True).run()
    test.switch_page("pages/cross_attention.py").run()
    assert len(runs) == before


def test_a_damaged_model_is_one_message(monkeypatch, tmp_path):
    import streamlit as st

    st.cache_resource.clear()
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda device=None: load(tmp_path, device))
    for page in PAGES:
        test = app(page)
        assert not test.exception
        assert [("config" in error.value, "missing" in error.value) for error in test.error] == [(True, True)]
        assert test.selectbox("device").options, "another device can still be chosen"
    monkeypatch.undo()
    st.cache_resource.clear()
