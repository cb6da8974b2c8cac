"""Measures every head's effect on each of the user's own sentences, and shows tables of means and 95% intervals."""

from collections.abc import Sequence
from hashlib import sha256
from time import monotonic

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.downloads import npz_bytes, save_button, show_lines
from pages.ui.charts.tables import show_table
from pages.ui.measurements.local_measurement import time_left
from pages.ui.params.switch_heads_off import OffParams
from pages.ui.reading.my_sentences import my_sentences
from pages.ui.reading.sentence import Reading
from pages.ui.runs.inference import LONG_RUNS, RUNS, CachedRuns, model_turn
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.modes import MODES
from pages.ui.text.python_lines import effects_lines
from transformer.measurements.effects import EFFECTS, NO_EFFECTS, HeadEffects, measure_effects
from transformer.values.kinds import KINDS

# Session-state keys: the settings and results of the measurement so far, and the user's request to measure.
RESULT_KEY, RUNNING_KEY = "_my_effects", "_my_effects_going"


def show_own_sentences(reading: Reading, effect: str) -> None:
    """Show each head's effects on the user's sentences, and a button that measures the effects.

    Nothing is shown if the user has no list of sentences.

    Args:
        effect: the effect to show first, a key of `EFFECTS`.
    """
    sentences = my_sentences(reading.tokenizer.codes)
    if not sentences:
        return
    st.subheader("Every head, over all of my sentences", anchor=False)
    params = session.params(OffParams)
    digest = sha256("\n".join(sentences).encode()).digest()
    belongs = digest, reading.translator.version, params.mode, *params.drawn.values()
    settings, effects = st.session_state.get(RESULT_KEY, (belongs, NO_EFFECTS))
    if settings != belongs:
        effects = NO_EFFECTS
    going = st.session_state.pop(RUNNING_KEY, None) == belongs
    place = st.container(horizontal=True, vertical_alignment="center")
    if going and effects.read < len(sentences):
        with place:
            _measure(reading.runs, sentences, effects, belongs, params)
        st.rerun()
    with place:
        if effects.read < len(sentences):
            st.button(
                "Continue" if effects.read else f"Measure all {len(sentences)}",
                key="mine_measure",
                icon=":material/bar_chart:",
                on_click=st.session_state.update,
                args=({RUNNING_KEY: belongs},),
                help="Switches off one head at a time, which takes a second or two per sentence. You can stop and "
                "continue later. The server keeps recent measurements, even if you reload the page.",
            )
        st.caption(_describe_progress(effects, len(sentences)))
    if effects.texts:
        _show_tables(reading, effects, effect, params)


def _measure(
    runs: CachedRuns, sentences: Sequence[str], effects: HeadEffects, belongs: tuple[object, ...], params: OffParams
) -> None:
    """Measure the remaining sentences, and show a progress bar. Any click stops the measurement but keeps the results
    of finished sentences.
    """
    with st.container(width="stretch"):
        bar = st.progress(0.0)
    st.button("Stop", key="mine_stop", icon=":material/stop:", help="Keeps the measurements so far.")
    began, first, weights = monotonic(), effects.read, runs.weights()
    for number, sentence in enumerate(sentences[first:], start=first):
        done = number - first
        remaining = f", {time_left((monotonic() - began) / done * (len(sentences) - number))}" if done else ""
        bar.progress(number / len(sentences), f"Sentence {number + 1} of {len(sentences)}{remaining}")

        def measured(text: str = sentence) -> HeadEffects:
            with model_turn(LONG_RUNS):
                return measure_effects(runs.model, [text], mode=params.mode, weights=weights, **params.drawn)

        effects += RUNS.get((*runs.identity, "effects", *belongs[1:], sentence), measured)
        st.session_state[RESULT_KEY] = belongs, effects


def _describe_progress(effects: HeadEffects, count: int) -> str:
    if not effects.read:
        return (
            "The measurement records, for every head and sentence, where the head looks, what it contributes to the "
            "logits, and what changes when it is removed."
        )
    skipped = f" Sentences that the model cannot read: {len(effects.skipped)}." if effects.skipped else ""
    return f"Measured: {len(effects.texts)} of {count}.{skipped}"


