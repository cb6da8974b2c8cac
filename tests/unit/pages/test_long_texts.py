"""Long texts: what the page computes and says, without drawing it."""

from __future__ import annotations

from collections.abc import Iterator

from pages.ui.inference import LONG_RUNS
from pages.ui.long_texts.measuring import in_turns
from transformer.language_modelling.cost import Cost


def test_others_have_their_turn_between_two_measurements():
    costs = [Cost("full", length, length**2, length, 0.1) for length in (64, 128)]
    held: list[bool] = []

    def measured() -> Iterator[Cost]:
        for cost in costs:
            held.append(bool(LONG_RUNS._queue))
            yield cost

    found = []
    for cost in in_turns(measured()):
        assert not LONG_RUNS._queue
        found.append(cost)
    assert found == costs and held == [True, True]
