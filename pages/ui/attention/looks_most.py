"""The bet on an attention page: which word gets the most attention on average over all heads?"""

import numpy as np

from attention_atlas.browser.labels import column_labels, disambiguate, output_label, row_labels
from pages.ui.bets.bet import Bet, BetAnswer, answer_of_worth
from pages.ui.reading.sentence import Reading
from transformer.analysis.view import view_of
from transformer.values.kinds import Kind
from transformer.values.trace import Trace

# Minimum number of visible words in a row; with fewer, the bet would be too easy.
MIN_CHOICES = 3


def looks_most(reading: Reading, kind: Kind) -> Bet | None:
    """Return a bet about the row whose attention, averaged over heads, has the highest entropy; None if no row is
    suitable.
    """
    return of_trace(reading.trace, kind)


def of_trace(trace: Trace, kind: Kind) -> Bet | None:
    view = view_of(trace, kind, words=True, special=False)
    mean = view.weights.mean(axis=(0, 1))
    axes = view.axes
    names = row_labels(axes) if axes.predicted is None else [output_label(axes, row) for row in range(len(axes.rows))]
    rows = [row for row, name in enumerate(names) if view.mask[row].sum() >= MIN_CHOICES and name.isalpha()]
    if not rows:
        return None
    row = max(rows, key=lambda each: -float((mean[each] * np.log(mean[each] + 1e-12)).sum()))
    seen = np.flatnonzero(view.mask[row])
    labels = disambiguate(column_labels(axes))
    choices = tuple(labels[column] for column in seen)
    shares = tuple(float(mean[row, column]) for column in seen)
    places = tuple(axes.column_positions[column] for column in seen)
    heads = view.layers * view.heads

    def settle() -> BetAnswer:
        first, second = sorted(range(len(shares)), key=lambda at: -shares[at])[:2]
        reason = (
            f"On average over all {heads} heads, “{choices[first]}” gets {shares[first]:.0%} of the attention and "
            f"“{choices[second]}” {shares[second]:.0%}."
        )
        return answer_of_worth(choices, shares, reason, shares)

    when = f"From “{names[row]}”" if kind == "encoder" else f"When the model writes “{names[row]}”"
    return Bet(f"{when}, which word gets the most attention, averaged over all {heads} heads?", choices, settle, places)
