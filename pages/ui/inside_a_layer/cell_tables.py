"""Tables of the sums that produce one attention cell. Pure."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pages.ui.charts.tables import MINUS_INFINITY, numbered_labels
from transformer.analysis.replay.cell import Cell
from transformer.analysis.replay.contributions import Contributions


def product_table(found: Cell) -> pd.DataFrame:
    """Return a table of query × key with one row per head dimension; the last running sum is the raw score."""
    return pd.DataFrame(
        {
            "dimension": range(len(found.query)),
            "q": found.query,
            "k": found.key,
            "q × k": found.products,
            "sum so far": found.products.cumsum(),
        }
    )


def softmax_table(found: Cell, columns: list[str]) -> pd.DataFrame:
    """Return a table of the softmax: one row per column of the map, and a row of sums.

    Args:
        found: the cell.
        columns: the labels of the C columns.
    """
    return pd.DataFrame(
        {
            "column": [*numbered_labels(columns), "sum"],
            "score": [*found.scores, np.nan],
            "masked": [
                *(f"{score:.6f}" if np.isfinite(score) else MINUS_INFINITY for score in found.masked_scores),
                "",
            ],
            "exp(s − max)": [*found.exponentials, found.exponentials.sum()],
            "weight": [*found.weights, found.weights.sum()],
        }
    )


def value_table(found: Cell, columns: list[str]) -> pd.DataFrame:
    """Return a table of weighted values: one row per column of the map, the sum, and the head's output in the trace.

    Args:
        found: the cell.
        columns: the labels of the C columns.
    """
    weighted = found.weighted_values
    table = pd.DataFrame(
        np.vstack([weighted, weighted.sum(axis=0), found.output]), columns=[f"v{n}" for n in range(weighted.shape[1])]
    )
    table.insert(0, "weight", [*found.weights, found.weights.sum(), np.nan])
    table.insert(0, "column", [*numbered_labels(columns), "sum", "output in the trace"])
    return table


def term_table(found: Cell, whole: Contributions, columns: list[str], row: int, head: int) -> pd.DataFrame:
    """Return a table with one row per column: the weight, and the norms of the vectors written to the residual stream.

    Args:
        found: the cell.
        whole: the contributions of all heads in the layer.
        columns: the labels of the C columns.
        row, head: the row and the head of the cell.
    """
    return pd.DataFrame(
        {
            "column": numbered_labels(columns),
            "weight": found.weights,
            "norm of v W^O": np.linalg.norm(whole.transformed[head], axis=-1),
            "norm written": whole.head_norms()[head, row],
        }
    )
