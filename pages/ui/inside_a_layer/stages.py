"""Shows how the model processes a sentence: the chosen stage in full, and all stages of its section as small cards."""

from collections.abc import Sequence

import streamlit as st

from pages.ui.charts.heatmap import SHARE, heatmap
from pages.ui.charts.tables import frame, show_numbers
from pages.ui.charts.thumbnail import HEIGHT, thumbnail
from pages.ui.components.diagram import show_parts_diagram
from pages.ui.components.save_as import show_figure_table, show_plotly
from pages.ui.heads.head_picker import pick_head
from pages.ui.heads.head_reading import HeadReading
from pages.ui.inside_a_layer.stage_matrix import shape, sizes, stage_matrix, tokens_table
from pages.ui.inside_a_layer.stage_sentences import plain_sentence
from pages.ui.layout.roles import main_figure
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.state import session
from pages.ui.state.bind import setting
from pages.ui.text.glossary import explain_words_of
from pages.ui.text.markup import markdown
from pages.ui.text.shapes import split_formula
from transformer.analysis.replay.stages import stages
from transformer.backpropagation.notes import Stage
from transformer.values.trace import Trace

# Section titles in the order of computation. Each key is the prefix that the keys of the section's stages share.
SECTIONS = {
    "encoder.": "Into the encoder",
    "encoder.self_attention.": "Encoder attention",
    "encoder.feed_forward.": "Encoder: feed-forward",
    "decoder.": "Into the decoder",
    "decoder.self_attention.": "Masked attention",
    "decoder.cross_attention.": "Cross attention",
    "decoder.feed_forward.": "Decoder: feed-forward",
    "generator.": "To the output",
}
# Section titles for a language model, which has only one stack.
SECTIONS_OF_ONE_STACK = {
    "decoder.": "Into the model",
    "decoder.self_attention.": "Masked attention",
    "decoder.feed_forward.": "Feed-forward",
    "generator.": "To the next token",
}
OUTPUT = ".output"
COLUMNS = 3


def section_of(key: str) -> str:
    """Return the `SECTIONS` key for the stage with the given key. A stack's output is in the feed-forward section."""
    stack, _, rest = key.partition(".")
    if stack != "generator" and key.endswith(OUTPUT):
        return f"{stack}.feed_forward."
    return f"{stack}.{rest.partition('.')[0]}." if "." in rest else f"{stack}."


def show_stages(reading: HeadReading) -> None:
    """Show the chosen stage, Back and Next buttons, and all stages of the section."""
    trace = reading.detailed()
    sections = SECTIONS if len(trace.stacks) > 1 else SECTIONS_OF_ONE_STACK
    words, drawing = st.columns([7, 4], gap="medium")
    with drawing:
        places = st.container()
        with st.container(horizontal=True):
            choice = pick_head(reading, trace.kinds[0], InsideParams.PREFIX)
    all_stages = stages(
        trace,
        reading.weights(),
        encoder_layer=choice.layer,
        decoder_layer=min(choice.layer, len(trace.decoder) - 1),
        head=choice.head,
    )
    keys = [stage.key for stage in all_stages]
    chosen_stage = session.params(InsideParams).stage
    at = keys.index(chosen_stage) if chosen_stage in keys else 0
    section = section_of(keys[at])
    with places:
        show_parts_diagram(
            section,
            {name: next(key for key in keys if section_of(key) == name) for name in sections},
            lambda key: session.update(InsideParams, stage=key),
        )
    with drawing, st.container(horizontal=True):
        for label, number in (("Back", at - 1), ("Next", at + 1)):
            there = 0 <= number < len(keys)
            st.button(
                label,
                key=f"inside_{label}",
                disabled=not there,
                width=110,
                **setting(InsideParams, stage=keys[number] if there else keys[at]),
            )
    with words:
        _show_words(all_stages, at, reading, trace)
    _show_figure(all_stages[at], reading, trace, choice.head)
    st.divider()
    st.markdown(f"**All stages of this part: {sections[section]}**")
    numbers = [number for number, key in enumerate(keys) if section_of(key) == section]
    for start in range(0, len(numbers), COLUMNS):
        columns = st.columns(COLUMNS, gap="medium")
        for column, number in zip(columns, numbers[start : start + COLUMNS], strict=False):
            with column.container(border=True, height="stretch"):
                _show_card(all_stages[number], number, reading, trace, open_now=number == at)


