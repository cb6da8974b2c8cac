"""Tests that typed text and choices survive any sequence of pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.ui.params.pages import PAGES
from pages.ui.params.state import TARGET, TEXT, State
from pages.ui.state.session import EXAMPLES
from tests.properties import few, many
from tests.ui.driver import DREAM, box, chooser, headers, healthy, opened, submit, tell, typed
from tests.unit.robustness.test_any_address import ADDRESSES
from transformer.text.normalisation import replace_surrogates


def followed() -> None:
    # AppTest runs the source of this function alone, without the imports of this file.
    import streamlit as st

    from pages.ui.state.session import follow_address

    follow_address(st.session_state["open"])


def keeps_address(text: str, target: str, address: dict[str, str], pages: list[str]) -> None:
    """Check that going from page to page keeps the text, the translation and the parameters, although menu links
    contain only the page's name.
    """
    test = AppTest.from_function(followed)
    test.query_params.update(
        State.from_address({**address, TEXT: replace_surrogates(text), TARGET: replace_surrogates(target)}).to_address()
    )
    kept = {}
    for number, page in enumerate(pages):
        test.session_state["open"] = page
        if number:
            test.query_params.clear()
        test.run()
        assert not test.exception
        written = dict(test.query_params)
        assert (written[TEXT], written.get(TARGET, "")) == (replace_surrogates(text), replace_surrogates(target))
        # On the first page, pins without an attention kind are assigned to that page's kind.
        assert number == 0 or {**kept, **written} == written
        kept = {name: value for name, value in written.items() if name not in ("rows", "columns")}


# A few page sequences suffice in most test runs, because tests/ui/test_every_page.py opens and leaves all pages and
# parts of pages.
WALKS = {
    "text": st.text(max_size=40),
    "target": st.text(max_size=40),
    "address": ADDRESSES,
    "pages": st.lists(st.sampled_from(list(PAGES)), min_size=2, max_size=6),
}
test_any_sequence_of_pages_keeps_text_translation_and_parameters = few(25)(given(**WALKS)(keeps_address))
test_two_thousand_sequences_of_pages_keep_text_translation_and_parameters = many(2_000)(given(**WALKS)(keeps_address))


def test_url_without_a_sentence_uses_the_first_example():
    test = opened("pages/what_mattered.py", mattered_part="writers")
    assert healthy(test)
    assert test.segmented_control("mattered_part").value == "writers"
    assert typed(test) == test.query_params["text"] == EXAMPLES[0]


def pinned(test: AppTest) -> tuple[list[int], list[int]]:
    """Return the rows and columns that the attention browser was asked to pin."""
    choice = headers(test)[0]["asked"]["choice"]
    return choice["rows"], choice["columns"]


ENCODER, CROSS = "pages/encoder_attention.py", "pages/cross_attention.py"


def test_pins_are_kept_separately_for_each_attention_kind():
    test = opened(ENCODER, text=DREAM, encoder_rows="2", encoder_columns="1.3")
    assert pinned(test) == ([2], [1, 3])
    assert pinned(test.switch_page(CROSS).run()) == ([], [])
    assert test.query_params["encoder_rows"] == "2" and "rows" not in test.query_params
    test.switch_page("pages/about.py").run()
    assert pinned(test.switch_page(ENCODER).run()) == ([2], [1, 3])


def test_pins_in_an_old_url_apply_to_the_attention_kind_of_the_opened_page():
    test = opened(CROSS, text=DREAM, rows="2", columns="1")
    assert pinned(test) == ([2], [1])
    assert test.query_params["cross_rows"] == "2" and "rows" not in test.query_params
    assert pinned(test.switch_page(ENCODER).run()) == ([], [])
    address = {"inside_part": "cell", "inside_kind": "cross", "rows": "3", "columns": "2"}
    inside = opened("pages/inside_a_layer.py", text=DREAM, **address)
    assert (chooser(inside, "inside_rows").value, chooser(inside, "inside_columns").value) == (3, 2)
    assert inside.query_params["cross_rows"] == "3"


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("encoder_attention", {"layer": "1", "words": "false", "encoder_rows": "1", "encoder_columns": ""}),
        ("cross_attention", {"layer": "2", "rows": "2"}),
    ],
)
def test_link_to_a_figure_already_contains_the_full_url_of_the_page(monkeypatch, page, link):
    """A different URL would add an entry to the browser history."""
    address = {TEXT: DREAM, "head": "2", **link}
    test = opened(text=DREAM)
    test.session_state["_opened_by_drawing"] = [page, address]
    went = {}
    with monkeypatch.context() as patched:
        patched.setattr("streamlit.switch_page", lambda script, query_params: went.update({script: query_params}))
        test.run()
    assert healthy(test)
    written = dict(opened(f"pages/{page}.py", **address).query_params)
    assert went == {f"pages/{page}.py": written} and written.keys() != address.keys()


def test_pins_are_dropped_when_the_sentence_changes():
    test = opened(ENCODER, text=DREAM, encoder_rows="2", cross_rows="1")
    # The new sentence has the same default head as DREAM, so only the pins change.
    submit(test, "I have a cat.")
    assert healthy(test) and not [name for name in test.query_params if "rows" in name]
    # The browser releases the pins itself, so the server sends no new request.
    assert pinned(test) == ([2], []) and headers(test)[0]["asked"] == headers(test.run())[0]["asked"]
    test.switch_page(CROSS).run()
    assert pinned(test) == ([], [])


def test_pins_on_target_tokens_are_dropped_when_the_translation_changes():
    test = opened(ENCODER, text=DREAM, encoder_rows="2", decoder_rows="1", cross_columns="1")
    before = headers(test)[0]["asked"]["number"]
    submit(test, "Ich habe einen Hund.", "another")
    assert healthy(test) and test.query_params["encoder_rows"] == "2"
    assert "decoder_rows" not in test.query_params and "cross_columns" not in test.query_params
    # The browser has released all pins, so a new request restores the pin that is still valid.
    assert pinned(test) == ([2], []) and headers(test)[0]["asked"]["number"] > before


def test_decoding_settings_are_kept_with_the_translation_they_produced():
    def page() -> None:
        import streamlit as st

        from pages.ui.state import session

        session.follow_address("decoding")
        st.button("Read on all pages", on_click=session.read_instead, args=("Ein Hund.", "a beam of 4"))
        st.button("Read", on_click=session.read_target, args=("Eine Katze.",))

    test = AppTest.from_function(page)
    test.query_params.update({TEXT: DREAM, "forced": "5"})
    test.run().button[0].click().run()
    assert (test.query_params[TARGET], test.query_params["forced"]) == ("Ein Hund.", "5")
    test.button[1].click().run()
    assert test.query_params[TARGET] == "Eine Katze." and "forced" not in test.query_params


def test_requests_to_the_browser_have_increasing_numbers():
    """A page that stayed open during a server restart ignores request numbers that it has already received."""
    first, second = (headers(opened(ENCODER, text=DREAM))[0]["asked"]["number"] for _ in range(2))
    assert second > first


def test_pin_that_arrives_late_does_not_apply_to_the_next_sentence():
    """The browser reports a choice with a short delay; by then, it may show another sentence."""
    test = opened(ENCODER, text=DREAM)
    late = {**headers(test)[0]["asked"]["choice"], "rows": [4], "id": headers(test)[0]["id"]}
    submit(test, "I have a car.")
    # This head differs from the page's default head, which the URL omits.
    late["layer"] = (headers(test)[0]["asked"]["choice"]["layer"] + 1) % 6
    (node,) = (node for node in test.get("bidi_component") if node.proto.id.endswith("encoder_browser"))
    tell(test, node, {"choice": late})
    assert "encoder_rows" not in test.query_params and test.query_params["layer"] == str(late["layer"] + 1)
    tell(test, node, {"choice": {**late, "id": headers(test)[0]["id"]}})
    assert test.query_params["encoder_rows"] == "4"


def test_late_choice_from_the_browser_overrides_a_newer_server_request():
    """The browser reports a choice with a short delay; by then, the server may have requested another choice."""
    test = opened(ENCODER, text=DREAM)
    asked = headers(test)[0]["asked"]
    chosen = {**asked["choice"], "layer": (asked["choice"]["layer"] + 1) % 6, "id": headers(test)[0]["id"]}
    for request, again in ((asked["number"], False), (asked["number"] - 1, True)):
        (node,) = (node for node in test.get("bidi_component") if node.proto.id.endswith("encoder_browser"))
        chosen["layer"] = (chosen["layer"] + 1) % 6
        tell(test, node, {"choice": {**chosen, "request": request}})
        assert test.query_params["layer"] == str(chosen["layer"] + 1)
        now = headers(test)[0]["asked"]
        assert (now["number"] > asked["number"], now["choice"]["layer"] == chosen["layer"]) == (again, again)


def test_choice_from_a_browser_with_an_outdated_url_is_kept():
    """The browser may report a choice, even an unchanged one, before it receives the latest URL."""
    test = opened(ENCODER, text=DREAM)
    older = dict(test.query_params)
    choice = {**headers(test)[0]["asked"]["choice"], "id": headers(test)[0]["id"]}
    choice["layer"] = (choice["layer"] + 1) % 6
    for at in (1, 2):
        (node,) = (node for node in test.get("bidi_component") if node.proto.id.endswith("encoder_browser"))
        test.query_params.clear()
        test.query_params.update(older)
        tell(test, node, {"choice": {**choice, "at": at}})
        assert test.query_params["layer"] == str(choice["layer"] + 1), f"told {at} times"


def test_choosing_an_example_or_the_model_translation_replaces_unsent_text():
    test = opened(ENCODER, text=DREAM, target="Ich habe einen Hund.")
    before = box(test)["asked"]
    test.selectbox("example").set_value(EXAMPLES[1]).run()
    assert typed(test) == EXAMPLES[1] and box(test)["asked"] > before
    submit(test, "Ich habe ein Auto.", "another")
    before = box(test, "another")["asked"]
    next(button for button in test.button if button.label == "Back to the model's translation").click()
    test.run()
    assert typed(test, "another") == "" and box(test, "another")["asked"] > before


def test_invalid_value_from_a_text_box_is_ignored():
    test = opened(ENCODER, text=DREAM)
    for sent in (None, 3, ["x"], {"text": "x"}):
        submit(test, sent)
        assert healthy(test) and typed(test) == DREAM, sent


def test_lone_surrogate_from_a_browser_causes_no_error():
    """JSON from a component can contain a lone surrogate, which no page and no URL can show."""
    test = opened()
    submit(test, "I have a \ud800 dream.")
    assert healthy(test) and typed(test) == "I have a \ufffd dream."


@pytest.mark.parametrize(
    ("page", "address", "kept"),
    [
        pytest.param(
            "backpropagation",
            {"layer": "2", "backward_stage": "decoder.self_attention.values"},
            "Gradient with respect to",
            marks=pytest.mark.thorough,
        ),
        ("inside_a_layer", {"inside_part": "cell"}, "Layer"),
        ("compare_heads", {"compare_part": "layers"}, "Head"),
        *(
            pytest.param(page, {}, "or an example", marks=pytest.mark.thorough)
            for page in ("change_attention", "what_mattered")
        ),
    ],
)
def test_select_box_is_recreated_when_a_new_sentence_changes_its_options(narrow_app, page, address, kept):
    """Otherwise, the browser would keep showing and sending the label of an old option."""
    test = opened(f"pages/{page}.py", text=DREAM, **address)
    before = {each.id: each for each in test.selectbox}
    submit(test, "My brother reads a book.")
    same = [each for each in test.selectbox if each.id in before]
    assert healthy(test) and len(same) < len(test.selectbox) and kept in {each.label for each in same}
    assert all(each.options == before[each.id].options for each in same)


@pytest.mark.parametrize(
    ("page", "key", "address"),
    [
        ("what_mattered", "mattered_word", {}),
        ("change_attention", "edit_hidden_source", {}),
        ("change_attention", "edit_hidden_target", {}),
    ],
)
def test_buttons_for_repeated_words_have_different_labels(narrow_app, page, key, address):
    """The browser identifies a clicked button by its label."""
    test = opened(f"pages/{page}.py", text="I see a dog and a cat and a bird.", target="der Hund der der", **address)
    (buttons,) = (each for each in test.button_group if each.key == key)
    labels = [each.content for each in buttons.proto.options]
    assert healthy(test) and any(r"\(3\)" in label for label in labels) and len(set(labels)) == len(labels)
