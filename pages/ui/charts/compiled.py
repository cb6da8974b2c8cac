"""Charts of Altair as specifications of Vega-Lite, in a fraction of the time that Altair takes.

Of a chart that every sentence draws anew, Altair builds only the form. To build all of one takes longer than the rest
of a page takes to run: 15 ms for two layers, and 15 more to check them against its schema, which the tests do.
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

# Altair would check every part as it is made.
disable_debug_mode()
# Forms that are kept, of some kilobytes each; every length of a sentence has one.
FORMS = 512


@dataclass(frozen=True, eq=False)
class CompiledChart:
    """What Streamlit draws like the chart of Altair that it has."""

    chart: AltairChart

    def to_dict(self) -> dict[str, Any]:
        """The specification. Tables go to whoever collects them from Altair at the moment, as those of any chart do."""
        return self.chart.to_dict(validate=False)


@dataclass(frozen=True, eq=False)
class FilledChart:
    """A form that is built once, and what one sentence fills in; Streamlit draws it like a chart of Altair.

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
        """As `CompiledChart.to_dict`."""
        collect = alt.data_transformers.get()
        assert collect is not None, "Altair always has one"
        specification = json.loads(_specification(self.form, self.shape, large=self.large))
        for part in (specification, *specification.get("layer", ())):
            name = part.get("data", {}).get("name")
            if name in self.tables:
                part["data"] = collect(self.tables[name])
        specification["params"] = [
            *specification.get("params", ()), *({"name": name, "value": list(of)} for name, of in self.labels.items()),
        ]
        return specification


@lru_cache(FORMS)
def _specification(form: Callable[..., AltairChart], shape: tuple[Hashable, ...], *, large: bool) -> str:
    chart = form(*shape)
    return json.dumps((enlarged(chart) if large else chart).to_dict(validate=False))
