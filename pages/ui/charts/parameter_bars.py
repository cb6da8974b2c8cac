"""Pure functions that draw a bar chart of the number of parameters in each part of a model."""

from collections.abc import Sequence
from textwrap import wrap

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

# Maximum number of characters in one line of a bar's label.
LONGEST_LINE = 26


def parameter_bars(table: Sequence[tuple[str, int]]) -> go.Figure:
    """Return a horizontal bar chart with one bar per part of a model.

    Args:
        table: (part name, parameter count) pairs from `transformer.model.parameter_counts.parameter_table`.
    """
    parts = ["<br>".join(wrap(part, LONGEST_LINE)) for part, _ in table]
    figure = px.bar(
        pd.DataFrame({"part": parts, "parameters": [count for _, count in table]}),
        x="parameters",
        y="part",
        orientation="h",
        text="parameters",
    )
    figure.update_traces(texttemplate="%{x:,}", textposition="outside", hovertemplate="%{y}: %{x:,}<extra></extra>")
    figure.update_yaxes(autorange="reversed", title=None)
    # Leave room for the number beside the longest bar, even on a projector.
    most = 1.6 * max(count for _, count in table)
    figure.update_xaxes(title="parameters", showgrid=False, range=[0, most])
    figure.update_layout(height=400, margin={"l": 0, "r": 0, "t": 8, "b": 0})
    return figure
