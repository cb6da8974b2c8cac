"""Altair charts as Vega-Lite specifications, in a fraction of the time that Altair takes.

Altair builds only the form of a chart that each sentence draws anew. Building a whole chart takes longer than the rest
of a page: 15 ms for two layers. Checking it against its schema takes 15 ms more; the tests do that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.schemapi import disable_debug_mode

from pages.ui.charts.large import AltairChart, enlarged

# Skip Altair's schema validation of every chart object as it is created.
disable_debug_mode()
# Number of cached forms, a few kilobytes each; every length of a sentence has its own.
FORMS = 512


@dataclass(frozen=True, eq=False)
class CompiledChart:
    """Compiled chart that Streamlit draws like an Altair chart with the same specification."""

    chart: AltairChart

    def to_dict(self) -> dict[str, Any]:
        """Return the specification. Tables go to the collector that Altair currently has, as for any chart."""
        return self.chart.to_dict(validate=False)


@dataclass(frozen=True, eq=False)
class FilledChart:
    """Form that is built once, with one sentence's values; Streamlit draws it like an Altair chart.

    Attributes:
        form: builds a chart, or one of layers, from a shape, with `altair.NamedData` for each of the tables and without
            the labels.
        shape: all that the form depends on.
        tables: by their names in the form.
        labels: values of parameters, by their names in the form.
        large: as `enlarged` makes it.
    """

    form: Callable[..., AltairChart]
    shape: tuple[Hashable, ...]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str | Sequence[str]]] = field(default_factory=dict)
    large: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the specification, like `CompiledChart.to_dict`."""
        collect = alt.data_transformers.get()
        assert collect is not None, "Altair always has one"
        specification = json.loads(_specification(self.form, self.shape, large=self.large))
        for part in (specification, *specification.get("layer", ())):
            name = part.get("data", {}).get("name")
            if name in self.tables:
                part["data"] = collect(self.tables[name])
        specification["params"] = [
            *specification.get("params", ()),
            *({"name": name, "value": list(of)} for name, of in self.labels.items()),
        ]
        return specification


@lru_cache(FORMS)
def _specification(form: Callable[..., AltairChart], shape: tuple[Hashable, ...], *, large: bool) -> str:
    chart = form(*shape)
    return json.dumps((enlarged(chart) if large else chart).to_dict(validate=False))
