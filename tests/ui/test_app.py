"""Tests of the pages and their controls, mostly with the shipped model, without a browser."""

import json
from itertools import product

import numpy as np
import pytest
import torch
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from attention_atlas.browser.wire import unframe
from pages.ui.params.attention import LOOKS, PALETTES, SCALES
from pages.ui.params.pages import PAGES as ALL_PAGES
from pages.ui.params.pages import sections
from pages.ui.reading.pairs import PAIRS
from pages.ui.runs.models import MODELS
from pages.ui.state.session import EXAMPLES
from pages.ui.text.number_format import rounded, typeset
from tests.ui.driver import (
    DREAM,
    GIVEN,
    MARKUP,
    MIXED,
    box,
    chooser,
    drawn_maps,
    expand,
    headers,
    healthy,
    messages,
    opened,
    send,
    submit,
    tell,
    texts,
    typed,
    unescaped,
)
from transformer.analysis.heads.clearest_head import clearest_head
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.view import view_of
from transformer.decoding.texts import MAX_TOKENS
from transformer.model import devices
from transformer.running.translator import Translator

ATTENTION = {
    "pages/encoder_attention.py": "encoder",
    "pages/masked_attention.py": "decoder",
    "pages/cross_attention.py": "cross",
}
COMPARE = "pages/compare_heads.py"


def test_characters_outside_the_vocabulary_are_reported():
    test = opened()
    assert not test.warning
    submit(test, "I have a 🙂 and 漢 🙂.")
    assert [("no token for 🙂, 漢." in each.value) for each in test.warning] == [True]


def test_component_messages_contain_script_urls_instead_of_scripts():
    """Scripts of half a megabyte used to be sent to every user with every sentence."""
    sent = [node.proto.js_content for node in opened().get("bidi_component")]
    assert len(sent) > 5 and all("static/atlas/" in script and len(script) < 300 for script in sent)


@pytest.mark.parametrize(
    ("menu", "page", "title"),
    [
        pytest.param(number, page.name, page.title, marks=[pytest.mark.thorough] if place else [])
        for number, listed in enumerate(sections().values(), 1)
        for place, page in enumerate(listed)
    ],
)
def test_menu_shows_the_name_of_the_open_page(monkeypatch, menu, page, title):
    """Covers a server's first user, for whom Streamlit first runs the page's file without app.py."""
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    test = opened(f"pages/{page}.py", text=" ")
    styles = [node.proto.body for node in test.get("html") if "stTopNavSection" in node.proto.body]
    assert sum(f"> :nth-child({menu}) " in style and f'content: ": {title}"' in style for style in styles) == 1
    assert [each.value for each in test.title] == [title]
    assert title not in [each.value for each in test.subheader]


def test_submitted_sentence_is_translated_and_stored_in_the_url(shipped):
    test = opened()
    submit(test, "I have a dream.")
    assert healthy(test)
    expected = shipped.trace("I have a dream.").target_text
    assert expected in texts(test).replace("\\", "")
    assert test.query_params["text"] == "I have a dream."


@pytest.mark.parametrize(
    "example", [EXAMPLES[-1], *(pytest.param(example, marks=pytest.mark.thorough) for example in EXAMPLES[:-1])]
)
def test_chosen_example_is_copied_into_the_text_box(example):
    test = opened("pages/cross_attention.py")
    test.selectbox("example").set_value(example).run()
    assert healthy(test) and typed(test) == example
    assert test.selectbox("example").value is None


@pytest.mark.parametrize(
    ("page", "layer", "head"), [(page, *head) for page, head in zip(ATTENTION, [(1, 1), (6, 8), (3, 5)], strict=True)]
)
def test_table_lists_the_weights_of_the_head_named_in_the_url(shipped, page, layer, head):
    test = opened(page, text="I have a dream.", layer=str(layer), head=str(head), words="false")
    assert healthy(test)
    (header,) = headers(test)
    assert (header["asked"]["choice"]["layer"], header["asked"]["choice"]["head"]) == (layer - 1, head - 1)
    assert f"The numbers for layer {layer}, head {head}" in [expander.label for expander in test.expander]
    table = expand(test).dataframe[0].value
    view = view_of(shipped.trace("I have a dream."), ATTENTION[page])
    expected = [
        f"{rounded(weight):.4f}" if seen else "masked"
        for weight, seen in zip(view.weights[layer - 1, head - 1].ravel(), view.mask.ravel(), strict=True)
    ]
    assert list(table["weight"]) == expected


