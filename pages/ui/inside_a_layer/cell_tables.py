"""Pure functions that tabulate the calculations for one cell of an attention map."""

import numpy as np
import pandas as pd

from pages.ui.charts.tables import MINUS_INFINITY, numbered_labels
from transformer.analysis.replay.cell import Cell
from transformer.analysis.replay.contributions import Contributions


def product_table(computation: Cell) -> pd.DataFrame:
    """Return a table of query × key, one row per dimension of the head. The last running sum is the raw score."""
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
        columns: the labels of the columns.
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
    """Return a table of weighted values. The table has a row for each column of the map, one for the sum, and one for
    the head's output in the trace.

    Args:
        computation: the cell.
        columns: the labels of the columns.
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
    """Return a table with one row per column of the map: the weight, the norm of v W^O, and the norm of
    weight × v W^O.

    Args:
        computation: the cell.
        layer_terms: the contributions of all heads in the sub-layer.
        columns: the labels of the columns.
        row, head: the cell's row and head.
    """
    return pd.DataFrame(
        {
            "column": numbered_labels(columns),
            "weight": computation.weights,
            "norm of v W^O": np.linalg.norm(layer_terms.transformed[head], axis=-1),
            "norm written": layer_terms.head_norms()[head, row],
        }
    )
