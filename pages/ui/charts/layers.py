"""Pure functions that combine Altair charts into a layered chart."""

from typing import Any

import altair as alt


def layer_charts(*layers: alt.Chart, **options: Any) -> alt.LayerChart:
    """Layer several charts, the first at the bottom; `options` are passed to `altair.LayerChart`.

    Each layer gets a name, because Altair would otherwise generate one by printing all the layer's data, which is slow.
    """
    for number, layer in enumerate(layers):
        layer.name = f"layer_{number}"
    return alt.LayerChart(layer=list(layers), **options)
