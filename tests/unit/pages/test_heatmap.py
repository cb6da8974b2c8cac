import json

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.charts.heatmap import POSITIVE, SHARE, SIGNED, colours_of, heatmap
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import frame, numbered_labels, visible_cells
from pages.ui.charts.thumbnail import thumbnail
from pages.ui.text.number_format import formatted, typeset
from tests.ui.driver import written

VALUES = np.array([[1.0, -2.0, 0.5], [0.0, -np.inf, 4.0]])
# The colour of masked cells.
GREY = [139, 147, 163]
UNTRUSTED = ["<b>x</b>", "&amp; a label that goes on and on and on", "$x^2$"]


def test_heatmap_shows_its_first_row_on_top_and_marks_masked_cells():
    figure = heatmap(VALUES, titles=("row", "column"), name="value", columns=UNTRUSTED)
    trace, masked = figure.data
    assert figure.layout.yaxis.range == (1.5, -0.5) and figure.layout.xaxis.range == (0.5, 3.5)
    assert np.isnan(trace.z[1, 1]) and trace.z[0, 1] == -2 and "%{z:.4f}" in trace.hovertemplate
    assert np.argwhere(np.isfinite(masked.z)).tolist() == [[1, 1]] and "masked" in masked.hovertemplate
    assert (trace.zmin, trace.zmax) == (-4, 4), "0 is in the middle"
    assert (trace.y0, trace.x0) == (masked.y0, masked.x0) == (0, 1), "labelled positions count from 1"
    assert figure.layout.xaxis.tickvals == (1, 2, 3)
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert figure.layout.xaxis.ticktext[1].startswith("&amp;amp;") and figure.layout.xaxis.ticktext[1].endswith("…")
    assert figure.layout.xaxis.ticktext[2] == "&#36;x^2&#36;", "no formula, should Plotly find MathJax"
    assert (figure.layout.yaxis.title.text, figure.layout.xaxis.title.text) == ("row", "column")


def test_square_map_has_square_cells():
    figure = heatmap(np.ones((4, 7)), titles=("r", "c"), name="v", square=True)
    assert figure.layout.yaxis.scaleanchor == "x" and figure.layout.xaxis.constrain == "domain"
    assert heatmap(VALUES, titles=("r", "c"), name="v").layout.yaxis.scaleanchor is None
    for shape in ((4, 7), (7, 4), (200, 3)):
        pixels = thumbnail(np.arange(np.prod(shape)).reshape(shape), square=True)
        assert pixels.shape[0] * shape[1] == pixels.shape[1] * shape[0], "no cell is stretched"
    for size in (3, 12, 128):
        labels = [str(number) for number in range(size)]
        drawn = matrix(np.ones((size, 2)), labels, labels[:2], name="v", scale=sequential(), square=True).to_dict()
        assert drawn["width"] * size == drawn["height"] * 2 and drawn["autosize"] == "pad"


def test_displayed_table_replaces_bidi_control_characters_but_keeps_its_data():
    table = pd.DataFrame({"text": ["1: The \u202ecat", "dog"], "value": [0.5, 1.0]})
    assert visible_cells(table).text.tolist() == ["1: The \ufffdcat", "dog"]
    assert visible_cells(table).value.tolist() == [0.5, 1.0] and table.text[0] == "1: The \u202ecat"


@pytest.mark.parametrize(("colours", "least", "most"), [(SIGNED, -4, 4), (POSITIVE, 0, 4), (SHARE, 0, 1)])
def test_limits_of_a_colour_scale_depend_on_its_type_and_the_largest_number(colours, least, most):
    trace = heatmap(np.abs(VALUES[:, ::2]), titles=("r", "c"), name="v", colours=colours).data[0]
    assert (trace.zmin, trace.zmax) == (least, most)
    np.testing.assert_array_equal(trace.z, np.abs(VALUES[:, ::2]))


def test_colour_scale_depends_on_the_signs_of_the_numbers():
    assert colours_of(np.array([[0.0, 1.0]])) == POSITIVE
    assert colours_of(np.array([[-1.0, 1.0]])) == colours_of(np.zeros((2, 2))) == SIGNED


def test_heatmap_thumbnail_shows_every_cell():
    pixels = thumbnail(VALUES)
    assert pixels.dtype == np.uint8 and pixels.shape == (120, 510, 3)
    assert (pixels[60:, 170:340] == GREY).all() and not (pixels[:60] == GREY).all(axis=-1).any()
    zero, most = pixels[60, 0], pixels[60, -1]
    assert (zero == 247).all() and tuple(most) == (178, 24, 43)
    share = thumbnail(np.array([[0.0, 1.0]]), share=True)
    assert tuple(share[0, 0]) == (68, 1, 84) and tuple(share[0, -1]) == (253, 231, 37)
    assert thumbnail(np.zeros((1, 1))).shape[2] == 3
    assert thumbnail(np.zeros((300, 2000))).shape == (300, 2000, 3), "no cell is left out"


def test_heatmap_table_has_the_numbers_of_the_heatmap():
    table = frame(VALUES, ["a", "a"], None, corner="row")
    assert list(table.columns) == ["row", "0", "1", "2"] and list(table["row"]) == ["1: a", "2: a"]
    assert list(table.iloc[1][1:]) == ["0.000000", "masked", "4.000000"]
    assert frame(VALUES[:1], None, UNTRUSTED, corner="row").iloc[0, 1:].tolist() == [1.0, -2.0, 0.5]
    assert numbered_labels(["x", "x"]) == ["1: x", "2: x"]


