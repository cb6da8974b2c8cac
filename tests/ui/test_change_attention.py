import pytest

from attention_atlas.browser.wire import unframe
from pages.ui.change_attention.example import FIRST
from pages.ui.components.changed_attention import UNDO
from pages.ui.state.session import EXAMPLES
from tests.ui.driver import DREAM, expand, figures, healthy, opened, send, texts
from transformer.values.interventions import Interventions

PAGE = "pages/change_attention.py"


def editor(test):
    """Return the editor component and the header of its message."""
    found = [(node, unframe(node.proto.bytes)[0]) for node in test.get("bidi_component") if node.proto.bytes]
    (one,) = (each for each in found if "edits" in each[1])
    return one


def plain(test):
    return texts(test).replace("\\", "")


def button(test, key):
    return next(each for each in test.button if each.key == key)


def address(test, name):
    value = test.query_params.get(name)
    return value[0] if isinstance(value, list) else value


def test_page_opens_unedited_and_offers_an_example_that_changes_the_translation(shipped):
    test = opened(PAGE, text=EXAMPLES[0], edit_kind="cross")
    assert healthy(test) and figures(test) == (0, 1)
    assert editor(test)[1]["edits"] == "none" and "nothing yet" in texts(test)
    assert button(test, "edit_try").label == "Try: make *animal* look at *street*"
    button(test, "edit_try").click().run()
    assert healthy(test) and "~~Das~~" in plain(test) and "to **Die**" in plain(test)
    assert editor(test)[1]["edits"] == "encoder.all.all.2~7x100" and address(test, "edit_kind") is None
    # The edit is labelled as the example, its cell is selected, and one button clears it.
    assert "The example" in texts(test) and button(test, "edit_remove_0").label.endswith("(the example)")
    assert address(test, "encoder_rows") == "1" and address(test, "encoder_columns") == "6"
    assert button(test, "edit_undo_all").label == "Clear the example"
    button(test, "edit_undo_all").click().run()
    assert healthy(test) and editor(test)[1]["edits"] == "none" and "nothing yet" in texts(test)
    button(test, "edit_try_second").click().run()
    assert healthy(test) and ":orange-background[**die**]" in plain(test) and address(test, "edit_kind") == "cross"
    assert address(test, "edit_edits") == "cross.all.all.9~7x100"
    # The user's own edit is not labelled as the example.
    send(test, editor(test)[0], "edited", "cross.all.all.9~7x100_cross.1.1.1~even")
    listed = [each.label for each in test.button if (each.key or "").startswith("edit_remove")]
    assert [label.endswith("(the example)") for label in listed] == [True, False] and "Your changes" in texts(test)
    button(test, "edit_remove_1").click().run()
    assert address(test, "edit_edits") == "cross.all.all.9~7x100"
    # The displayed Python code reproduces the translation on the page.
    (lines,) = (each.value for each in expand(test).code)
    look = {("cross", layer, head, 8): {6: 1.0} for layer in range(6) for head in range(8)}
    assert "range(6)" in lines and shipped.translate(EXAMPLES[0], interventions=Interventions(attention=look)).text == (
        "Das Tier überquerte die Straße nicht, weil die es zu müde war."
    )


@pytest.mark.thorough
def test_each_sentence_has_its_own_example():
    test = opened(PAGE, text="The old man gave his dog a bone yesterday.")
    offer = next((each for each in test.button if each.key == "edit_try"), None)
    assert healthy(test) and offer is not None and offer.label.startswith("Try: make *")
    offer.click().run()
    assert healthy(test) and "(the example)" in button(test, "edit_remove_0").label
    assert "the same translation" not in texts(test)


def test_url_lists_the_current_edits_after_every_change():
    test = opened(PAGE, text=DREAM, edit_kind="cross")
    assert healthy(test) and "nothing yet" in texts(test) and button(test, "edit_undo").disabled
    send(test, editor(test)[0], "edited", "cross.1.1.2~4x100")
    assert healthy(test) and address(test, "edit_edits") == "cross.1.1.2~4x100"
    assert "one head alone" in texts(test) or "~~" in texts(test)
    send(test, editor(test)[0], "edited", "cross.1.1.2~4x100_cross.all.all.3~even")
    labels = [each.label.replace("\\", "") for each in test.button if (each.key or "").startswith("edit_remove")]
    assert labels == [
        "Cross attention, layer 1, head 1: “Ich” (which writes “habe”) → “dream” 100%",
        "Cross attention, every head: “habe” (which writes “einen”) → everything equally",
    ]
    button(test, "edit_remove_0").click().run()
    assert address(test, "edit_edits") == "cross.all.all.3~even"
    for _ in range(2):  # The second event repeats the first.
        send(test, editor(test)[0], "edited", f"{UNDO} 1")
        assert address(test, "edit_edits") == "cross.1.1.2~4x100_cross.all.all.3~even"
    button(test, "edit_undo_all").click().run()
    assert healthy(test) and address(test, "edit_edits") is None
    for number, expected in enumerate(("cross.1.1.2~4x100_cross.all.all.3~even", "cross.1.1.2~4x100", None), start=2):
        send(test, editor(test)[0], "edited", f"{UNDO} {number}")
        assert healthy(test) and address(test, "edit_edits") == expected


