"""Whose page is being computed: one at a time, so that all are answered one after the other."""

from __future__ import annotations

from pages.ui.runs.shared import place_shown
from pages.ui.runs.turns import Turns

# Two runs at once share one interpreter, and take longer than both in a row. A run gives its turn up while it waits for
# the model or for somebody else's result, and while the model computes for it alone.
SCRIPT_RUNS = Turns(show_place=place_shown)
