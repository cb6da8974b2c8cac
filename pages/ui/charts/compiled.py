"""Builds Vega-Lite specifications in a fraction of the time that Altair takes.

Altair builds only a chart's template, which is cached; each sentence fills in its own values. Building a whole chart
takes longer than the rest of a page: 15 ms for two layers. Validating it takes 15 ms more; the tests do that.
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
# The maximum number of cached templates, a few kilobytes each; every sentence length has its own.
FORMS = 512


@dataclass(frozen=True, eq=False)
class CompiledChart:
    """Wrapper that makes Streamlit draw an Altair chart without validating its specification."""

    chart: AltairChart

    def to_dict(self) -> dict[str, Any]:
        """Return the specification. Tables go to Altair's current data transformer, as for any chart."""
        return self.chart.to_dict(validate=False)


@dataclass(frozen=True, eq=False)
class FilledChart:
    """A cached chart template filled with one sentence's values; Streamlit draws it like an Altair chart.

    Attributes:
        form: builds the template, a chart or layered chart, from the shape. It uses `altair.NamedData` for each table,
            and leaves out the labels.
        shape: the arguments of `form`, everything that the template depends on.
        tables: the tables by their names in the template.
        labels: the values of label parameters by their names in the template.
        large: whether `enlarged` is applied.
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