@pytest.mark.parametrize(
    ("page", "words", "hide"),
    [
        (page, *arrangement)
        for page, arrangement in zip(
            [*ATTENTION, "pages/cross_attention.py"], product(["false", "true"], repeat=2), strict=True
        )
    ],
)
def test_page_explains_how_hiding_symbols_and_merging_tokens_change_the_map(page, words, hide):
    test = opened(page, text="The old man is reading a newspaper.", layer="2", words=words, hide=hide)
    assert healthy(test)
    assert ("scaled up to a sum of 1" in texts(test)) == (hide == "true")
    assert ("attention to it is summed" in texts(test)) == (words == "true")


@pytest.mark.parametrize(
    ("scale", "palette", "look"),
    [
        (SCALES[number % len(SCALES)], PALETTES[number % len(PALETTES)], LOOKS[number % len(LOOKS)])
        for number in range(max(map(len, (SCALES, PALETTES, LOOKS))))
    ],
)
def test_every_display_setting_is_sent_to_the_browser(narrow_app, scale, palette, look):
    settings = {"scale": scale, "palette": palette, "look": look, "metric": "entropy"}
    test = opened("pages/cross_attention.py", text=DREAM, **GIVEN, **settings, threshold="25", rows="0.2")
    assert healthy(test)
    asked = headers(test)[0]["asked"]["choice"]
    assert {name: asked[name] for name in (*settings, "threshold", "rows")} == {
        **settings,
        "threshold": 25,
        "rows": [0, 2],
    }


def test_pins_of_nonexistent_tokens_are_dropped():
    test = opened("pages/encoder_attention.py", text="I see.", encoder_rows="0.7")
    assert headers(test)[0]["asked"]["choice"]["rows"] == [0] and test.query_params["encoder_rows"] == "0"


def test_pinned_tokens_are_summed_in_the_table(shipped):
    test = opened("pages/cross_attention.py", text="I have a dream.", rows="1.3", columns="0", layer="2", words="false")
    view = view_of(shipped.trace("I have a dream."), "cross")
    assert len(expand(test).dataframe) == 2, "one column is no sum"
    reported = test.dataframe[1].value["sum of rows 2, 4"]
    expected = rounded(view.weights[1, 0, [1, 3]]).sum(axis=0)
    assert list(reported.astype(float)) == pytest.approx(list(expected), abs=1e-9)


def test_browser_receives_a_new_request_only_if_the_choice_changes():
    """A repeated request would undo a choice that the user has made in the browser in the meantime."""
    test = opened("pages/encoder_attention.py", text="Hello.", layer="2")
    first = headers(test)[0]["asked"]
    assert headers(test.run())[0]["asked"] == first
    submit(test, "Hello again.")
    assert headers(test)[0]["asked"] == first, "another sentence keeps the choice"
    test.switch_page("pages/about.py").run()
    test.switch_page("pages/encoder_attention.py").run()
    assert headers(test)[0]["asked"]["number"] > first["number"], "a new browser on the page knows nothing"


@pytest.mark.parametrize("part", ALL_PAGES["compare_heads"].parts)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_part_of_the_compare_heads_page_draws_charts_for_every_attention_kind(part, kind):
    address = {"text": "I have a dream.", "compare_part": part, "compare_kind": kind}
    test = opened(COMPARE, **address)
    assert healthy(test)
    drawn = {"heads": 3, "similarity": 2, "two_heads": 0, "layers": 3, "models": 1}
    assert len(test.get("vega_lite_chart")) == drawn[part]
    assert test.segmented_control("compare_part").value == part
    assert test.query_params.get("compare_kind", "encoder") == kind


