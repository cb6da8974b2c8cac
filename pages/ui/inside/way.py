"""The way of one sentence through the model: one stage large, those around it small."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.ui import state
from pages.ui.heatmap import SHARE, heatmap
from pages.ui.inside.inspection import Inspection
from pages.ui.inside.picture import picture
from pages.ui.inside.selection import choose_head
from pages.ui.inside.stage import pieces_table, shape, sheet
from pages.ui.numbers import frame, show_numbers, show_table
from pages.ui.sentence import Reading
from transformer.analysis.stages import Stage, stages
from transformer.trace import Trace

# Beginnings of keys, in the order of the way.
SECTIONS = {
    "encoder.": "Into the encoder", "encoder.self_attention.": "Encoder: self-attention",
    "encoder.feed_forward.": "Encoder: feed-forward", "decoder.": "Into the decoder",
    "decoder.self_attention.": "Decoder: masked attention", "decoder.cross_attention.": "Decoder: cross-attention",
    "decoder.feed_forward.": "Decoder: feed-forward", "generator.": "To the word",
}
OUTPUT = ".output"
COLUMNS = 3


def section_of(key: str) -> str:
    """The beginning in `SECTIONS` that a stage belongs to; a stack's output comes after its last sub-layer."""
    stack, _, rest = key.partition(".")
    if stack != "generator" and key.endswith(OUTPUT):
        return f"{stack}.feed_forward."
    return f"{stack}.{rest.partition('.')[0]}." if "." in rest else f"{stack}."


def show_way(reading: Reading) -> None:
    """The stage that is chosen, the way to the next, and all of its section."""
    trace = reading.detailed()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        places = st.container(width="stretch")
        choice = choose_head(trace, "encoder", Inspection.PREFIX)
    listed = stages(
        trace, reading.weights(), encoder_layer=choice.layer,
        decoder_layer=min(choice.layer, len(trace.decoder) - 1), head=choice.head,
    )
    keys = [stage.key for stage in listed]
    chosen = state.own(Inspection).stage
    at = keys.index(chosen) if chosen in keys else 0
    section = section_of(keys[at])
    firsts = {name: next(key for key in keys if section_of(key) == name) for name in SECTIONS}
    places.segmented_control(
        "Where on the way", SECTIONS, format_func=SECTIONS.get, required=True,
        key=state.hold("inside_section", section),
        on_change=lambda: state.keep(Inspection, stage=firsts[st.session_state.inside_section]),
    )
    _large(listed, at, reading, trace)
    st.divider()
    numbers = [number for number, key in enumerate(keys) if section_of(key) == section]
    for start in range(0, len(numbers), COLUMNS):
        columns = st.columns(COLUMNS, gap="medium")
        for column, number in zip(columns, numbers[start : start + COLUMNS], strict=False):
            with column.container(border=True, height="stretch"):
                _small(listed[number], number, reading, trace, open_now=number == at)


def _large(listed: Sequence[Stage], at: int, reading: Reading, trace: Trace) -> None:
    """One stage with its formula, its shape, its tensor and its numbers."""
    stage, config = listed[at], reading.translator.config
    title, back, on = st.columns([8, 1.4, 1.4], vertical_alignment="center")
    where = f"{stage.stack} layer {stage.layer + 1} · " if stage.layer is not None else ""
    title.subheader(f"{at + 1} of {len(listed)}: {stage.name}", anchor=False)
    for column, label, number in ((back, "Back", at - 1), (on, "Next", at + 1)):
        there = 0 <= number < len(listed)
        column.button(
            label, key=f"inside_{label}", disabled=not there, width="stretch", on_click=state.keep, args=(Inspection,),
            kwargs={"stage": listed[number].key if there else stage.key},
        )
    formula, numbers = st.columns([5, 4], vertical_alignment="center")
    formula.latex(folded(stage.formula))
    numbers.markdown(f"{where}`{shape(stage, config, trace)}`")
    if stage.array.dtype.kind == "i":
        show_table(pieces_table(stage, trace, reading.translator.tokenizer), "inside_pieces")
        return
    shown = sheet(stage, trace, reading.translator.tokenizer)
    st.plotly_chart(
        heatmap(shown.values, titles=shown.titles, name="value", colours=shown.colours, rows=shown.rows,
                columns=shown.columns),
        key="inside_stage", alt=f"{stage.name}, {shape(stage, config, trace)}; the table below has its numbers.",
    )
    if shown.note:
        st.caption(shown.note)
    show_numbers(
        frame(shown.values, shown.rows, shown.columns, corner=shown.titles[0]), "inside_stage_numbers",
    )


def folded(formula: str) -> str:
    """A formula of several parts, each on a line of its own."""
    lines = formula.replace(r", \quad ", r" \\ ")
    return rf"\begin{{gathered}} {lines} \end{{gathered}}"


def _small(stage: Stage, number: int, reading: Reading, trace: Trace, *, open_now: bool) -> None:
    """A card of a stage: its name, formula, shape and picture, and the way to it."""
    config, tokenizer = reading.translator.config, reading.translator.tokenizer
    st.markdown(f"**{number + 1}. {stage.name}**  \n`{shape(stage, config, trace)}`")
    st.latex(rf"\small {folded(stage.formula)}")
    if stage.array.dtype.kind == "i":
        st.caption(" ".join(str(int(piece)) for piece in stage.array[0][:40]))
    else:
        shown = sheet(stage, trace, tokenizer)
        st.image(
            picture(shown.values, share=shown.colours == SHARE), width="stretch", output_format="PNG",
            alt=f"{stage.name}: {shown.values.shape[0]} rows, {shown.values.shape[1]} columns.",
        )
    st.button(
        "Shown above" if open_now else "Open large", key=f"inside_open_{stage.key}", disabled=open_now,
        icon=":material/open_in_full:", on_click=state.keep, args=(Inspection,), kwargs={"stage": stage.key},
    )
