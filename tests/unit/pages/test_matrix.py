import altair as alt
import numpy as np
import pytest

from pages.ui.charts.matrix import cells, matrix
from pages.ui.text.number_format import rounded
from transformer.analysis.view import view_of
from transformer.values.trace import KINDS


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator.trace("The dog and the dog.", "Der Hund und der Hund.")


@pytest.mark.parametrize("kind", KINDS)
def test_matrix_cells_show_the_attention_weights_of_the_trace(trace, kind):
    view = view_of(trace, kind)
    table = cells(view, 1, 2)
    for row, column, weight in zip(table["row"], table["column"], table["weight"], strict=True):
        if view.mask[row - 1, column - 1]:
            assert weight == f"{rounded(trace.attention(kind)[1, 2, row - 1, column - 1]):.4f}"
        else:
            assert weight == "masked"
    assert len(table) == view.mask.size


def test_matrix_chart_uses_positions_as_axes_and_shows_its_first_row_on_top():
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    labels = ['"];alert(1)//</script><b>x', "dog", "dog"]
    spec = matrix(values, ["a", "a"], labels, name="score", scale=alt.Scale(domain=[0, 6])).to_dict()
    table = next(iter(spec["datasets"].values()))
    places = [(row["row"], row["column"], row["value"]) for row in table]
    assert places[:4] == [(1, 1, 1), (1, 2, 2), (1, 3, 3), (2, 1, 4)]
    assert spec["encoding"]["x"]["field"] == "column" and "sort" not in spec["encoding"]["y"]
    assert spec["encoding"]["x"]["axis"]["labelExpr"] == "column_labels[datum.value - 1]"
    assert {"name": "column_labels", "value": labels} in spec["params"]