@pytest.mark.parametrize(
    ("name", "maps"), [("entropy", 3), ("distance", 2), ("alignment_read", 1), ("strongest_rarest", 3), ("worth", 3)]
)
def test_chosen_metric_is_drawn_for_each_attention_kind_that_defines_it(name, maps):
    """Distance to a token and alignment are defined only for some attention kinds."""
    test = opened(COMPARE, text="I have a dream.")
    test.selectbox("compare_metric").set_value(name).run()
    assert healthy(test) and test.query_params["compare_metric"] == name
    missing = sum("This measurement is not defined" in caption.value for caption in test.caption)
    assert (len(test.get("vega_lite_chart")), missing) == (maps, 3 - maps)


def test_page_shows_the_strongest_links_of_a_word_in_every_layer(shipped):
    test = opened(COMPARE, text="I have a dream.", compare_part="layers")
    chooser(test, "compare_row").set_value(4)
    test.selectbox("compare_head").set_value(6)
    test.toggle("compare_words").set_value(False)
    test.run()
    assert healthy(test) and "**Head 7 of every layer**" in texts(test)
    assert [test.query_params[name] for name in ("compare_row", "head", "words")] == ["5", "7", "false"]
    table = expand(test).dataframe[0].value
    view = view_of(shipped.trace("I have a dream."), "encoder")
    heads = view.weights[:, :, 4].argmax(axis=1).ravel() + 1
    assert list(table["head with the largest weight"]) == [str(head) for head in heads]
    largest = view.weights[:, :, 4].max(axis=1).ravel()
    assert list(table["Largest weight of a layer's heads"]) == pytest.approx(list(largest), rel=1e-5)
    submit(test, "No.")
    assert healthy(test) and test.query_params["compare_row"] == "3", "a token that a shorter sentence does not have"


def test_strongest_head_of_each_layer_is_shown_as_a_link(shipped):
    """The section opens at the row with the strongest link of the clearest head, and names the strongest head of each
    layer in this row.
    """
    test = opened(COMPARE, text="I have a dream.", compare_part="layers")
    view = view_of(shipped.trace("I have a dream."), "encoder", words=True)
    row = chooser(test, "compare_row").value
    (parts,) = paragraphs(test)
    heads = [part for part in parts if isinstance(part, dict)]
    assert [(one["layer"], one["head"]) for one in heads] == [
        (layer, int(weights.max(axis=1).argmax())) for layer, weights in enumerate(view.weights[:, :, row])
    ]
    spec = json.loads(test.get("vega_lite_chart")[2].proto.spec)
    assert "pick" in json.dumps(spec.get("params") or spec["layer"][0]["params"])


def test_masked_attention_shows_no_weight_on_later_tokens():
    test = opened(COMPARE, text="I have a dream.", compare_part="layers", compare_kind="decoder", compare_row="2")
    spec = json.loads(test.get("vega_lite_chart")[0].proto.spec)
    assert "masked" in json.dumps(spec["encoding"]["color"])
    assert set(expand(test).dataframe[0].value["to"].str[:2]) == {"1:", "2:"}


def paragraphs(test: AppTest) -> list[list]:
    """Return every text that links to heads, as a list of strings and links."""
    return [data["parts"] for _, data in messages(test, "parts")]


def test_masked_attention_page_shows_scores_and_weights(shipped):
    test = opened("pages/masked_attention.py", text="I have a dream.", layer="3", head="2")
    scores, mask, weights = drawn_maps(test)
    trace = shipped.trace("I have a dream.", details=True)
    assert scores["values"] == pytest.approx(list(trace.detail("decoder", "scores")[2, 1].ravel()), abs=1e-4)
    assert not any(scores["masked"]) and mask["masked"] == weights["masked"] == list((~trace.decoder_mask).ravel())
    assert weights["values"] == pytest.approx(list(trace.decoder[2, 1].ravel()), abs=1e-4)
    size = len(trace.decoder_mask)
    remaining = np.array(scores["values"]).reshape(size, size) + np.where(trace.decoder_mask, 0, -np.inf)
    softmax = np.exp(remaining) / np.exp(remaining).sum(axis=1, keepdims=True)
    assert weights["values"] == pytest.approx(list(softmax.ravel()), abs=2e-4)