def test_edits_from_a_url_can_be_undone():
    test = opened(PAGE, text=DREAM, edit_edits="encoder.1.1.1~2x50_encoder.1.1.2~2x50")
    assert healthy(test)
    button(test, "edit_undo").click().run()
    assert address(test, "edit_edits") == "encoder.1.1.1~2x50"


@pytest.mark.thorough
def test_invalid_editor_messages_are_ignored():
    test = opened(PAGE, text=DREAM, edit_edits="cross.1.1.1~even")
    for value in (None, 5, ["cross.1.1.1~even"], {"a": 1}, "<b>", "cross.1.1.1", "x" * 10_000, ""):
        send(test, editor(test)[0], "edited", value)
        assert healthy(test) and editor(test)[1]["edits"] == "cross.1.1.1~even", value


def test_erased_words_are_either_hidden_or_removed_from_the_text(shipped):
    test = opened(PAGE, text=EXAMPLES[0], edit_edits="none", edit_hidden_source="6")
    erased = Interventions(hidden_source=[6])
    assert healthy(test) and "~~" in texts(test)
    assert any("hidden_source=[6]" in each.value for each in expand(test).code)
    written = shipped.translate(EXAMPLES[0], interventions=erased).text
    assert written == "Das Tier überquerte nicht, weil es zu müde war."
    said = "no other word can see “street”. The translation lost “die”, “Straße” and kept 9 of its 11 words"
    assert said in plain(test)
    button(test, "edit_show_again").click().run()
    assert healthy(test) and "nothing yet" in texts(test)
    pills = next(each for each in test.button_group if each.key == "edit_hidden_source")
    pills.set_value([6]).run()
    pills = next(each for each in test.button_group if each.key == "edit_hidden_source")
    pills.set_value([]).run()
    assert healthy(test) and "nothing yet" in texts(test) and address(test, "edit_hidden_source") is None
    test = opened(PAGE, text=EXAMPLES[0], edit_edits="none", edit_hidden_source="6", edit_erasure="left_out")
    assert healthy(test) and "The animal didn't cross the because" in plain(test) and "nothing yet" in texts(test)
    test.segmented_control("edit_erasure").set_value(None).run()
    assert healthy(test) and address(test, "edit_erasure") == "left_out", "one of them is always chosen"
    button(test, "edit_read_shorter").click().run()
    assert healthy(test) and address(test, "text").startswith("The animal didn't cross the because")
    everything = opened(PAGE, text="Yes", edit_hidden_source="0", edit_erasure="left_out")
    assert healthy(everything, warned=True), "a sentence of nothing"


def test_user_can_choose_the_decoding_step_and_download_the_results():
    test = opened(PAGE, text=EXAMPLES[0], edit_step="9", edit_edits=str(FIRST))
    assert healthy(test) and "At step 9, the next word stays **es**" in plain(test)
    # Words before the chosen step do not change, even a word that the edited model would not choose.
    assert "nicht, weil es zu müde war. *(the same translation)*" in plain(test)
    assert "prefix=[" in next(each.value for each in expand(test).code)
    saved = {each.proto.label for each in test.get("download_button")}
    assert saved == {"Save as CSV", "Save as JSON", "Save as experiment", "Save as NPZ (every head)"}


def test_attention_page_links_to_the_attention_editor():
    test = opened("pages/cross_attention.py", text=DREAM, layer="3", head="4")
    button(test, "cross_change").click().run()
    # AppTest does not follow page changes, so switch the page here.
    test.switch_page(PAGE).run()
    assert healthy(test) and address(test, "edit_kind") == "cross" and editor(test)[1]["edits"] == "none"
    assert address(test, "layer") == "3" and address(test, "head") == "4"


def test_maps_show_attention_before_and_after_switching_heads_off():
    test = opened("pages/switch_heads_off.py", text=DREAM, off_heads="cross.1.8", off_kind="decoder")
    assert healthy(test)
    header = editor(test)[1]
    assert header["what"] == "without cross attention, layer 1, head 8" and header["edits"] is None
    assert len(header["sizes"]) == 2