@pytest.mark.parametrize(("size", "renderer"), [(10, "svg"), (60, "canvas")])
@pytest.mark.parametrize("picked", [None, (1, 2)])
def test_matrix_drawn_on_a_canvas_has_an_explicit_text_colour(size, renderer, picked):
    import altair as alt

    labels = [f"token {number}" for number in range(size)]
    drawn = json.dumps(
        matrix(
            np.zeros((size, size)), labels, labels, name="weight", scale=alt.Scale(domain=[0, 1]), picked=picked
        ).to_dict()
    )
    assert f'"renderer": "{renderer}"' in drawn
    # A canvas does not know "currentColor" and would paint the text black, even in the dark theme.
    assert ("currentColor" in drawn) == (renderer == "svg")


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.85896, 4, "0.8590"),
        (0.0, 4, "0.0000"),
        (5e-5, 4, "0.0001"),
        (4.9e-5, 4, "4.9e-05"),
        (-1e-9, 6, "-1.0e-09"),
        (-2.5, 1, "-2.5"),
        (-0.0, 2, "0.00"),
    ],
)
def test_small_number_is_displayed_in_scientific_notation_not_as_zero(value, digits, text):
    assert formatted(value, digits) == text


def test_masked_cells_of_a_matrix_are_labelled_and_coloured():
    import altair as alt

    mask = np.array([[True, False], [True, True]])
    chart = matrix(
        np.array([[0.25, 0.5], [0.125, 1.0]]),
        ["a", "b"],
        ["c", "d"],
        name="weight",
        scale=alt.Scale(domain=[0, 1]),
        titles=("from", "to"),
        mask=mask,
        picked=(1, 0),
    ).to_dict()
    table = next(iter(chart["datasets"].values()))
    assert [row["shown"] for row in table] == ["0.2500", "masked", "0.1250", "1.0000"]
    cells, framed = chart["layer"]
    assert cells["encoding"]["color"]["condition"]["test"] == "datum.shown == 'masked'" or (
        cells["encoding"]["color"]["condition"]["value"] == "#8b93a3"
    )
    assert framed["transform"] == [{"filter": "datum.row == 2 && datum.column == 1"}]
    assert cells["encoding"]["y"]["title"] == "from" and cells["encoding"]["x"]["title"] == "to"


@pytest.mark.parametrize(("smallest", "digits"), [(0.25, 6), (4e-8, 8), (4e-10, 6), (0.0, 6)])
def test_table_column_uses_fixed_decimals_except_for_tiny_numbers(smallest, digits):
    def page(smallest: float) -> None:
        import pandas as pd

        from pages.ui.charts.tables import show_table

        show_table(
            pd.DataFrame(
                {"row": ["a", "b"], "weight": [0.5, smallest], "norm": [1.5, 2.0], "score": [-0.5, -smallest * 1e-6]}
            ),
            "table",
        )

    (node,) = AppTest.from_function(page, args=(smallest,)).run().dataframe
    cells = written(node)
    assert [*cells["weight"]] == [f"{0.5:.{digits}f}", typeset(smallest, digits)]
    assert [*cells["score"]] == [f"−{0.5:.{digits}f}", typeset(-smallest * 1e-6, digits)]
    assert ("e" in cells["weight"][1]) == (smallest == 4e-10) and cells["norm"][1] == f"{2.0:.{digits}f}"


def test_large_table_formats_whole_columns_in_scientific_notation():
    def page() -> None:
        import pandas as pd

        from pages.ui.charts.tables import MAX_TYPESET, show_table

        rows = MAX_TYPESET // 3 + 1
        numbers = pd.DataFrame({"row": range(rows), "weight": [0.5] * (rows - 1) + [4e-10], "offset": [-3] * rows})
        show_table(numbers, "table")

    (node,) = AppTest.from_function(page).run().dataframe
    columns = json.loads(node.proto.columns)
    assert [columns[name]["type_config"]["format"] for name in ("weight", "offset")] == ["%.4e", "%,d"]
    assert not node.proto.arrow_data.styler.display_values


def test_table_displays_a_minus_sign_instead_of_a_hyphen_without_changing_the_data():
    def page() -> None:
        import pandas as pd

        from pages.ui.charts.tables import show_table

        show_table(
            pd.DataFrame(
                {
                    "row": ["a-b", "c"],
                    "weight": [-0.5, 0.25],
                    "offset": [-3, 2000],
                    "score": ["-1.5", "masked"],
                    "said": ["-", "d-e"],
                    "sum": [float("nan"), -1.0],
                    "typed": ["-1", "-2"],
                }
            ),
            "table",
            wrapped={"typed": 200},
        )

    (node,) = AppTest.from_function(page).run().dataframe
    assert written(node).to_numpy().tolist() == [
        ["a-b", "−0.500000", "−3", "−1.5", "-", "", "-1"],
        ["c", "0.250000", "2,000", "masked", "d-e", "−1.000000", "-2"],
    ]
    assert [*node.value["weight"], *node.value["offset"], node.value["score"][0]] == [-0.5, 0.25, -3, 2000, "-1.5"]