def _show_words(all_stages: Sequence[Stage], at: int, reading: HeadReading, trace: Trace) -> None:
    """Show the name, explanation, formula and shape of a stage."""
    stage, config = all_stages[at], reading.config
    explanation = plain_sentence(stage.key, sizes(config, trace), config.heads, reading.languages)
    st.subheader(
        f"{at + 1} of {len(all_stages)}: {stage.name}",
        anchor=False,
        help=explain_words_of(f"{stage.name} {explanation}"),
    )
    st.markdown(f"**{explanation}**")
    st.latex(split_formula(stage.formula))
    stack = f"{stage.stack} " if len(trace.stacks) > 1 else ""
    where = f"{stack}layer {stage.layer + 1} · " if stage.layer is not None else ""
    st.markdown(f"{where}`{shape(stage, config, trace)}`")


def _show_figure(stage: Stage, reading: HeadReading, trace: Trace, head: int) -> None:
    """Show a stage's array as a heatmap and as a table. An array of token ids is shown only as a table."""
    config = reading.config
    where = "" if stage.layer is None else f", layer {stage.layer + 1}"
    if is_square(stage) and stage.layer is not None:
        where += f", head {head + 1}"
    figure = main_figure(
        f"**{stage.name[0].upper()}{stage.name[1:]}{where}:** {markdown(trace.text)}",
        plain_sentence(stage.key, sizes(config, trace), config.heads, reading.languages).partition(". ")[0],
    )
    if stage.array.dtype.kind == "i":
        table = tokens_table(stage, trace, reading.tokenizer)
        with figure:
            show_figure_table(
                table,
                "inside_tokens",
                words=" · ".join(
                    f"{markdown(str(token))} **{number}**" for token, number, *_ in table.itertuples(index=False)
                ),
            )
        return
    labelled = stage_matrix(stage, trace, reading.tokenizer, reading.languages)
    with figure:
        show_plotly(
            heatmap(
                labelled.values,
                titles=labelled.titles,
                name="value",
                colours=labelled.colours,
                rows=labelled.rows,
                columns=labelled.columns,
                square=is_square(stage),
            ),
            key="inside_stage",
            width="content" if is_square(stage) else "stretch",
            alt=f"{stage.name}, {shape(stage, config, trace)}; the table below lists the values.",
        )
    if labelled.note:
        st.caption(labelled.note)
    show_numbers(
        frame(labelled.values, labelled.rows, labelled.columns, corner=labelled.titles[0]), "inside_stage_numbers"
    )


def is_square(stage: Stage) -> bool:
    """Return whether both axes of a stage's array stand for tokens; such arrays are drawn with square cells."""
    return set(stage.letters.split(", ")) <= {"B", "S", "T"}


def _show_card(stage: Stage, number: int, reading: HeadReading, trace: Trace, *, open_now: bool) -> None:
    config, tokenizer = reading.config, reading.tokenizer
    explanation = plain_sentence(stage.key, sizes(config, trace), config.heads, reading.languages)
    st.markdown(f"**{number + 1}. {stage.name}**  \n{explanation}")
    st.latex(rf"\small {split_formula(stage.formula)}")
    if stage.array.dtype.kind == "i":
        st.caption(" ".join(str(int(token)) for token in stage.array[0][:40]))
    else:
        labelled = stage_matrix(stage, trace, tokenizer, reading.languages)
        st.image(
            thumbnail(labelled.values, share=labelled.colours == SHARE, square=is_square(stage)),
            output_format="PNG",
            width=HEIGHT * labelled.values.shape[1] // labelled.values.shape[0] if is_square(stage) else "stretch",
            alt=f"{stage.name}: {labelled.values.shape[0]} rows, {labelled.values.shape[1]} columns.",
        )
    st.button(
        "Shown above" if open_now else "Show above",
        key=f"inside_open_{stage.key}",
        disabled=open_now,
        icon=":material/open_in_full:",
        **setting(InsideParams, stage=stage.key),
    )
