import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.params.long_texts import QUANTITIES
from tests.ui.driver import drawn_maps, figures, healthy, opened, submit, table, texts
from transformer.language_modelling.cost import ATTENTIONS

PAGE = "pages/long_texts.py"


def app(**address: str) -> AppTest:
    return opened(PAGE, **{"text": "x", **address})


def test_page_opens_with_all_three_attention_maps_of_a_long_text():
    test = app()
    assert healthy(test)
    full, local, compressed = drawn_maps(test)
    rows = len(full["rows"])
    assert [each["title"] for each in (full, local, compressed)] == [
        f"Full: {rows} × {rows}",
        f"Local, in blocks of 16: {rows} × {rows}",
        f"Compressed: {rows} × {-(-rows // 3)}",
    ]
    assert compressed["columns"][0] == "".join(full["rows"][:3])
    assert sum(compressed["masked"]) < len(compressed["masked"]) and "16.8 million" in texts(test)


def test_url_contains_the_text_and_the_chosen_attention_kind_and_head():
    test = app()
    submit(test, "The dog sleeps. The cat sleeps, too.", "long_text")
    test.segmented_control("long_attention").set_value("compressed").run()
    test.selectbox("long_layer").set_value(1).run()
    test.selectbox("long_head").set_value(1).run()
    assert healthy(test)
    names = ("text", "attention", "layer", "head")
    address = {f"long_{name}": test.query_params[f"long_{name}"] for name in names}
    assert address == {
        "long_text": "The dog sleeps. The cat sleeps, too.",
        "long_attention": "compressed",
        "long_layer": "2",
        "long_head": "2",
    }
    again = app(**address)
    assert drawn_maps(again) == drawn_maps(test) and len(drawn_maps(test)) == 1


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", "There is no text"),
        ("   ", "There is no text"),
        ("dog " * 200, "a map has room for 96"),
        ("dog " * 1250, "5,000 characters"),
    ],
)
def test_text_that_cannot_be_shown_as_a_map_causes_a_single_warning(text, answer):
    test = app()
    submit(test, text, "long_text")
    assert healthy(test, warned=True) and not drawn_maps(test)
    (warning,) = test.warning
    assert answer in warning.value.replace("\\", "")


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_cost_curves_are_drawn_and_the_page_states_their_slopes(quantity):
    test = app(long_part="cost", long_quantity=quantity)
    assert healthy(test) and figures(test) == (0, 1)
    shown = texts(test)
    assert "**Full:**" in shown and "**Local, in blocks of 256 tokens:**" in shown and "slope" in shown
    numbers = table(test, "tokens", "attention")
    assert len(numbers) == 7 * len(ATTENTIONS)
    said = {
        "weights": (
            "4.0 times the bytes (slope 2.00)",
            "2.0 times the bytes (slope 1.00)",
            "67.1 MB",
            "9.66 GB",
            "local attention takes 1/16 of that (4.19 MB)",
            "This postpones the limit",
        ),
        "keys_and_values": (
            "2.0 times the bytes (slope 1.00)",
            "2.1 MB",
            "compressed attention takes a third of that",
            "Keys and values grow with slope 1 and the map with slope 2",
        ),
        "seconds": ("With full attention, a pass over", "the map grows with slope 2"),
    }
    assert not [each for each in said[quantity] if each not in shown]


@pytest.mark.thorough
def test_measure_button_shows_the_cost_on_this_machine():
    test = app(long_part="cost")
    test.button("long_measure").click().run()
    assert healthy(test)
    assert "this machine, just now" in texts(test)
    numbers = table(test, "tokens", "attention")
    full = numbers[numbers["attention"] == "Full"]
    assert (full["bytes of attention weights per head"] == 4 * full["tokens"] ** 2).all() and len(full) >= 2


def test_held_out_loss_of_every_attention_type_is_shown_as_a_chart_and_in_words():
    test = app(long_part="loss")
    assert healthy(test) and figures(test) == (0, 1)
    numbers = table(test, "attention", "parameters")
    assert list(numbers["attention"]) == ["Full", "Local", "Compressed"]
    shown = texts(test)
    assert f"{numbers['held-out loss, nats per token'][0]:.2f} nats per token" in shown
    assert "compare-attention" in shown
