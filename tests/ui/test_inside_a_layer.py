import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.inside_a_layer.stage_matrix import sizes
from pages.ui.inside_a_layer.stage_sentences import plain_sentence
from pages.ui.inside_a_layer.stages import SECTIONS
from pages.ui.params.architecture import ArchitectureParams
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.state.session import EXAMPLES
from pages.ui.text.number_format import typeset
from tests.ui.driver import (
    DREAM,
    GIVEN,
    chooser,
    expand,
    figures,
    healthy,
    messages,
    opened,
    refused,
    same_numbers,
    send,
    table,
    texts,
)
from transformer.analysis.replay.stages import stages
from transformer.analysis.view import view_of
from transformer.commands.translate import describe
from transformer.model.sinusoids import sinusoids
from transformer.text.languages import LANGUAGES

PAGE = "pages/inside_a_layer.py"
# Numbers of Plotly and Altair charts, by part of the page.
FIGURES = {"stages": (0, 0), "cell": (2, 2), "example": (0, 0), "mask": (0, 5), "norm": (0, 3), "parameters": (2, 0)}


def app(page: str = PAGE, **address: str) -> AppTest:
    return opened(page, **{"text": DREAM, **address})


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(DREAM, details=True)


def test_chosen_section_of_the_page_is_stored_in_the_url(narrow_app):
    test = app(**GIVEN)
    for part in ("norm", "example", "stages"):
        test.segmented_control("inside_part").set_value(part).run()
        assert healthy(test) and figures(test) == FIGURES[part]
        assert test.query_params.get("inside_part", "stages") == part


def parts_drawing(test):
    """Return the drawing that marks the part of the model to which a stage belongs."""
    ((drawing, _),) = messages(test, "stages")
    return drawing


def test_invalid_click_in_the_drawing_opens_nothing(narrow_app):
    test = app(**GIVEN, inside_stage="encoder.tokens")
    for value in (None, 7, "", "decoder.nonsense", ["encoder."]):
        send(test, parts_drawing(test), "open", value)
        assert healthy(test) and "2 of 61: token embedding" in texts(test)


@pytest.mark.parametrize(
    "walked", [range(8, 12), range(57, 61), pytest.param(range(61), marks=pytest.mark.thorough)], ids=str
)
def test_buttons_step_through_the_stages_one_at_a_time(narrow_app, walked):
    trace, config = narrow_app.trace(DREAM, **GIVEN, details=True), narrow_app.config
    listed = stages(trace, narrow_app.weights(), encoder_layer=1, decoder_layer=1, head=4)
    assert len(listed) == 61
    test = app(**GIVEN, layer="2", head="5", inside_stage=listed[walked[0]].key)
    for number in walked:
        stage = listed[number]
        assert healthy(test) and f"{number + 1} of {len(listed)}: {stage.name}" in texts(test)
        letters = f"[{stage.letters}] = {list(stage.array.shape)}"
        assert letters in texts(test)
        assert f"**{plain_sentence(stage.key, sizes(config, trace), config.heads, LANGUAGES)}**" in texts(test)
        if stage.array.dtype.kind != "i":
            (figure,) = test.get("plotly_chart")
            assert "value" in json.loads(figure.proto.spec)["data"][0]["colorbar"]["title"]["text"]
            shown = next(each.value for each in expand(test).dataframe).iloc[:, 1:].to_numpy()
            whole = stage.array.reshape(stage.array.shape[-2:])
            if shown.shape == whole.shape and np.isfinite(whole).all():
                masked = shown == "masked"
                # In a table with masked cells, numbers have six decimal places.
                np.testing.assert_allclose(
                    np.where(masked, 0, shown).astype(float), whole, rtol=0, atol=5e-7 if masked.any() else 0
                )
        if number < len(listed) - 1:
            test.button("inside_Next").click().run()
            assert test.query_params["inside_stage"] == listed[number + 1].key
        else:
            assert test.button("inside_Next").disabled
    before = min(walked[-1] + 1, len(listed) - 1) - 1
    test.button("inside_Back").click().run()
    assert test.query_params["inside_stage"] == listed[before].key


@pytest.mark.parametrize("part", ["stages", "mask", "norm"])
def test_changed_layer_and_head_are_stored_in_the_url(narrow_app, part):
    test = app(**GIVEN, inside_part=part, inside_stage="encoder.self_attention.weights")
    test.selectbox("inside_layer").set_value(5).run()
    assert healthy(test) and test.query_params["layer"] == "6"
    if part != "norm":
        test.selectbox("inside_head").set_value(7).run()
        assert healthy(test) and test.query_params["head"] == "8"


