"""Builds Vega-Lite specifications in a fraction of the time that Altair takes.

Altair builds each chart template once, and the template is cached. Each sentence then only fills in its values.
Building a two-layer chart takes 15 ms, longer than the rest of a page, and validating it takes another 15 ms.
Validation is left to the tests.
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

from pages.ui.charts.enlargement import AltairChart, enlarge

# Skip Altair's schema validation of every chart object as it is created.
disable_debug_mode()
# Maximum number of cached templates. Each takes a few kilobytes, and every sentence length needs its own template.
FORMS = 512


@dataclass(frozen=True, eq=False)
class CompiledChart:
    """Wrapper that lets Streamlit render an Altair chart without validating the specification."""

    chart: AltairChart

    def to_dict(self) -> dict[str, Any]:
        """Return the specification. As in Altair, tables go through the current data transformer."""
        return self.chart.to_dict(validate=False)


@dataclass(frozen=True, eq=False)
class FilledChart:
    """A cached chart template filled with one sentence's values; Streamlit renders it like an Altair chart.

    Attributes:
        form: builds the template, a chart or layered chart, from `shape`. Tables are `altair.NamedData`, and labels are
            left out.
        shape: the arguments of `form`: everything that the template depends on.
        tables: the tables, by name in the template.
        labels: the values of the label parameters, by name in the template.
        large: whether to apply `enlarge`.
    """

    form: Callable[..., AltairChart]
    shape: tuple[Hashable, ...]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str | Sequence[str]]] = field(default_factory=dict)
    large: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the specification. As in Altair, tables go through the current data transformer."""
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
    return json.dumps((enlarge(chart) if large else chart).to_dict(validate=False))
