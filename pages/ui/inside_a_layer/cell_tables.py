"""Tables of the sums that produce one attention cell. Pure."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pages.ui.charts.tables import MINUS_INFINITY, numbered_labels
from transformer.analysis.replay.cell import Cell
from transformer.analysis.replay.contributions import Contributions


def product_table(computation: Cell) -> pd.DataFrame:
    """Return a table of query × key with one row per head dimension; the last running sum is the raw score."""
    return pd.DataFrame(
        {
            "dimension": range(len(computation.query)),
            "q": computation.query,
            "k": computation.key,
            "q × k": computation.products,
            "sum so far": computation.products.cumsum(),
        }
    )


def softmax_table(computation: Cell, columns: list[str]) -> pd.DataFrame:
    """Return a table of the softmax: one row per column of the map, and a row of sums.

    Args:
        computation: the cell.
        columns: the labels of the C columns.
    """
    return pd.DataFrame(
        {
            "column": [*numbered_labels(columns), "sum"],
            "score": [*computation.scores, np.nan],
            "masked": [
                *(f"{score:.6f}" if np.isfinite(score) else MINUS_INFINITY for score in computation.masked_scores),
                "",
            ],
            "exp(s − max)": [*computation.exponentials, computation.exponentials.sum()],
            "weight": [*computation.weights, computation.weights.sum()],
        }
    )


def value_table(computation: Cell, columns: list[str]) -> pd.DataFrame:
    """Return a table of weighted values: one row per column of the map, the sum, and the head's output in the trace.

    Args:
        computation: the cell.
        columns: the labels of the C columns.
    """
    weighted = computation.weighted_values
    table = pd.DataFrame(
        np.vstack([weighted, weighted.sum(axis=0), computation.output]),
        columns=[f"v{n}" for n in range(weighted.shape[1])],
    )
    table.insert(0, "weight", [*computation.weights, computation.weights.sum(), np.nan])
    table.insert(0, "column", [*numbered_labels(columns), "sum", "output in the trace"])
    return table


def term_table(computation: Cell, layer_terms: Contributions, columns: list[str], row: int, head: int) -> pd.DataFrame:
    """Return a table with one row per column: the weight, and the norms of the vectors written to the residual stream.

    Args:
        computation: the cell.
        layer_terms: the contributions of all heads in the layer.
        columns: the labels of the C columns.
        row, head: the row and the head of the cell.
    """
    return pd.DataFrame(
        {
            "column": numbered_labels(columns),
            "weight": computation.weights,
            "norm of v W^O": np.linalg.norm(layer_terms.transformed[head], axis=-1),
            "norm written": layer_terms.head_norms()[head, row],
        }
    )