def test_two_heads_section_compares_two_example_sentences_by_default():
    test = opened(COMPARE, compare_part="two_heads", text="x")
    first, second, difference = drawn_maps(test)
    assert healthy(test) and "differs most: it is" in texts(test)
    assert any("tired" in label for label in first["columns"]) and any("wide" in label for label in second["columns"])
    assert any("tired" in label and "wide" in label for label in difference["columns"])
    expected = [round(b - a, 4) for a, b in zip(first["values"], second["values"], strict=True)]
    assert difference["values"] == pytest.approx(expected, abs=1e-9)
    test.selectbox("compare_b_kind").set_value("cross").run()
    assert healthy(test) and len(drawn_maps(test)) == 2 and "The difference cannot be shown" in texts(test)
    assert test.query_params["compare_b"].startswith("cross.")
    test.text_input("compare_a_text").set_value("  ").run()
    assert healthy(test, warned=True) and ["Type a sentence" in warning.value for warning in test.warning] == [True]


def test_clicking_a_listed_head_shows_it_in_both_maps():
    test = opened(
        COMPARE,
        compare_part="two_heads",
        text="x",
        compare_a="encoder.1.1.words.I am tired.",
        compare_b="encoder.1.1.words.I am wide.",
    )
    listed = [button for button in test.button if button.key.startswith("compare_open_")]
    numbers = [float(button.label.rpartition(": ")[2]) for button in listed]
    assert len(listed) == 5 and numbers == sorted(numbers, reverse=True)
    key = listed[0].key
    listed[0].click()
    test.run()
    assert healthy(test) and test.button(key).disabled, "it is the one that is shown"
    kind, layer, head = key.removeprefix("compare_open_").split("_")
    for name in "ab":
        assert test.query_params[f"compare_{name}"].startswith(f"{kind}.{int(layer) + 1}.{int(head) + 1}.words.I am")


def test_user_can_compare_example_sentence_pairs_or_a_typed_sentence():
    test = opened(COMPARE, compare_part="two_heads", text="I have a dream.")
    for number, pair in enumerate(PAIRS):
        test.button(f"compare_pair_{number}").click().run()
        assert healthy(test) and [test.text_input(f"compare_{name}_text").value for name in "ab"] == [pair.a, pair.b]
        assert f"*{pair.word}* becomes **" in texts(test) and texts(test).count("**German:**") == 2
    test.button("compare_mine").click().run()
    assert healthy(test) and "becomes **" not in texts(test)
    assert {test.text_input(f"compare_{name}_text").value for name in "ab"} == {"I have a dream."}
    test.text_input("compare_b_text").set_value("I have a dog.").run()
    assert healthy(test) and "The translations differ here" in texts(test)


def test_alignment_step_is_stored_in_the_url_and_cannot_be_cleared():
    test = opened("pages/cross_attention.py", text="I have a dream.")
    test.segmented_control("alignment_shift").set_value(True).run()
    assert healthy(test) and test.query_params["shift"] == "true"
    test.segmented_control("alignment_shift").set_value(None).run()
    assert healthy(test) and test.query_params["shift"] == "true", "one of them is always chosen"


def test_repeated_words_in_the_coverage_chart_are_numbered():
    test = opened("pages/cross_attention.py", text="The man gave the book to the girl.")
    _, coverage = test.get("vega_lite_chart")
    assert healthy(test) and "the (2)" in coverage.proto.spec


def test_user_translation_is_read_and_compared_with_the_model_translation(shipped):
    test = opened("pages/cross_attention.py", text="I have a dream.")
    submit(test, "Ich habe einen Hund.", "another")
    assert healthy(test) and test.query_params["target"] == "Ich habe einen Hund."
    given = shipped.trace("I have a dream.", "Ich habe einen Hund.")
    assert f"log-probability {typeset(given.log_probs.sum())} nats" in texts(test)
    assert headers(test)[0]["queries"] == len(given.target_tokens)
    next(button for button in test.button if button.label == "Back to the model's translation").click()
    test.run()
    assert "The model now reads" not in texts(test) and typed(test, "another") == ""


