"""Builds Vega-Lite specifications faster than Altair does, with cached chart templates and without validation.

Altair builds each template once; for each sentence, only the values are filled in. Building a two-layer chart with
Altair takes 15 ms, longer than building the rest of a page. Validating the chart takes another 15 ms. Tests
validate the charts instead.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.schemapi import disable_debug_mode

from pages.ui.charts.enlargement import AltairChart, enlarge

# Do not validate each chart object when it is created, because validation is slow.
disable_debug_mode()
# Maximum number of cached templates. A template takes a few kilobytes, and each sentence length needs a separate one.
FORMS = 512


@dataclass(frozen=True, eq=False)
class CompiledChart:
    """Wraps an Altair chart, so that Streamlit renders the chart without validation."""

    chart: AltairChart

    def to_dict(self) -> dict[str, Any]:
        """Return the Vega-Lite specification. As in Altair, tables go through the current data transformer."""
        return self.chart.to_dict(validate=False)


@dataclass(frozen=True, eq=False)
class FilledChart:
    """A cached chart template and the values to fill in; Streamlit renders the filled chart like an Altair chart.

    Attributes:
        form: returns the template, a chart or layered chart whose tables are `altair.NamedData` without values.
        shape: the arguments of `form`, on which the template depends.
        tables: the tables to fill in, by name in the template.
        labels: the axis labels to fill in, by the name of their Vega parameter.
        large: whether to enlarge the chart for lecture mode.
    """

    form: Callable[..., AltairChart]
    shape: tuple[Hashable, ...]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str | Sequence[str]]] = field(default_factory=dict)
    large: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the Vega-Lite specification. As in Altair, tables go through the current data transformer."""
        collect = alt.data_transformers.get()
        assert collect is not None, "Altair always has a data transformer"
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
