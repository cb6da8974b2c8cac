"""Pure functions that show the probabilities of a text's tokens, as a strip of coloured cells and as a table."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import labelled_axis
from pages.ui.charts.palette import ink_on, sequential
from pages.ui.text.number_format import typeset

# COLUMNS is the number of cells per line, chosen so that a token fits into a cell on a projector. LINE is the height
# of a line, and MARGIN is the total space above and below the lines, both in pixels.
COLUMNS, LINE, MARGIN = 12, 44, 24
# Maximum width of a token's text in pixels.
MAX_TEXT_WIDTH = 66


def token_strip(texts: Sequence[tuple[str, Sequence[str], np.ndarray]]) -> alt.LayerChart:
    """Return a chart with one cell per token, in text order, coloured by probability. Long texts take several lines.

    Args:
        texts: for each text: the name, the token labels, and the log-probability of each token given the tokens before
            it, in nats: [N].
    """
    cells, names = [], []
    for name, labels, log_probs in texts:
        for place, (label, probability) in enumerate(zip(labels, np.exp(log_probs).tolist(), strict=True)):
            if place % COLUMNS == 0:
                names.append("" if place else name)
            cells.append(
                {
                    "line": len(names),
                    "column": place % COLUMNS + 1,
                    "place": place + 1,
                    "token": label,
                    "probability": probability,
                    "shown": typeset(probability, 2),
                }
            )
    axis, row_names = labelled_axis("row_labels", names)
    columns = alt.Scale(domain=list(range(1, min(COLUMNS, max(len(labels) for _, labels, _ in texts)) + 1)))
    base = alt.Chart(pd.DataFrame(cells)).encode(
        x=alt.X("column:O", axis=None, scale=columns),
        y=alt.Y("line:O", title=None, axis=axis),
        tooltip=[alt.Tooltip("place:Q"), alt.Tooltip("token:N"), alt.Tooltip("probability:Q", format=".6g")],
    )

    def written(field: str, above: int, **options: Any) -> alt.Chart:
        # Shift the text up or down by a fifth of the cell's height.
        shift = alt.expr(f"{above} * height / {5 * len(names)}")
        return base.mark_text(fontSize=12, dy=shift, limit=MAX_TEXT_WIDTH, **options).encode(
            text=alt.Text(f"{field}:N"), color=ink_on("probability")
        )

    strip = layer_charts(
        base.mark_rect(stroke="currentColor", strokeOpacity=0.2).encode(
            color=alt.Color("probability:Q", scale=sequential(), legend=None)
        ),
        written("token", -1, fontWeight="bold"),
        written("shown", 1),
    )
    return strip.add_params(row_names).properties(
        height=LINE * len(names) + MARGIN, usermeta={"embedOptions": {"renderer": "svg"}}
    )


def token_table(labels: Sequence[str], log_probs: np.ndarray) -> pd.DataFrame:
    """Return a table with one row per token: probability, log-probability, and log-probability of the text so far."""
    return pd.DataFrame(
        {
            "place": range(1, len(labels) + 1),
            "token": labels,
            "probability": [f"{p:.4g}" for p in np.exp(log_probs)],
            "log-probability (nats)": [f"{value:.4f}" for value in log_probs],
            "log-probability so far (nats)": [f"{value:.4f}" for value in np.cumsum(log_probs)],
        }
    )
