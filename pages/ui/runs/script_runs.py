"""Global lock: one page script runs at a time, in order of arrival."""

from pages.ui.runs.shared import place_shown
from pages.ui.runs.turns import Turns

# Two scripts that run at once compete for the Python interpreter, and take longer than if one ran after the other. A
# script gives up its turn while it waits for the model's lock or another script's result, and while the model computes.
SCRIPT_RUNS = Turns(show_place=place_shown)