def test_user_translation_is_dropped_when_the_sentence_changes():
    test = opened("pages/cross_attention.py", text="I have a dream.", target="Ich habe einen Hund.")
    assert "The model now reads" in texts(test)
    submit(test, "Hello.")
    assert healthy(test) and "The model now reads" not in texts(test) and "target" not in test.query_params


def test_too_long_translation_is_reported():
    test = opened("pages/cross_attention.py", text="Hello.", target="Hund " * 200)
    assert healthy(test, warned=True) and "the limit is" in test.warning[-1].value and len(headers(test)) == 1


def test_empty_text_box_offers_three_example_sentences(shipped):
    test = opened("pages/cross_attention.py", text=" ")
    offered = [button for button in test.button if button.label in EXAMPLES]
    assert [button.label for button in offered] == list(EXAMPLES[:3])
    offered[2].click()
    test.run()
    assert healthy(test) and typed(test) == EXAMPLES[2] == test.query_params["text"]


def test_page_states_the_limits_of_the_small_model_only_once():
    test = opened()
    for text in ("She met Obama in 1987.", "I have a dream."):
        submit(test, text)
        assert healthy(test) and texts(test).count("This small model") == 1
        assert not any("This small model" in each.value for each in test.caption)


@pytest.mark.parametrize("page", ["pages/translate.py", "pages/cross_attention.py", "pages/switch_heads_off.py"])
def test_warning_about_a_translation_is_shown_above_the_translation(page):
    test = opened(page, text="Der Hund ist nicht im Garten.")
    drawn = list(test.main)
    warned = next(at for at, each in enumerate(drawn) if each.type == "warning" and "English" in each.value)
    written = next(
        at for at, each in enumerate(drawn) if each.type == "markdown" and "Garten" in each.value and at != warned
    )
    assert warned < written


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The animal didn't cross the street because it was too wide.", True),
        ("The animal didn't cross the street because it was too tired.", False),
    ],
)
def test_example_that_the_model_gets_wrong_is_labelled_wrong(text, wrong):
    test = opened(text=text)
    translation = next(each.value for each in test.markdown if each.value.startswith("**German:**"))
    assert ("“es” is wrong here" in translation) == wrong


def test_explanation_of_the_small_maps_is_shown_above_the_maps():
    drawn = [getattr(each, "value", "") for each in opened(text="I have a dream.").main]
    explained = next(at for at, value in enumerate(drawn) if "Each small picture is one attention head" in str(value))
    assert explained < next(at for at, value in enumerate(drawn) if "Choose a head to enlarge it" in str(value))


@pytest.mark.parametrize("page", ATTENTION)
def test_page_opens_and_names_the_clearest_head_if_the_url_names_no_head(shipped, page):
    text = "She gave the book to her brother yesterday."
    test = opened(page, text=text)
    trace = shipped.trace(text)
    telling = clearest_head(trace, head_metrics(trace, ATTENTION[page], shipped.tokenizer.scores))
    asked = headers(test)[0]["asked"]["choice"]
    assert (asked["layer"], asked["head"]) == (telling.layer, telling.head)
    assert {"layer", "head"}.isdisjoint(test.query_params), "nobody chose it"
    said = next(parts for parts in paragraphs(test) if parts[0] == "This is ")
    assert said[1]["text"] == f"layer {telling.layer + 1}, head {telling.head + 1}" and telling.name in said[2]
    chosen = opened(page, text=text, layer="1", head="1")
    assert headers(chosen)[0]["asked"]["choice"]["layer"] == 0 == headers(chosen)[0]["asked"]["choice"]["head"]
    assert any(parts[0].startswith("Suggested head: ") for parts in paragraphs(chosen))


