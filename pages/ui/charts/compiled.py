"""Charts of Altair as specifications of Vega-Lite, each compiled once.

Altair takes longer to build a chart than the rest of a page takes to run: 25 ms for two layers, and 15 more to check
them against its schema, which the tests do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.charts.hall import AltairChart
from pages.ui.shared import SharedResults

# Bytes of a specification without its data.
SPECIFICATION = 30_000


class CompiledChart:
    """What Streamlit draws like a chart of Altair."""

    def __init__(self, chart: AltairChart) -> None:
        self._chart: AltairChart | None = chart
        self._tables = list(_tables(chart))
        self._specification = ""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return SPECIFICATION + sum(int(table.memory_usage(deep=True).sum()) for table in self._tables)

    def to_dict(self) -> dict[str, Any]:
        """The specification. The tables go to whoever collects them from Altair at the moment, as for any chart."""
        if chart := self._chart:
            specification = chart.to_dict(validate=False)
            self._specification, self._chart = json.dumps(specification), None
            return specification
        collect = alt.data_transformers.get()
        assert collect is not None, "Altair always has one"
        for table in self._tables:
            collect(table)
        return json.loads(self._specification)


def _tables(chart: Any) -> Iterator[pd.DataFrame]:
    """The data of a chart and of all charts that it is made of."""
    if isinstance(chart.data, pd.DataFrame):
        yield chart.data
    for name in ("layer", "hconcat", "vconcat", "concat"):
        for part in getattr(chart, name, ()):
            yield from _tables(part)
    if isinstance(chart, alt.FacetChart):
        yield from _tables(chart.spec)


def _identity(build: partial[AltairChart]) -> Hashable:
    return build.func, _comparable(build.args), _comparable(tuple(sorted(build.keywords.items())))


def _comparable(argument: Any) -> Hashable:
    if isinstance(argument, np.ndarray):
        return argument.shape, argument.dtype.str, argument.tobytes()
    return tuple(map(_comparable, argument)) if isinstance(argument, list | tuple) else argument


CHARTS = SharedResults(limit=16 * 2**20, size=lambda chart: chart.size, identity={partial: _identity})


def compiled(chart: AltairChart | partial[AltairChart]) -> CompiledChart:
    """A chart to draw; one that is yet to be built is built only if nobody has seen it lately."""
    return _built(chart) if isinstance(chart, partial) else CompiledChart(chart)


@CHARTS.remember()
def _built(build: Callable[[], AltairChart]) -> CompiledChart:
    return CompiledChart(build())
