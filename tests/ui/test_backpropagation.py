"""Tests of the Backpropagation page with the narrow model; expected gradients are computed with the same model."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.backpropagation.gradient import SECTIONS, section_of, stage_title
from tests.ui.driver import DREAM, GIVEN, UNREADABLE, chooser, expand, figures, healthy, opened, submit, table, texts
from transformer.backpropagation.gradients import gradients, parameters_of
from transformer.backpropagation.sentence import sentence_batch, sentence_gradients
from transformer.backpropagation.stages import stages

PAGE = "pages/backpropagation.py"


def app(**address: str) -> AppTest:
    return opened(PAGE, **{"text": DREAM, "layer": "2", "head": "5", **address})


def numbers(test: AppTest) -> dict[str, str]:
    """Return the metrics on the page by label, with minus signs that Python can parse."""
    return {metric.label: metric.value.replace("−", "-") for metric in test.metric}


def title(test: AppTest) -> str:
    box = chooser(test, "backward_number")
    return box.format_func(box.value)


@pytest.fixture(scope="module")
def listed(narrow):
    """Return the gradients that the page lists for layer 2, head 5."""
    batch = sentence_batch(narrow.trace(DREAM, **GIVEN))
    return stages(sentence_gradients(narrow.weights(), batch, encoder_layer=1, decoder_layer=1), head=4)


def test_backpropagation_page_opens_with_the_loss(narrow_app):
    test = app(**GIVEN)
    loss = -narrow_app.trace(DREAM, **GIVEN).log_probs.sum()
    assert healthy(test) and f"Loss: **{loss:.4f}** nats" in texts(test)
    assert title(test) == "1 of 94: logits (Loss)" and figures(test) == (0, 1)


@pytest.mark.parametrize("walked", [range(22, 25), pytest.param(range(94), marks=pytest.mark.thorough)], ids=str)
def test_user_can_step_through_the_backward_pass(narrow_app, listed, walked):
    assert len(listed) == 94
    test = app(**GIVEN, backward_stage=listed[walked[0]].key)
    for number in walked:
        stage = listed[number]
        assert healthy(test), stage.key
        assert title(test).startswith(f"{number + 1} of {len(listed)}: {stage_title(stage)} (")
        assert test.segmented_control("backward_section").value == section_of(stage.key)
        largest = np.unravel_index(np.abs(stage.matrix).argmax(), stage.matrix.shape)
        shown = numbers(test)
        if stage.key not in ("generator.logits",):
            assert float(shown["By hand"]) == pytest.approx(stage.matrix[largest], rel=0.1, abs=1e-6), stage.key
        assert shown["Autograd"] == shown["By hand"] or abs(stage.matrix[largest]) < 1e-12
        assert float(shown["Finite difference"]) == pytest.approx(float(shown["By hand"]), abs=2e-6)
        if number < len(listed) - 1:
            test.button("backward_Next").click().run()
            assert test.query_params["backward_stage"] == listed[number + 1].key
        else:
            assert test.button("backward_Next").disabled


@pytest.mark.thorough
def test_choosing_a_section_opens_a_stage_of_that_section(narrow_app):
    test = app(**GIVEN)
    for section in SECTIONS:
        test.segmented_control("backward_section").set_value(section).run()
        stage = test.query_params.get("backward_stage", "generator.logits")
        assert healthy(test) and section_of(stage) == section
    test.segmented_control("backward_section").set_value(None).run()
    assert healthy(test) and test.query_params["backward_stage"] == stage, "one of them is always chosen"


def test_gradient_search_covers_every_part_of_the_model(narrow_app):
    box = chooser(app(**GIVEN), "backward_number")
    found = [option for option in box.options if "W_Q" in option]
    assert [option.partition(": ")[2] for option in found] == [
        f"weights of the queries, W^Q or W_Q ({part})" for part in ("Cross", "Masked", "Self")
    ]
    test = box.set_value(box.options.index(found[2])).run()
    assert healthy(test) and test.query_params["backward_stage"] == "encoder.self_attention.queries_weight"
    assert test.segmented_control("backward_section").value == "encoder.self_attention"


def test_gradient_of_a_query_weight_is_shown_as_a_sum(narrow_app, listed):
    stage = next(stage for stage in listed if stage.key == "decoder.cross_attention.queries_weight")
    test = app(**GIVEN, backward_stage=stage.key)
    chooser(test, "backward_row").set_value(7).run()
    chooser(test, "backward_column").set_value(3).run()
    assert healthy(test) and figures(test) == (1, 1)
    assert (test.query_params["backward_row"], test.query_params["backward_column"]) == ("8", "4")
    added = table(test, "x̂", "dQ", "sum so far")
    np.testing.assert_allclose(added["product"], added["x̂"] * added["dQ"])
    assert added["sum so far"].iloc[-1] == pytest.approx(stage.matrix[7, 3], abs=1e-12)
    assert numbers(test)["Value of the weight"] == f"{stage.values[7, 3]:.6f}"


def test_gradient_of_a_masked_cell_is_zero(narrow_app):
    test = app(**GIVEN, backward_stage="decoder.self_attention.scores", backward_row="1", backward_column="3")
    assert healthy(test) and "The mask hides this cell" in texts(test)
    assert numbers(test)["By hand"] in ("0.000000", "-0.000000")
    cells = next(each.value for each in expand(test).dataframe if "German token" in each.value.columns)
    assert (cells.iloc[0, 2:] == "masked").all() and cells.iloc[0, 1] != "masked"


def test_page_shows_the_label_smoothed_loss_of_one_step(narrow_app):
    trace = narrow_app.trace(DREAM, **GIVEN)
    test = app(**GIVEN)
    chooser(test, "backward_step").set_value(3).run()
    test.number_input("backward_smoothing").set_value(0.1).run()
    batch = sentence_batch(trace, step=2, label_smoothing=0.1)
    found = gradients(parameters_of(narrow_app.weights()), narrow_app.config, batch)
    assert healthy(test) and f"Loss: **{found.loss:.4f}** nats" in texts(test)
    assert (test.query_params["backward_step"], test.query_params["backward_smoothing"]) == ("3", "0.1")
    test.selectbox("example").set_value(test.selectbox("example").options[1]).run()
    assert healthy(test) and "backward_step" not in test.query_params, "a step belongs to its sentence"


def test_page_compares_gradient_magnitudes_of_pre_norm_and_post_norm(narrow_app):
    test = app(**GIVEN, backward_part="sizes")
    assert healthy(test) and figures(test) == (0, 2)
    assert len(table(test, "after layer and sub-layer", "this model, trained")) == 13
    test.segmented_control("backward_quantity").set_value("network").run()
    shown = table(test, "layer", "pre-norm, untrained", "post-norm, untrained")
    assert healthy(test) and len(shown) == 6 and (shown.iloc[:, 1:] > 0).all(axis=None)
    assert "in the untrained post-norm model and" in texts(test)


def test_loss_uses_the_translation_that_the_user_typed(narrow_app):
    test = app(target="Ich habe einen Hund.")
    assert healthy(test)
    assert any("Hund" in option for option in chooser(test, "backward_step").options)


def test_parameter_titles_contain_the_symbols(listed):
    names = {stage.key.removeprefix("decoder.cross_attention."): stage_title(stage) for stage in listed}
    assert names["queries_weight"] == "weights of the queries, W^Q or W_Q"
    assert names["decoder.feed_forward.expand"] == "first weight matrix of the network, W_1"
    assert names["gain"] == "gain of the layer norm, γ or gamma" and names["queries"] == "queries of the head"


@pytest.mark.thorough
def test_chosen_stage_layer_and_head_are_restored_after_an_unreadable_sentence(narrow_app):
    test = app(**GIVEN, backward_stage="decoder.self_attention.scores")
    submit(test, UNREADABLE[0])
    submit(test, DREAM)
    shown = (
        test.segmented_control("backward_section"),
        test.selectbox("backward_layer"),
        test.selectbox("backward_head"),
    )
    assert healthy(test) and [each.value for each in shown] == ["decoder.self_attention", 1, 4]
    assert all(each.proto.set_value for each in shown), "the browser has forgotten them"
