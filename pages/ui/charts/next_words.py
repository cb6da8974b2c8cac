"""Pure functions that show next-token probabilities as a table and a bar chart, to compare model runs."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from attention_atlas.browser.token_labels import entry_label
from pages.ui.charts.matrix import AXIS, labelled_axis
from pages.ui.charts.palette import FIRST, SECOND, SERIES
from pages.ui.charts.series import series_colour
from transformer.ablation.continuation import candidates
from transformer.text.vocabulary import Vocabulary
from transformer.values.trace import Trace

SHOWN = 5


def next_words(traces: Mapping[str, Trace], step: int, tokenizer: Vocabulary) -> pd.DataFrame:
    """Return a table with one row per candidate token: id, label, and probability in each trace (NaN if not stored).

    Args:
        traces: the traces, by column name; all have the same translation before the step.
        step: the 0-based translation step.
        tokenizer: provides the token labels.
    """
    rows = candidates(tuple(traces.values()), step, SHOWN)
    return pd.DataFrame(
        {
            "id": [token for token, _ in rows],
            "token": [entry_label(tokenizer, token) for token, _ in rows],
            **{name: np.exp([found[number] for _, found in rows]) for number, name in enumerate(traces)},
        }
    )


def next_chart(table: pd.DataFrame, names: Mapping[str, str]) -> alt.Chart:
    """Return a bar chart of next-token probabilities, with one bar per candidate token and model run.

    Args:
        table: a table made by `next_words`.
        names: the name of each model run in the legend, by column name.
    """
    rows = [
        {"place": place, "token": row["token"], "model": name, "probability": row[column]}
        for place, row in enumerate(table.to_dict("records"), start=1)
        for column, name in names.items()
        if np.isfinite(row[column])
    ]
    order = list(names.values())
    colours = [FIRST, SECOND] if len(order) == 2 else SERIES[: len(order)]
    axis, labels = labelled_axis("tokens", table.token.tolist())
    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            y=alt.Y("place:O", title=None, axis=axis),
            x=alt.X("probability:Q", axis=alt.Axis(**{**AXIS, "grid": True}, format="%"), title="probability"),
            yOffset=alt.YOffset("model:N", sort=order),
            color=series_colour("model", dict(zip(order, colours, strict=True)), orient="top"),
            tooltip=["token:N", "model:N", alt.Tooltip("probability:Q", format=".4f")],
        )
        .add_params(labels)
        .properties(height=17 * len(order) * len(table) + 60, usermeta={"embedOptions": {"renderer": "svg"}})
    )
