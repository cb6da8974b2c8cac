"""Charts that lie over each other. Pure."""

from __future__ import annotations

from typing import Any

import altair as alt


def layered(*layers: alt.Chart, **options: Any) -> alt.LayerChart:
    """One chart of several, the first one at the bottom; options are those of `altair.LayerChart`.

    Altair gives a layer without a name one that it makes of a print of its data, which takes longer than all the rest.
    """
    for number, layer in enumerate(layers):
        layer.name = f"layer_{number}"
    return alt.LayerChart(layer=list(layers), **options)
