import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.params.positional_encoding import PositionsParams
from tests.ui.driver import DREAM, GIVEN, expand, healthy, opened, table, texts
from transformer.analysis.positions import dropout
from transformer.model.sinusoids import sinusoids
from transformer.values.interventions import Interventions

PAGE = "pages/positional_encoding.py"


def app(**address: str) -> AppTest:
    return opened(PAGE, **{"text": DREAM, "positions_part": "curves", **address})


@pytest.mark.thorough
def test_position_curves_show_the_chosen_dimensions():
    test = app()
    test.number_input("positions_length").set_value(30)
    test.number_input("positions_width").set_value(64)
    test.multiselect("positions_dimensions").set_value([0, 63])
    test.number_input("positions_drop").set_value(50)
    test.number_input("positions_seed").set_value(7)
    test.run()
    assert healthy(test)
    written = {name: test.query_params[f"positions_{name}"] for name in ("length", "width", "dimensions", "drop")}
    assert written == {"length": "30", "width": "64", "dimensions": "0.63", "drop": "50"}
    numbers, curves = table(test, "position", "0, with dropout"), sinusoids(30, 64)
    np.testing.assert_array_equal(numbers[["0", "63"]], curves[:, [0, 63]])
    dropped = dropout(curves, rate=0.5, seed=7)[:, [0, 63]]
    np.testing.assert_array_equal(numbers[["0, with dropout", "63, with dropout"]], dropped)
    drawn = json.loads(test.get("plotly_chart")[1].proto.spec)["data"]
    assert [line["name"] for line in drawn] == ["dimension 0", "dimension 63"]
    test.number_input("positions_width").set_value(7).run()
    assert healthy(test) and test.number_input("positions_width").value == 6, "an odd width is the even one below it"
    assert test.multiselect("positions_dimensions").value == [0]


def test_button_shows_the_position_curves_of_the_apps_model():
    test = app()
    assert "This app's model has D = 256" in texts(test)
    test.button("positions_ours").click().run()
    assert healthy(test) and test.query_params["positions_width"] == "256"
    assert "These are the curves of this app's model" in texts(test)


def test_page_states_the_distance_between_two_positions():
    test = app(positions_first="3", positions_second="4")
    one, other = sinusoids(100, 20)[[2, 3]]
    assert f"**{np.linalg.norm(one - other):.2f}** apart" in texts(test)
    test.number_input("positions_length").set_value(2).run()
    assert healthy(test) and test.number_input("positions_second").value == 2


NUMBERS = (
    "length",
    "width",
    "drop",
    "seed",
    "first",
    "rows",
    "columns",
    "reach",
    "across",
    "offset",
    "start",
    "bits",
    "span",
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, PositionsParams.limits(name)[1]) for name in NUMBERS),
        *(pytest.param(name, PositionsParams.limits(name)[0], marks=pytest.mark.thorough) for name in NUMBERS),
    ],
)
def test_every_number_input_accepts_its_limits(narrow_app, field, value):
    part = {
        "rows": "matrix",
        "columns": "matrix",
        "reach": "distances",
        "across": "distances",
        "offset": "distances",
        "start": "distances",
        "bits": "distances",
        "span": "alternatives",
    }.get(field, "curves")
    test = app(**GIVEN, **{"positions_part": part, f"positions_{field}": str(value)})
    assert healthy(test), (field, value)


def test_half_split_position_layout_is_a_permutation_of_the_interleaved_layout():
    test = app(positions_part="matrix", positions_rows="20", positions_columns="10")
    assert texts(test).count("**true**") == 2
    order = table(test, "dimension (in halves)")["dimension (interleaved)"]
    assert order.tolist() == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]


def test_page_states_the_parameter_count_of_concatenated_positions_for_any_model_size():
    test = app(positions_part="sum")
    assert [metric.value for metric in test.metric] == ["63,082,496", "182,833,152"]
    test.button("architecture_preset_This app's model").click().run()
    assert test.metric[0].value == "17,228,224" and test.query_params["architecture_d_model"] == "256"
    test.number_input("architecture_heads").set_value(7).run()
    assert healthy(test, warned=True) and "256 is not a multiple of 7" in test.warning[0].value.replace("\\", "")
    test.number_input("architecture_heads").set_value(8)
    for positions in ("none", "rotary", "alibi"):
        test.selectbox("architecture_positions").set_value(positions).run()
        assert healthy(test) and "nothing to put beside" in texts(test)


def test_page_shows_no_curves_for_a_model_without_learned_positions():
    assert "This model has no learned positions to show" in texts(app(positions_part="alternatives"))


def test_page_shows_the_effect_of_removing_positions(shipped):
    before_all = shipped.trace(DREAM)
    test = app(positions_part="shuffled")
    runs = table(test, "setting")
    assert runs["setting"].tolist()[0] == "as typed, with positions" and len(runs) == 4
    off = shipped.trace(DREAM, interventions=Interventions(positions=False))
    row = runs[runs["setting"] == "as typed, positions switched off"].iloc[0]
    assert row["translation"] == off.target_text
    assert list(runs) == ["setting", "sentence", "translation"], "the numbers are opened by whoever wants them"
    numbers = next(each.value for each in expand(test).dataframe if "log-probability" in each.value)
    row = numbers[numbers["setting"] == "as typed, positions switched off"].iloc[0]
    assert row["log-probability"] == pytest.approx(float(off.log_probs.sum()), abs=1e-6)
    before = runs["sentence"].iloc[1]
    test.number_input("positions_shuffle").set_value(2).run()
    assert healthy(test) and sorted(table(test, "setting")["sentence"].iloc[1].split()) == sorted(before.split())
    test.segmented_control("positions_kind").set_value("decoder").run()
    test.selectbox("positions_layer").set_value(5).run()
    test.selectbox("positions_head").set_value(7).run()
    assert healthy(test)
    assert [test.query_params[name] for name in ("positions_kind", "layer", "head")] == ["decoder", "6", "8"]
    assert shipped.trace(DREAM).equals(before_all), "the model is as before"


@pytest.mark.parametrize("text", ["x", "dog dog", "1" * 12])
def test_single_word_cannot_be_shuffled(text):
    test = app(positions_part="shuffled", text=text)
    assert healthy(test) and "only one order" in texts(test) and len(table(test, "setting")) == 2