def test_url_contains_the_head_only_after_the_user_chooses_one():
    test = opened("pages/encoder_attention.py", text="I have a dream.")
    (header,) = headers(test)
    sent = [node for node in test.get("bidi_component") if node.proto.bytes]
    (node,) = (node for node in sent if "asked" in unframe(node.proto.bytes)[0])
    tell(test, node, {"choice": {**header["asked"]["choice"], "palette": "magma", "id": header["id"]}})
    assert test.query_params["palette"] == "magma" and "layer" not in test.query_params
    tell(test, node, {"choice": {**header["asked"]["choice"], "layer": 0, "head": 0, "id": header["id"]}})
    assert [test.query_params[name] for name in ("layer", "head")] == ["1", "1"]


def test_head_named_in_a_text_is_a_link():
    test = opened(text="I have a dream.")
    named = messages(test, "parts")
    assert len(named) == 3
    node, data = named[2]
    link = next(part for part in data["parts"] if isinstance(part, dict))
    send(test, node, "open", {"kind": link["kind"], "layer": link["layer"], "head": link["head"]})
    assert healthy(test) and headers(test)[0]["kind"] == "cross"
    assert [test.query_params[name] for name in ("layer", "head")] == [str(link["layer"] + 1), str(link["head"] + 1)]


def test_clicking_a_part_of_the_model_drawing_opens_the_page_about_that_part():
    test = opened(text="I have a dream.", layer="3", head="5")
    ((drawn, large),) = messages(test, "here")
    assert large["source"] == "I have a dream."
    assert large["layers"] == {"encoder": 6, "decoder": 6}
    for shown in large["kinds"].values():
        assert shown["head"].startswith("layer 3, head 5") and shown["map"].startswith("data:image/png;base64,")
    for hostile in ("<b>", ["<b>", {}], ["translate"], [7, {"layer": 3}], {"layer": 3}):
        send(test, drawn, "open", hostile)
        assert healthy(test) and len(headers(test)) == 3, "there is no such page"
    send(test, drawn, "open", "cross_attention")
    assert healthy(test) and len(headers(test)) == 1 and typed(test) == "I have a dream."
    assert [test.query_params[name] for name in ("text", "layer", "head")] == ["I have a dream.", "3", "5"]


def test_clicking_a_link_between_two_words_opens_its_head_with_the_row_of_the_word_pinned(shipped):
    text = "The animal didn't cross the street because it was too tired."
    test = opened(text=text)
    ((drawn, large),) = messages(test, "here")
    story = large["story"]
    source = story["source"]
    assert source["words"][story["opens"]] == "it"
    links = [story["links"][number] for number in source["looks"][story["opens"]]]
    assert story["first"] == 3 and len(links) == 7
    assert [source["words"][link[2]] for link in links[:3]] == ["tired", "too", "animal"], "as on Encoder attention"
    (animal,) = [link for link in links if source["words"][link[2]] == "animal"]
    assert animal[0] == "encoder" and animal[3:5] == [5, 0]
    (row,), columns = source["rows"][animal[1]], source["columns"][animal[2]]
    assert animal[5] == pytest.approx(float(shipped.trace(text).encoder[5, 0, row, columns].sum()), abs=1e-4)
    address = {"text": text, "layer": "6", "head": "1", "encoder_rows": str(row), "lecture": "<b>", "rows": "-1"}
    send(test, drawn, "open", ["encoder_attention", address])
    assert healthy(test) and headers(test)[0]["kind"] == "encoder"
    shown = headers(test)[0]["asked"]["choice"]
    assert (shown["layer"], shown["head"], shown["rows"]) == (5, 0, [row])


@pytest.mark.parametrize("frame", [0, 8])
def test_introduction_asks_the_user_to_choose_a_word_unless_the_film_is_open(frame):
    test = opened(text="I have a dream.", film_frame=str(frame))
    assert healthy(test) and "See how a Transformer translates" in texts(test)
    assert ("Choose a word below" in texts(test)) == (frame == 0)


