import numpy as np
import pandas as pd

from pages.ui.about.learning_curve import LOSS, learning_chart


def test_learning_curve_omits_missing_values():
    table = pd.DataFrame(
        {"step": [25, 50, 75], "training_loss": [9.0, 7.0, 6.0], "validation_loss": [np.nan, 7.5, np.nan]}
    )
    drawn = learning_chart(table, LOSS, "nats").data
    assert list(drawn.itertuples(index=False, name=None)) == [
        (25, "training", 9.0),
        (50, "training", 7.0),
        (75, "training", 6.0),
        (50, "held out", 7.5),
    ]
