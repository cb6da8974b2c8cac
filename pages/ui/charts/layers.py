"""Charts that overlay each other. Pure."""

from __future__ import annotations

from typing import Any

import altair as alt


def layered(*layers: alt.Chart, **options: Any) -> alt.LayerChart:
    """Combine several charts into a layered one, the first at the bottom; options are those of `altair.LayerChart`.

    Each layer gets a name, because Altair would derive one by printing its data, which takes longer than all the rest.
    """
    for number, layer in enumerate(layers):
        layer.name = f"layer_{number}"
    return alt.LayerChart(layer=list(layers), **options)