def test_untrusted_text_is_shown_literally(narrow_app):
    """The text is both source and translation, so any model will do. tests/unit/robustness/test_any_text.py covers
    arbitrary texts.
    """
    test = opened("pages/encoder_attention.py", text=MIXED, target=MIXED, words="true")
    assert healthy(test) and typed(test) == MIXED
    assert not any(markup in unescaped(test) for markup in MARKUP)
    (header,) = headers(test)
    assert "\u202e" not in json.dumps({**header, "texts": None}, ensure_ascii=False), "it would turn round the labels"
    test.switch_page("pages/translate.py").run()
    assert healthy(test)
    assert not any("\u202e" in str(data.get("source")) for _, data in messages(test, "here"))


def test_too_long_text_is_reported_and_kept():
    test = opened(text="x")
    for text, reason in (("word " * 1000, "tokens"), ("a" * 50_000, "characters")):
        submit(test, text)
        assert healthy(test, warned=True) and reason in test.warning[0].value
        assert typed(test) == text and f"{MAX_TOKENS} tokens" in box(test)["label"]


@pytest.mark.parametrize(
    "page",
    [
        "pages/about.py",
        *(
            pytest.param(f"pages/{page}.py", marks=pytest.mark.thorough)
            for page in ("cross_attention", "language_model")
        ),
    ],
)
def test_device_menu_appears_if_there_are_several_devices(monkeypatch, page):
    test = opened(page, text="I have a dream.")
    assert healthy(test) and "device" not in [each.key for each in test.selectbox]
    # Simulate a second device whose memory is full.
    ones = torch.ones

    def on_a_full_device(*size, device="cpu"):
        if device == "mps":
            raise RuntimeError("MPS backend out of memory")
        return ones(*size, device=device)

    monkeypatch.setattr(torch, "ones", on_a_full_device)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    devices._works.cache_clear()
    try:
        test.session_state["device"] = "cpu"
        test.run()
        assert healthy(test) and test.selectbox("device").value == "cpu"
        assert {each.lower() for each in test.selectbox("device").options} >= {"mps", "cpu"}
    finally:
        devices._works.cache_clear()


def test_about_page_shows_model_card_learning_curve_and_parameters():
    test = opened("pages/about.py")
    said = texts(test)
    assert "CC BY-SA 4.0" in said and "How it learned" in said
    assert said.index("**Limits.**") < said.index("**Training.**"), "where it fails comes before how it was made"
    assert "Lecture sentences" in [part.label for part in test.expander]
    (curve,) = [table.value for table in expand(test).dataframe]
    assert list(curve.columns) == ["step", "epoch", "loss, training", "loss, held out", "chrF"]
    assert curve["step"].is_monotonic_increasing and curve["chrF"].iloc[-1] > 50
    assert [metric.value for metric in test.metric] == ["17.2 M", "6 + 6", "8", "24,000"]


def test_choosing_another_head_needs_no_forward_pass(monkeypatch):
    runs = []
    translate = Translator.translate
    monkeypatch.setattr(Translator, "translate", lambda self, text: runs.append(text) or translate(self, text))
    test = opened("pages/encoder_attention.py", text="A sentence nobody has typed before.")
    assert len(runs) <= 2, "the example of the first visit, and this one"
    before = len(runs)
    for name, value in (("layer", "2"), ("head", "3"), ("words", "true"), ("look", "lines"), ("threshold", "9")):
        test.query_params[name] = value
        test.run()
        assert headers(test)[0]["asked"]["choice"] != {}
    test.switch_page("pages/cross_attention.py").run()
    assert len(runs) == before


def test_damaged_model_causes_a_single_error_message(monkeypatch, tmp_path):
    MODELS.clear()
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda folder, device=None: load(tmp_path, device))
    # The lesson list needs no model.
    for page in (each.script for name, each in ALL_PAGES.items() if each.needs == "translator" and name != "lessons"):
        test = opened(page)
        assert not test.exception
        assert [("config" in error.value, "missing" in error.value) for error in test.error] == [(True, True)], page
    monkeypatch.undo()
    MODELS.clear()
