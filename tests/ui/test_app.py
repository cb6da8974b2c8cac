"""Every page and every control, driven without a browser, with the model that ships."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.choice import LOOKS, PALETTES, SCALES
from pages.ui.compare.comparison import PARTS
from pages.ui.payload import decimals
from pages.ui.state import EXAMPLES
from tests.ui.driver import HOSTILE, MARKUP, healthy, opened, submit, texts
from transformer.analysis.view import view_of
from transformer.translator import MAX_PIECES, Translator

ATTENTION = {
    "pages/encoder_attention.py": "encoder",
    "pages/masked_attention.py": "decoder",
    "pages/cross_attention.py": "cross",
}
READING = ["pages/translate.py", *ATTENTION, "pages/decoding.py"]
COMPARE = "pages/compare_heads.py"
PAGES = [*READING, COMPARE, "pages/about.py"]


def browsers(test: AppTest) -> list[dict]:
    """What every attention browser on the page was told: the headers of their bytes."""
    sent = [node.proto.bytes for node in test.get("bidi_component") if node.proto.bytes]
    headers = [json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")]) for data in sent]
    return [header for header in headers if "asked" in header]


def test_characters_that_the_model_never_learned_are_named():
    test = opened()
    assert "no piece for" not in texts(test)
    submit(test, "I have a 🙂 and 漢 🙂.")
    assert "no piece for 🙂 漢:" in texts(test)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_with_something_to_look_at(page):
    test = opened(page)
    assert healthy(test) and not test.warning
    assert len(browsers(test)) == {"pages/translate.py": 3, "pages/about.py": 0, COMPARE: 0}.get(page, 1)
    charts = {"pages/cross_attention.py": 2, COMPARE: 3, "pages/about.py": 2}
    assert len(test.get("vega_lite_chart")) == charts.get(page, 0)


def test_a_sentence_is_translated():
    test = opened()
    submit(test, "I have a dream.")
    assert healthy(test)
    expected = Translator.load(device="cpu").translate("I have a dream.").target_text
    assert expected in texts(test).replace("\\", "")
    assert test.query_params["text"] == "I have a dream."


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_translated(example):
    test = opened("pages/cross_attention.py")
    test.selectbox("example").set_value(example).run()
    assert healthy(test) and test.text_input("text").value == example
    assert test.selectbox("example").value is None


@pytest.mark.parametrize("page", ATTENTION)
@pytest.mark.parametrize(("layer", "head"), [(1, 1), (6, 8), (3, 5)])
def test_every_layer_and_head_can_be_chosen(page, layer, head):
    test = opened(page, text="I have a dream.", layer=str(layer), head=str(head))
    assert healthy(test)
    (header,) = browsers(test)
    assert (header["asked"]["choice"]["layer"], header["asked"]["choice"]["head"]) == (layer - 1, head - 1)
    assert f"The numbers of layer {layer}, head {head}" in [expander.label for expander in test.expander]
    table = test.dataframe[0].value
    view = view_of(Translator.load(device="cpu").translate("I have a dream."), ATTENTION[page])
    expected = [
        f"{decimals(weight):.4f}" if seen else "masked"
        for weight, seen in zip(view.weights[layer - 1, head - 1].ravel(), view.mask.ravel(), strict=True)
    ]
    assert list(table["weight"]) == expected


@pytest.mark.parametrize("page", ATTENTION)
@pytest.mark.parametrize("words", ["false", "true"])
@pytest.mark.parametrize("hide", ["false", "true"])
def test_every_arrangement_is_explained(page, words, hide):
    test = opened(page, text="The old man is reading a newspaper.", layer="2", words=words, hide=hide)
    assert healthy(test) and not test.warning
    assert ("scaled up to 1" in texts(test)) == (hide == "true")
    assert ("sum over its pieces" in texts(test)) == (words == "true")


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", scale) for scale in SCALES] + [("palette", palette) for palette in PALETTES]
    + [("look", look) for look in LOOKS] + [("threshold", "25"), ("metric", "entropy"), ("rows", "0.2")],
)
def test_every_setting_reaches_the_browser(name, value):
    test = opened("pages/cross_attention.py", text="Hello.", **{name: value})
    assert healthy(test)
    asked = browsers(test)[0]["asked"]["choice"][name]
    assert asked == {"threshold": 25, "rows": [0, 2]}.get(name, value)


def test_a_shorter_sentence_lets_go_of_pieces_in_the_address_too():
    test = opened("pages/encoder_attention.py", text="I have a dream of a red car.", rows="0.7", columns="8")
    first = browsers(test)[0]["asked"]
    assert test.query_params["rows"] == "0.7" and first["choice"]["columns"] == [8]
    submit(test, "I see.")
    assert healthy(test) and test.query_params["rows"] == "0" and "columns" not in test.query_params
    assert browsers(test)[0]["asked"] == first, "the browser lets go by itself"
    assert browsers(test.run())[0]["asked"] == first and test.query_params["rows"] == "0"
    test = opened("pages/encoder_attention.py", text="I see.", rows="0.7")
    assert browsers(test)[0]["asked"]["choice"]["rows"] == [0] and test.query_params["rows"] == "0"


def test_pinned_pieces_are_summed_in_the_table():
    test = opened("pages/cross_attention.py", text="I have a dream.", rows="1.3", columns="0", layer="2")
    view = view_of(Translator.load(device="cpu").translate("I have a dream."), "cross")
    assert len(test.dataframe) == 2, "one column is no sum"
    told = test.dataframe[1].value["sum of rows 2, 4"]
    assert list(told.astype(float)) == pytest.approx(list(decimals(view.weights[1, 0, [1, 3]]).sum(axis=0)), abs=1e-9)


def test_choices_survive_a_change_of_page():
    test = opened("pages/encoder_attention.py", text="Where is the dog?", layer="4", head="7", words="true")
    for page in ("pages/about.py", "pages/cross_attention.py", "pages/translate.py", "pages/masked_attention.py"):
        test.switch_page(page).run()
        assert healthy(test)
    assert test.text_input("text").value == "Where is the dog?"
    asked = browsers(test)[0]["asked"]["choice"]
    assert (asked["layer"], asked["head"], asked["words"]) == (3, 6, True)
    assert test.query_params["layer"] == "4" and test.query_params["head"] == "7"


def test_the_browser_is_asked_again_only_for_something_new():
    """What the reader chose in the browser is not undone by what it was asked to show before."""
    test = opened("pages/encoder_attention.py", text="Hello.", layer="2")
    first = browsers(test)[0]["asked"]
    assert browsers(test.run())[0]["asked"] == first
    submit(test, "Hello again.")
    assert browsers(test)[0]["asked"] == first, "another sentence keeps the choice"
    test.switch_page("pages/about.py").run()
    test.switch_page("pages/encoder_attention.py").run()
    assert browsers(test)[0]["asked"]["number"] > first["number"], "a new browser on the page knows nothing"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_comparison_works(part, kind):
    address = {"text": "I have a dream.", "compare_part": part, "compare_kind": kind}
    test = opened(COMPARE, **address)
    assert healthy(test) and not test.warning
    drawn = {"heads": 3, "similarity": 2, "versus": 0, "layers": 3}
    assert len(test.get("vega_lite_chart")) == drawn[part]
    assert test.segmented_control("compare_part").value == part
    assert test.query_params.get("compare_kind", "encoder") == kind


def test_every_metric_can_be_mapped():
    test = opened(COMPARE, text="I have a dream.")
    for name in ("entropy", "distance", "alignment_read", "strongest_rarest"):
        test.selectbox("compare_metric").set_value(name).run()
        assert healthy(test) and test.query_params["compare_metric"] == name
        missing = sum("There is no such number" in caption.value for caption in test.caption)
        assert len(test.get("vega_lite_chart")) == 3 - missing


def test_a_word_is_followed_through_the_layers():
    test = opened(COMPARE, text="I have a dream.", compare_part="layers")
    test.selectbox("compare_row").set_value(3)
    test.selectbox("compare_head").set_value(6)
    test.toggle("compare_words").set_value(True)
    test.run()
    assert healthy(test) and "**Head 7 of every layer**" in texts(test)
    assert [test.query_params[name] for name in ("compare_row", "head", "words")] == ["3", "7", "true"]
    table = test.dataframe[0].value
    view = view_of(Translator.load(device="cpu").translate("I have a dream."), "encoder", words=True)
    assert list(table["largest is head"]) == [str(head) for head in view.weights[:, :, 3].argmax(axis=1).ravel() + 1]
    largest = view.weights[:, :, 3].max(axis=1).ravel()
    assert list(table["Largest of all heads of a layer"]) == pytest.approx(list(largest))
    submit(test, "No.")
    assert healthy(test) and test.query_params["compare_row"] == "1", "a word that a shorter sentence does not have"


def test_the_future_is_masked_through_the_layers():
    test = opened(COMPARE, text="I have a dream.", compare_part="layers", compare_kind="decoder", compare_row="1")
    spec = json.loads(test.get("vega_lite_chart")[0].proto.spec)
    assert "masked" in json.dumps(spec["encoding"]["color"])
    assert set(test.dataframe[0].value["to"].str[:2]) == {"1:", "2:"}


def maps(test: AppTest) -> list[dict]:
    """The maps that are drawn side by side."""
    (node,) = (node for node in test.get("bidi_component") if node.proto.json)
    return json.loads(node.proto.json)["sides"]


def test_the_mask_makes_weights_of_scores():
    test = opened("pages/masked_attention.py", text="I have a dream.", layer="3", head="2")
    scores, mask, weights = maps(test)
    trace = Translator.load(device="cpu").translate("I have a dream.", details=True)
    assert scores["values"] == pytest.approx(list(trace.details["decoder_scores"][2, 1].ravel()), abs=1e-4)
    assert not any(scores["masked"]) and mask["masked"] == weights["masked"] == list((~trace.decoder_mask).ravel())
    assert weights["values"] == pytest.approx(list(trace.decoder[2, 1].ravel()), abs=1e-4)
    size = len(trace.decoder_mask)
    kept = np.array(scores["values"]).reshape(size, size) + np.where(trace.decoder_mask, 0, -np.inf)
    softmax = np.exp(kept) / np.exp(kept).sum(axis=1, keepdims=True)
    assert weights["values"] == pytest.approx(list(softmax.ravel()), abs=2e-4)


def test_tired_against_wide():
    test = opened(COMPARE, compare_part="versus", text="x")
    first, second, difference = maps(test)
    assert healthy(test) and "differ most here" in texts(test)
    assert any("tired" in label for label in first["columns"]) and any("wide" in label for label in second["columns"])
    assert any("tired" in label and "wide" in label for label in difference["columns"])
    expected = [round(b - a, 4) for a, b in zip(first["values"], second["values"], strict=True)]
    assert difference["values"] == pytest.approx(expected, abs=1e-9)
    test.selectbox("compare_b_kind").set_value("cross").run()
    assert healthy(test) and len(maps(test)) == 2 and "no difference to draw" in texts(test)
    assert test.query_params["compare_b"].startswith("cross.")
    test.text_input("compare_a_text").set_value("  ").run()
    assert healthy(test) and ["nothing to read" in warning.value for warning in test.warning] == [True]


def test_the_head_that_differs_most_can_be_shown():
    test = opened(COMPARE, compare_part="versus", text="x", compare_a="encoder.1.1.words.I am tired.",
               compare_b="encoder.1.1.words.I am wide.")
    buttons = [button for button in test.button if button.label == "Show that head"]
    assert buttons or "differs most between" not in texts(test)
    for button in buttons:
        button.click()
        test.run()
        assert healthy(test) and "differs most between" not in texts(test)


def test_alignment_can_be_read_off_either_step():
    test = opened("pages/cross_attention.py", text="I have a dream.")
    test.segmented_control("alignment_shift").set_value(True).run()
    assert healthy(test) and test.query_params["shift"] == "true"


def test_another_translation_is_read_and_compared():
    test = opened("pages/cross_attention.py", text="I have a dream.")
    test.text_input("target").set_value("Ich habe einen Hund.")
    next(button for button in test.button if button.label == "Let the model read it").click()
    test.run()
    assert healthy(test) and test.query_params["target"] == "Ich habe einen Hund."
    given = Translator.load(device="cpu").read("I have a dream.", "Ich habe einen Hund.")
    assert f"log-probability {given.log_probs.sum():.2f} nats" in texts(test)
    assert browsers(test)[0]["queries"] == len(given.target_pieces)
    next(button for button in test.button if button.label == "Back to the model's own").click()
    test.run()
    assert "Read instead" not in texts(test) and not test.text_input("target").value


def test_another_translation_belongs_to_its_sentence():
    test = opened("pages/cross_attention.py", text="I have a dream.", target="Ich habe einen Hund.")
    assert "Read instead" in texts(test)
    submit(test, "Hello.")
    assert healthy(test) and "Read instead" not in texts(test) and "target" not in test.query_params


def test_too_long_a_translation_is_answered():
    test = opened("pages/cross_attention.py", text="Hello.", target="Hund " * 200)
    assert healthy(test) and "at most" in test.warning[0].value and len(browsers(test)) == 1


RUBBISH = ["", "0", "-1", "7", "99", "1e9", "nan", "²", "9" * 400, "001" + "0" * 5000, "<b>", "١"]


@pytest.mark.parametrize("value", RUBBISH)
def test_rubbish_in_an_address_falls_back(value):
    names = ("layer", "head", "words", "hide", "scale", "palette", "look", "threshold", "metric", "rows", "columns")
    test = opened("pages/cross_attention.py", text="Hello.", **dict.fromkeys(names, value))
    assert healthy(test) and not test.warning
    asked = browsers(test)[0]["asked"]["choice"]
    assert asked["layer"] in (0, 5) and asked["head"] in (0, 6, 7) and not asked["words"]


@pytest.mark.parametrize("page", READING)
@pytest.mark.parametrize("text", ["", "   ", "\t", "\x00", "\u200b"])
def test_nothing_typed_is_answered(page, text):
    test = opened(page, text="x")
    submit(test, text)
    assert healthy(test)
    assert ["nothing to read" in warning.value for warning in test.warning] == [True]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_itself(text):
    test = opened("pages/encoder_attention.py", text=text, words="true")
    assert healthy(test) and not test.warning
    assert test.text_input("text").value == text
    assert not any(markup in texts(test) for markup in MARKUP)
    test.switch_page("pages/translate.py").run()
    assert healthy(test)


def test_too_long_a_text_is_answered_and_kept():
    test = opened(text="x")
    for text, reason in (("word " * 1000, "pieces"), ("a" * 50_000, "characters")):
        submit(test, text)
        assert healthy(test) and reason in test.warning[0].value
        assert test.text_input("text").value == text
        assert f"{MAX_PIECES} pieces" in test.text_input("text").label


def test_a_text_of_exactly_the_limit_is_accepted():
    test = opened("pages/masked_attention.py", text="1" * (MAX_PIECES - 1))
    assert healthy(test) and not test.warning and browsers(test)[0]["keys"] == MAX_PIECES + 1


def test_the_device_can_be_changed():
    test = opened("pages/about.py")
    assert "cpu" in test.selectbox("device").options or "CPU" in test.selectbox("device").options
    test.selectbox("device").set_value("cpu").run()
    assert healthy(test)


def test_about_shows_the_card_the_curve_and_the_parameters():
    test = opened("pages/about.py")
    assert "CC BY-SA 4.0" in texts(test) and "How it learned" in texts(test)
    (curve,) = [table.value for table in test.dataframe]
    assert list(curve.columns) == ["step", "epoch", "loss, training", "loss, held out", "chrF"]
    assert curve["step"].is_monotonic_increasing and curve["chrF"].iloc[-1] > 50
    assert [metric.value for metric in test.metric] == ["13.1 M", "6 + 6", "8", "8,000"]


def test_another_head_costs_no_forward_pass(monkeypatch):
    runs = []
    translate = Translator.translate
    monkeypatch.setattr(Translator, "translate", lambda self, text: runs.append(text) or translate(self, text))
    test = opened("pages/encoder_attention.py", text="A sentence nobody has typed before.")
    assert len(runs) <= 2, "the example of the first visit, and this one"
    before = len(runs)
    for name, value in (("layer", "2"), ("head", "3"), ("words", "true"), ("look", "lines"), ("threshold", "9")):
        test.query_params[name] = value
        test.run()
        assert browsers(test)[0]["asked"]["choice"] != {}
    test.switch_page("pages/cross_attention.py").run()
    assert len(runs) == before


def test_a_damaged_model_is_one_message(monkeypatch, tmp_path):
    import streamlit as st

    st.cache_resource.clear()
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda device=None: load(tmp_path, device))
    for page in PAGES:
        test = opened(page)
        assert not test.exception
        assert [("config" in error.value, "missing" in error.value) for error in test.error] == [(True, True)]
        assert test.selectbox("device").options, "another device can still be chosen"
    monkeypatch.undo()
    st.cache_resource.clear()