@pytest.mark.parametrize(
    ("page", "part", "names"),
    [
        (InsideParams, "example", ("score", "other", "width")),
        (InsideParams, "mask", ("length",)),
        pytest.param(
            ArchitectureParams,
            "parameters",
            ("d_model", "heads", "encoder_layers", "decoder_layers", "d_ff", "vocabulary"),
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["example", "mask", "parameters"],
)
def test_every_number_input_accepts_its_limits(narrow_app, page, part, names):
    test = app(**GIVEN, inside_part=part)
    for name in names:
        key = f"{page.PREFIX}{name}"
        usual = test.number_input(key).value
        for value in page.limits(name):
            test.number_input(key).set_value(value).run()
            assert test.query_params.get(key) == str(value)
            # If two numbers contradict each other, the page names them and keeps the input at its limit.
            fits = key not in ("architecture_d_model", "architecture_heads")
            assert healthy(test, warned=refused(test) and not fits), (key, value)
        # Restore the default, so that the next input is tested with the other inputs at their defaults.
        test.number_input(key).set_value(usual)


def test_clicking_a_section_or_a_card_opens_its_stage(narrow_app):
    test = app(**GIVEN)
    for section in SECTIONS:
        drawing = parts_drawing(test)
        send(test, drawing, "open", json.loads(drawing.proto.json)["stages"][section])
        assert healthy(test) and test.query_params.get("inside_stage", "encoder.pieces").startswith(section)
        assert json.loads(parts_drawing(test).proto.json)["here"] == section
    cards = [button for button in test.button if button.label == "Show above"]
    cards[-1].click().run()
    assert healthy(test) and "61 of 61" in texts(test)


@pytest.mark.parametrize(
    ("kind", "row", "column"),
    [("encoder", 0, 0), ("encoder", 99, 99), ("decoder", 1, 3), ("decoder", 5, 5), ("cross", 1, 3), ("cross", 99, 99)],
)
def test_every_number_of_a_cell_matches_the_trace(trace, kind, row, column):
    test = app(inside_part="cell", inside_kind=kind, layer="3", head="4", rows=str(row), columns=str(column))
    assert healthy(test)
    weights = trace.attention(kind)[2, 3]
    row, column = min(row, weights.shape[0] - 1), min(column, weights.shape[1] - 1)
    shown = {metric.label: metric.value for metric in test.metric}
    assert shown["4. weight"] == f"{weights[row, column]:.4f}"
    assert shown["2. ÷ √32"] == typeset(trace.detail(kind, "scores")[2, 3, row, column], ".4f")
    assert shown["3. mask"] == ("open" if trace.mask(kind)[row, column] else "masked")
    products = table(test, "q × k")
    same_numbers(products["q"], trace.detail(kind, "queries")[2, 3, row])
    same_numbers(products["k"], trace.detail(kind, "keys")[2, 3, column])
    assert shown["1. q · k"] == typeset(products["sum so far"].iloc[-1], ".4f")
    softmax = table(test, "exp(s − max)")
    same_numbers(softmax["weight"][:-1], weights[row])
    values = table(test, "v0")
    same_numbers(values.iloc[-1, 2:].astype(float), trace.detail(kind, "outputs")[2, 3, row])
    assert "the stream in the trace changes by the same vector" in texts(test)


def test_caption_gives_the_positions_of_repeated_words():
    chosen = {"inside_part": "cell", "inside_kind": "encoder", "rows": "1", "columns": "7"}
    test = app(text="The dog saw the cat near the dog.", **chosen)
    assert healthy(test) and "**␣dog** (position 2) attends to **␣dog** (position 8) with weight" in texts(test)


def test_small_weight_is_displayed_differently_from_a_masked_weight(trace):
    layer, head, row, column = np.unravel_index(trace.cross.argmin(), trace.cross.shape)
    weight = trace.cross[layer, head, row, column]
    assert 0 < weight < 5e-5, "a weight that four decimals do not show"
    test = app(
        inside_part="cell",
        inside_kind="cross",
        layer=str(layer + 1),
        head=str(head + 1),
        rows=str(row),
        columns=str(column),
    )
    shown = {metric.label: metric.value for metric in test.metric}
    said = typeset(weight, ".1e")
    assert shown["4. weight"] == said and f"with weight **{said}**" in texts(test)


@pytest.mark.parametrize(
    ("words", "hide"),
    [("true", "true"), *(pytest.param("false", hide, marks=pytest.mark.thorough) for hide in ("true", "false"))],
)
def test_weight_pinned_on_the_attention_page_is_explained(shipped, words, hide):
    text = "i have a dream"
    test = app(inside_part="cell", text=text, layer="1", head="5", rows="1", columns="2", words=words, hide=hide)
    view = view_of(shipped.trace(text), "encoder", words=words == "true", special=hide == "false")
    assert view.weights.shape[2:] == ((4, 4) if hide == "true" else (5, 5)), "the map of the four words"
    said = f"**{view.weights[0, 4, 1, 2]:.4f}**, because on that page" in texts(test)
    assert healthy(test) and said == (hide == "true")


@pytest.mark.thorough
def test_cell_links_to_its_position_curves(trace):
    test = app(inside_part="cell", rows="2", columns="3")
    test.button("inside_positions").click().run()
    assert healthy(test)
    # AppTest does not follow page changes, so switch the page here; a browser test covers the link.
    test.switch_page("pages/positional_encoding.py").run()
    names = ("width", "first", "second")
    assert healthy(test) and [test.number_input(f"positions_{name}").value for name in names] == [256, 3, 4]
    apart = np.linalg.norm(sinusoids(4, 256)[2] - sinusoids(4, 256)[3])
    assert f"positions 3 and 4 are **{apart:.2f}** apart" in texts(test)
    assert "curves of this app's model" in texts(test)
    test = app(inside_part="cell", rows="1", columns="1")
    assert test.button("inside_positions").label == "How does position 2 differ from position 3?"
    assert "inside_positions" not in [button.key for button in app(inside_part="cell", inside_kind="cross").button]


@pytest.mark.thorough
def test_url_contains_the_cell_chosen_in_select_boxes_until_the_sentence_changes():
    test = app(inside_part="cell")
    test.segmented_control("inside_kind").set_value("cross").run()
    chooser(test, "inside_rows").set_value(2).run()
    chooser(test, "inside_columns").set_value(1).run()
    test.selectbox("inside_layer").set_value(4).run()
    test.selectbox("inside_head").set_value(2).run()
    assert healthy(test)
    names = ("inside_kind", "cross_rows", "cross_columns", "layer", "head")
    assert [test.query_params[name] for name in names] == ["cross", "2", "1", "5", "3"]
    test.selectbox("example").set_value(EXAMPLES[1]).run()
    assert healthy(test) and "cross_rows" not in test.query_params, "a cell belongs to its sentence"


def test_text_with_more_tokens_than_value_dimensions_causes_a_warning(narrow_app):
    test = app(**GIVEN, inside_part="cell", text="dog " * (2 * narrow_app.config.d_head))
    assert healthy(test, warned=True)
    assert any("Because n > K" in warning.value for warning in test.warning)
    short = app(**GIVEN, inside_part="cell")
    assert not refused(short) and "n ≤ K" in texts(short)


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        *(
            pytest.param(f"pages/{page}_attention.py", kind, marks=pytest.mark.thorough)
            for page, kind in (("encoder", "encoder"), ("masked", "decoder"))
        ),
        ("pages/cross_attention.py", "cross"),
    ],
)
def test_attention_browser_links_to_the_pinned_cell(trace, page, kind):
    test = app(page, layer="4", head="7", rows="3", columns="2")
    test.button(f"{kind}_inside").click().run()
    assert healthy(test)
    # AppTest does not follow page changes, so switch the page here; a browser test covers the link.
    test.switch_page(PAGE).run()
    assert healthy(test) and test.segmented_control("inside_part").value == "cell"
    assert test.segmented_control("inside_kind").value == kind
    shown = {metric.label: metric.value for metric in test.metric}
    assert shown["4. weight"] == f"{trace.attention(kind)[3, 6, 3, 2]:.4f}"


