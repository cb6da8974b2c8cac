"""Lists all gradients of the backward pass, and shows the chosen one with its formula and values."""

import re
from collections.abc import Sequence

import streamlit as st

from pages.ui.backpropagation.entry import show_entry
from pages.ui.backpropagation.gradient_matrix import gradient_matrix
from pages.ui.backpropagation.gradient_runs import gradients_of
from pages.ui.backpropagation.loss import pick_loss
from pages.ui.backpropagation.sentences import sentence_of
from pages.ui.charts.tables import frame, show_numbers
from pages.ui.heads.head_picker import pick_head
from pages.ui.params.backpropagation import BackpropagationParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import key_for, preset, when_chosen
from pages.ui.text.glossary import explain, explain_words_of
from pages.ui.text.number_format import typeset
from pages.ui.text.shapes import shape_in_letters, sizes, split_formula
from transformer.backpropagation.stage import GradientStage
from transformer.backpropagation.stages import stages
from transformer.text.languages import Languages

# Section names by key prefix, in the order of the backward pass. The names are short, so that all fit on one line on a
# projector. {source} and {target} stand for the language names.
SECTIONS = {
    "generator": "Loss",
    "decoder.feed_forward": "Decoder: FFN",
    "decoder.cross_attention": "Cross",
    "decoder.self_attention": "Masked",
    "decoder": "{target}",
    "memory": "Encoder output",
    "encoder.feed_forward": "Encoder: FFN",
    "encoder.self_attention": "Self",
    "encoder": "{source}",
}
GREEK = {r"\gamma": "γ or gamma", r"\beta": "β or beta"}
OUTPUTS = ("output", "layer", "memory")


def section_of(key: str) -> str:
    """Return the `SECTIONS` key for the stage with the given key."""
    stack, _, rest = key.partition(".")
    part = rest.partition(".")[0]
    if f"{stack}.{part}" in SECTIONS:
        return f"{stack}.{part}"
    if part in OUTPUTS:
        return "generator" if stack == "decoder" else "memory"
    return stack


def show_gradient(reading: Reading) -> None:
    """Show the controls for the loss, layer and gradient, and then the chosen gradient."""
    config = reading.translator.config
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pick_loss(reading)
        choice = pick_head(reading, "encoder", BackpropagationParams.PREFIX)
        header = st.container(width="stretch")
    gradients = gradients_of(
        reading, min(choice.layer, config.encoder_layers - 1), min(choice.layer, config.decoder_layers - 1)
    )
    header.markdown(
        f"Loss: **{gradients.loss:.4f}** nats. The formulas and PyTorch's autograd differ by at most "
        f"**{typeset(gradients.largest_difference, '.0e')}**.",
        help=f"All {gradients.compared:,} gradient entries were computed twice: by this page's formulas and by "
        f"PyTorch.\n\n{explain('loss', 'gradient', 'autograd', 'nats')}",
    )
    all_stages = stages(gradients, head=choice.head)
    keys = [stage.key for stage in all_stages]
    chosen_stage = session.params(BackpropagationParams).stage
    at = keys.index(chosen_stage) if chosen_stage in keys else 0
    _pick_stage(all_stages, at, reading.languages)
    _show_stage(all_stages, at, reading)


def _open(key: str) -> None:
    """Show the gradient with this key; row and column 0 select the entry with the largest magnitude."""
    session.update(BackpropagationParams, stage=key, row=0, column=0)


def _pick_stage(all_stages: Sequence[GradientStage], at: int, languages: Languages) -> None:
    """Show a button for each section, a searchable list of all gradients, and Back and Next buttons."""
    keys = [stage.key for stage in all_stages]
    firsts = {section_of(key): key for key in reversed(keys)}
    titles = {
        name: title.format(source=languages.source.name, target=languages.target.name)
        for name, title in SECTIONS.items()
    }
    st.segmented_control(
        "From the loss back to the words",
        [name for name in SECTIONS if name in firsts],
        required=True,
        format_func=titles.__getitem__,
        key=preset("backward_section", section_of(keys[at])),
        on_change=when_chosen("backward_section", lambda section: _open(firsts[section])),
    )
    box, back, on = st.columns([8, 1.4, 1.4], vertical_alignment="bottom")
    labels = [
        f"{number} of {len(all_stages)}: {stage_title(stage)} ({titles[section_of(stage.key)]})"
        for number, stage in enumerate(all_stages, 1)
    ]
    box_key = key_for("backward_number", labels)
    box.selectbox(
        "Gradient with respect to",
        range(len(all_stages)),
        key=preset(box_key, at),
        format_func=labels.__getitem__,
        on_change=lambda: _open(keys[st.session_state[box_key]]),
    )
    for column, label, number in ((back, "Back", at - 1), (on, "Next", at + 1)):
        there = 0 <= number < len(keys)
        column.button(
            label,
            key=f"backward_{label}",
            disabled=not there,
            width="stretch",
            on_click=_open,
            args=(keys[number] if there else keys[at],),
        )


def _show_stage(all_stages: Sequence[GradientStage], at: int, reading: Reading) -> None:
    stage, config, trace = all_stages[at], reading.translator.config, reading.trace
    where = f"{stage.stack} layer {stage.layer + 1} · " if stage.layer is not None else ""
    letters = {**sizes(config, trace), "N": len(stage.tokens)}
    words, formula = st.columns([6, 5], vertical_alignment="center", gap="large")
    words.markdown(
        f"**{stage.name[0].upper()}{stage.name[1:]}.** {sentence_of(stage.key)}  \n{where}"
        f"`{shape_in_letters(stage.letters, letters)}`",
        help=explain_words_of(stage.name),
    )
    formula.latex(split_formula(stage.formula))
    gradient = gradient_matrix(stage, trace, reading.translator.tokenizer, reading.languages)
    show_entry(stage, gradient, reading)
    show_numbers(
        frame(gradient.visible_values(stage.masked), gradient.rows, gradient.columns, corner=gradient.titles[0]),
        "backward_numbers",
        label="All numbers of this gradient",
    )


def stage_title(stage: GradientStage) -> str:
    """Return a stage's name; for a parameter, with its symbol in every spelling that users may search for."""
    match = re.match(r"d(W|b|\\gamma|\\beta)(?:([_^])(\w))?(?:_h)? =", stage.formula)
    if not match:
        return stage.name
    letter, mark, index = match.groups()
    symbols = GREEK.get(letter) or (f"{letter}^{index} or {letter}_{index}" if mark == "^" else match[0][1:-2])
    return f"{stage.name}, {symbols}"
