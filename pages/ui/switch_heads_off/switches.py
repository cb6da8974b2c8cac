"""Shows a JavaScript component with a switch for every head, and controls that set what replaces a head's output."""

import numpy as np
import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.thumbnail import data_uri
from pages.ui.components.bundle import component
from pages.ui.components.save_as import saveable
from pages.ui.params.switch_heads_off import HeadSet, OffParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind_number, segments
from pages.ui.text.glossary import explain
from pages.ui.text.modes import MODES
from transformer.values.interventions import Interventions, Mode
from transformer.values.trace import KINDS, Trace

KEY = "head_switches"
# Descriptions, for exported files, of how each mode changes a head's output.
BASELINES: dict[Mode, str] = {
    "zero": "a head's output is multiplied by the gate, so a gate of 0 removes the output",
    "mean": "the gate multiplies the difference between a head's output and its mean over 200 sentences; "
    "at 0, only the mean is left",
    "uniform": "a head's weights are mixed with uniform weights over all visible tokens, so a gate of 0 makes them "
    "uniform",
    "resample": "the difference between a head's output and its output at a random position of another sentence is "
    "multiplied by the gate. So a gate of 0 leaves the other sentence's output. Each draw uses one of 200 sentences",
}

draw_switches = component("head_switches/head_switches")


def pick_heads(reading: Reading) -> Interventions:
    """Show the switchboard and the controls, and return the chosen interventions."""
    config = reading.translator.config
    params = session.params(OffParams)
    switchboard(reading.trace, HeadSet(params.within(config)), _describe_mode(params))
    # The mode names get most of the width, because they would otherwise not fit on a narrow screen.
    mode, gate = st.columns([3, 1], gap="medium", vertical_alignment="bottom")
    with mode:
        segments(
            "Replace the head's output with",
            MODES,
            OffParams,
            "mode",
            help="These options are known as zero ablation, mean ablation, uniform attention and resample ablation. "
            "Later layers never received zeros in training. The mean output is what they receive on average. The "
            "output for another sentence is a realistic input, but it depends on the sentence drawn, so several "
            "sentences are tried.",
        )
    gate.slider(
        "Gate: multiply the output by",
        step=0.1,
        help=explain("gate"),
        **bind_number(OffParams, "gate", maximum=params.most),
    )
    if params.mode == "resample":
        draws, seed, _ = st.columns([1, 1, 2], gap="medium")
        draws.number_input(
            "Draws",
            help="How many other sentences are tried; the measured changes are means over all of them.",
            **bind_number(OffParams, "draws"),
        )
        seed.number_input(
            "Seed",
            help="Chooses the sentences at random; the same seed chooses the same sentences.",
            **bind_number(OffParams, "seed"),
        )
    return params.interventions(config)


def switchboard(trace: Trace, off: HeadSet, changed: str) -> None:
    """Show a switch for every head, and store which heads the user has switched off.

    Args:
        trace: the trace whose attention maps the switches show.
        off: the heads that are off or set to a gate.
        changed: the state of the heads in `off`, such as "off" or "set to a gate of 0.5".
    """

    def store() -> None:
        switched = st.session_state[KEY].get("switched")
        heads = OffParams.checked("heads", switched) if isinstance(switched, str) else None
        if heads is not None:
            session.update(OffParams, heads=heads)

    boards = [
        {
            "kind": kind,
            "title": TITLES[kind],
            "layers": weights.shape[0],
            "heads": weights.shape[1],
            "picture": data_uri(picture(weights, trace.mask(kind))),
        }
        for kind in KINDS
        for weights in [trace.attention(kind)]
    ]
    with saveable(KEY, f"Maps of all heads, with a cross through each head that is {changed}"):
        draw_switches(
            key=KEY,
            data={"boards": boards, "off": str(off), "changed": changed},
            on_switched_change=store,
            width="stretch",
        )


def picture(weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Tile the maps of one attention kind into one array, with a row of maps per layer and a column per head.

    Args:
        weights: the attention weights, [L, H, R, C].
        mask: whether each row may look at each column, bool [R, C].

    Returns:
        [L * R, H * C], with NaN where the mask is False.
    """
    layers, heads, rows, columns = weights.shape
    return np.where(mask, weights, np.nan).transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)


def _describe_mode(params: OffParams) -> str:
    gate = min(params.gate, params.most)
    return "off" if gate == 0 else f"set to a gate of {gate:g}"