def test_worked_example_recomputes_its_weights_when_an_input_changes():
    test = app(inside_part="example")
    assert [metric.value for metric in test.metric] == ["0.88", "0.12", "1.00"]
    test.number_input("inside_score").set_value(96.0).run()
    assert [metric.value for metric in test.metric] == ["0.50", "0.50", "1.00"]
    test.number_input("inside_width").set_value(1)
    test.number_input("inside_other").set_value(-1000.0).run()
    assert healthy(test) and [metric.value for metric in test.metric] == ["1.00", "0.00", "1.00"]
    written = [test.query_params[f"inside_{name}"] for name in ("score", "other", "width")]
    assert written == ["96.0", "-1000.0", "1"]


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_norms_of_every_sublayer_are_shown(narrow_app, stack):
    test = app(**GIVEN, inside_part="norm", layer="6")
    test.segmented_control("inside_stack").set_value(stack).run()
    for part in ("self_attention", *(["cross_attention"] if stack == "decoder" else []), "feed_forward"):
        test.segmented_control("inside_sublayer").set_value(part).run()
        assert healthy(test) and "← this model" in texts(test)
        np.testing.assert_allclose(table(test, "dev. normalised")["dev. normalised"], 1, atol=1e-3)
    assert test.query_params["inside_sublayer"] == "feed_forward"


def test_displayed_parameter_counts_match_the_command_line(shipped):
    test = app(inside_part="parameters")
    assert "17,228,224 parameters" in texts(test)
    ours, typed = (each.value for each in expand(test).dataframe)
    assert ours["parameters"].iloc[-1] == shipped.parameters == ours["parameters"].iloc[:-1].sum()
    assert typed["parameters"].iloc[-1] == 63_082_496
    printed = [line.rsplit(maxsplit=1) for line in describe(shipped).split("parameters\n")[1].splitlines()]
    assert [(part.strip(), int(count.replace(",", ""))) for part, count in printed] == list(
        zip(ours["part"], ours["parameters"], strict=True)
    )
    test.button("architecture_preset_This app's model").click().run()
    assert test.dataframe[1].value.equals(test.dataframe[0].value)
    test.toggle("architecture_output_bias").set_value(False).run()
    test.selectbox("architecture_tied").set_value("none").run()
    test.selectbox("architecture_norm").set_value("post").run()
    assert healthy(test) and test.query_params["architecture_tied"] == "none"
