"""Global lock: one page script runs at a time, in order of arrival."""

from __future__ import annotations

from pages.ui.runs.shared import place_shown
from pages.ui.runs.turns import Turns

# Two simultaneous runs share one interpreter, and take longer than one after the other. A run gives up its turn while
# it waits for the model or for another run's result. It also does so while the model computes for it alone.
SCRIPT_RUNS = Turns(show_place=place_shown)
