"""Shows the positional encoding as a matrix in two layouts: interleaved, or all sines before all cosines."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.heatmap import heatmap
from pages.ui.charts.tables import frame, show_numbers
from pages.ui.components.save_as import show_plotly
from pages.ui.layout.roles import main_figure
from pages.ui.params.positional_encoding import PositionsParams
from pages.ui.state import session
from pages.ui.state.bind import bind_number
from transformer.analysis.positions import halves_order, wavelengths
from transformer.model.sinusoids import sinusoids

LAYOUTS = {
    False: "Interleaved: sin, cos, sin, cos, … (as in the paper)",
    True: "In halves: all sines, then all cosines",
}


def show_matrix() -> None:
    """Show the encoding matrix in both layouts, and check that one is a permutation of the other."""
    encoding = session.params(PositionsParams)
    columns = encoding.columns // 2 * 2
    with st.container(horizontal=True, width=420):
        st.number_input("Positions", **bind_number(PositionsParams, "rows"))
        st.number_input("Width D (even)", step=2, **bind_number(PositionsParams, "columns", value=columns))
    tables = {halves: sinusoids(encoding.rows, columns, halves=halves) for halves in LAYOUTS}
    for place, (halves, title) in zip(st.columns(2, gap="medium"), LAYOUTS.items(), strict=True):
        with (
            place,
            main_figure(
                "**Positional encoding:** one row per position",
                "Columns on the left change from row to row, columns on the right hardly at all",
                when=not halves,
            ),
        ):
            st.markdown(f"**{title}**")
            show_plotly(
                heatmap(tables[halves], titles=("position", "dimension"), name="value", first=(1, 0), height=440),
                key=f"positions_matrix_{halves}",
                alt=f"{title}: {encoding.rows} positions by {columns} dimensions.",
                sentence="",
            )
            show_numbers(
                frame(tables[halves], None, None, corner="position", first=(1, 0)), f"positions_matrix_numbers_{halves}"
            )
    order = halves_order(columns)
    same = np.array_equal(tables[False][:, order], tables[True])
    back = np.array_equal(tables[True][:, order.argsort()], tables[False])
    st.markdown(
        f"**Each layout is a permutation of the other.** Column *c* on the right is column *order[c]* on the left: "
        f"{_format_check(same)} for all {encoding.rows} × {columns} numbers, bit for bit. In the other direction: "
        f"{_format_check(back)}. For a model that starts from random weights, the two layouts are equivalent: "
        "renumbering the model's dimensions turns one layout into the other. But weights trained with one layout do "
        "not work with the other."
    )
    show_numbers(
        pd.DataFrame(
            {
                "dimension (in halves)": range(columns),
                "dimension (interleaved)": order,
                "function": ["sin" if each % 2 == 0 else "cos" for each in order],
                "wavelength, positions": wavelengths(columns)[order // 2],
            }
        ),
        "positions_order",
        label="The permutation",
        digits=4,
    )


def _format_check(right: bool) -> str:
    return "**true**" if right else "**false**"