def _show_tables(reading: Reading, effects: HeadEffects, effect: str, params: OffParams) -> None:
    offered = [name for name in EFFECTS if name in effects.values]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rows = st.segmented_control(
            "Rows",
            ["Heads", "Sentences"],
            default="Heads",
            required=True,
            key="mine_rows",
            label_visibility="collapsed",
        )
        number = st.selectbox(
            "Effect",
            offered,
            index=offered.index(effect) if effect in offered else 0,
            format_func=EFFECTS.__getitem__,
            key="mine_effect",
            label_visibility="collapsed",
            width=460,
        )
    table = head_table(effects, number) if rows == "Heads" else sentence_table(effects, number)
    show_table(table, f"mine_{rows.lower()}", digits=3)
    st.caption(
        "The 95% interval comes from resampling the sentences (bootstrap). A head “changes” a sentence if, without "
        "the head, another word becomes the most likely at some step. The output of a head that is off is replaced "
        f"with {MODES[params.mode]}, as chosen on *Switch heads off*. Click a column's title to sort the table.",
        help=explain("head", "log-probability", "nats", "logit"),
    )
    save_button(
        "Save as NPZ (every head, effect and sentence)",
        lambda: npz_bytes(effects.to_npz),
        "my_sentences.npz",
        key="mine_npz",
    )
    lines = effects_lines(effects.texts, number, params.mode, folder=reading.translator.folder, **params.drawn)
    show_lines(lines, "mine")


def head_table(effects: HeadEffects, effect: str) -> pd.DataFrame:
    """Return a table with one row per head: the mean effect with its 95% interval, the smallest and the largest effect,
    and a count. The count is the number of sentences in which removing the head changes the most likely word at some
    step.
    """
    rows = []
    for kind in effects.kinds(effect):
        estimate, values = effects.mean(effect, kind), effects.values[effect][kind]
        changed = (effects.values["changed"][kind] > 0).sum(axis=0)
        for (layer, head), mean in np.ndenumerate(estimate.mean):
            of_head = values[:, layer, head]
            known = of_head[np.isfinite(of_head)]
            rows.append(
                {
                    "head": f"{TITLES[kind]} {layer + 1}.{head + 1}",
                    "mean": float(mean),
                    "from": float(estimate.low[layer, head]),
                    "to": float(estimate.high[layer, head]),
                    "smallest": float(known.min()) if len(known) else np.nan,
                    "largest": float(known.max()) if len(known) else np.nan,
                    f"changes, of {len(values)}": int(changed[layer, head]),
                }
            )
    return pd.DataFrame(rows)


def sentence_table(effects: HeadEffects, effect: str) -> pd.DataFrame:
    """Return a table with one row per sentence, with the mean, smallest and largest effect over all heads."""
    kinds = effects.kinds(effect)
    names = [
        f"{TITLES[kind]} {layer + 1}.{head + 1}"
        for kind in kinds
        for layer, head in np.ndindex(effects.values[effect][kind].shape[1:])
    ]
    count = len(effects.texts)
    values = np.concatenate([effects.values[effect][kind].reshape(count, -1) for kind in kinds], axis=1)
    changed = np.concatenate([effects.values["changed"][kind].reshape(count, -1) for kind in KINDS], axis=1) > 0
    rows = []
    for number, text in enumerate(effects.texts):
        known = np.flatnonzero(np.isfinite(values[number]))
        least, most = (
            (known[each(values[number, known])] for each in (np.argmin, np.argmax)) if len(known) else (None, None)
        )
        rows.append(
            {
                "sentence": text,
                "translation": effects.translations[number],
                "log-probability": float(effects.log_probs[number]),
                "heads that change the translation": int(changed[number].sum()),
                "mean": float(values[number, known].mean()) if len(known) else np.nan,
                "smallest": np.nan if least is None else float(values[number, least]),
                "head with the smallest effect": "" if least is None else names[least],
                "largest": np.nan if most is None else float(values[number, most]),
                "head with the largest effect": "" if most is None else names[most],
            }
        )
    return pd.DataFrame(rows)
