from collections.abc import Iterator

from pages.ui.long_texts.cost_words import conclusion, describe_saving
from pages.ui.long_texts.local_costs import measure_in_turns
from pages.ui.runs.inference import LONG_RUNS
from transformer.language_modelling.cost import Cost


def test_cost_measurement_yields_to_other_users_between_steps():
    costs = [Cost("full", length, length**2, length, 0.1) for length in (64, 128)]
    held: list[bool] = []

    def measured() -> Iterator[Cost]:
        for cost in costs:
            held.append(bool(LONG_RUNS._queue))
            yield cost

    found = []
    for cost in measure_in_turns(measured()):
        assert not LONG_RUNS._queue
        found.append(cost)
    assert found == costs and held == [True, True]


def test_page_describes_the_cost_of_full_attention_in_words():
    costs = [Cost("full", 512, 100, 10, 0.004), Cost("full", 1024, 800, 20, 0.032), Cost("local", 1024, 50, 20, 0.04)]
    said = describe_saving(costs, "weights")
    assert "**1,024 tokens** takes **800 bytes**" in said and "local attention takes 1/16 of that (50 bytes)" in said
    assert "compressed" not in said, "it was not measured at that length"
    assert "local attention takes as much (20 bytes)" in describe_saving(costs, "keys_and_values")
    assert "local attention takes 1.2 times that (40 ms)" in describe_saving(costs, "seconds")
    assert "from the hardware" in conclusion(costs, "seconds") and "hardware" not in conclusion(costs, "weights")
