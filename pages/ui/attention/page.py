"""Layout shared by the three attention pages. Each page shows one attention kind."""

from contextlib import suppress
from functools import partial

import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.bets.offer import show_bet
from pages.ui.charts import matrix
from pages.ui.charts.downloads import save_trace
from pages.ui.charts.tables import draw_table
from pages.ui.components.attention_browser import attention_browser
from pages.ui.components.html_export import send_export_parts
from pages.ui.heads.kinds import PAGES
from pages.ui.heads.prose import prose
from pages.ui.layout.roles import main_figure
from pages.ui.params.attention import AttentionParams
from pages.ui.params.change_attention import EditParams
from pages.ui.params.compare_heads import CompareParams
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.reading.second_model import pick_second_model, two_models
from pages.ui.reading.sentence import Reading, read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import setting
from pages.ui.text.captions import describe_axes, describe_clearest_head, describe_head, describe_most_focused_head
from pages.ui.text.glossary import explain
from pages.ui.text.python_lines import FROM_ZERO, head_lines
from transformer.analysis.view import View, view_of
from transformer.values.trace import Kind


def attention_page(kind: Kind, subtitle: str) -> Reading:
    """Show the page for one attention kind, and return the sentence with the results of the model run.

    Args:
        kind: "encoder", "decoder" or "cross".
        subtitle: a sentence that explains the attention kind, with {source} and {target} in place of language names.
    """
    # Keep the gaps small, so that the map still fits on the screen of a projector.
    with st.container(gap="xsmall"):
        reading = read_sentence()
        with show_translation(reading):
            _change_button(kind)
        languages = reading.languages
        said = subtitle.format(source=languages.source.name, target=languages.target.name)
        st.markdown(f"**{TITLES[kind]}:** {said}")
        metrics = reading.metrics(kind)
        with main_figure():
            choice = attention_browser(reading.trace, metrics)
    show_bet(PAGES[kind].address, reading, pinned=choice.columns)
    view = view_of(reading.trace, kind, words=choice.words, special=not choice.hide)
    prose(f"{kind}_telling", describe_clearest_head(reading.trace, metrics, is_chosen=session.attention().chosen))
    st.markdown(
        describe_head(view, metrics, choice.layer, choice.head), help=explain("entropy", "nats", "attention sink")
    )
    prose(f"{kind}_sharpest", describe_most_focused_head(metrics))
    st.caption(describe_axes(view, reading.languages), help=explain("head", "query", "key", "attention weight"))
    part = st.expander(
        f"The numbers for layer {choice.layer + 1}, head {choice.head + 1}", key=f"{kind}_numbers", on_change="rerun"
    )
    if part.open:
        with part:
            _show_head(reading, kind, view, choice)
    _show_match(reading, kind, choice)
    if st.button(
        "How is this cell computed?",
        key=f"{kind}_inside",
        icon=":material/account_tree:",
        help="Opens “Inside a layer” for this head, at the pinned cell. If no cell is pinned, the page shows the "
        "head's strongest link.",
        **setting(InsideParams, part="cell", kind=kind),
    ):
        st.switch_page("pages/inside_a_layer.py")
    send_export_parts(reading.trace, kind, reading.metrics)
    return reading


def _show_head(reading: Reading, kind: Kind, view: View, choice: AttentionParams) -> None:
    head = f"{kind}-layer{choice.layer + 1}-head{choice.head + 1}"
    draw_table(matrix.cells(view, choice.layer, choice.head), f"{kind}_weights", height=320, file=f"{head}-weights")
    for positions, of_rows in ((choice.rows, True), (choice.columns, False)):
        table = matrix.sums(view, choice.layer, choice.head, positions, of_rows=of_rows)
        if table is not None:
            sums = f"sums_of_{'rows' if of_rows else 'columns'}"
            draw_table(table, f"{kind}_{sums}", file=f"{head}-{sums.replace('_', '-')}")
    st.markdown("**Python code that computes these weights** in full precision")
    lines = head_lines(
        reading.trace,
        kind,
        choice.layer,
        choice.head,
        folder=reading.translator.folder,
        given=reading.given,
        words=choice.words,
        special=not choice.hide,
    )
    st.code(lines, language="python", wrap_lines=True)
    st.caption(FROM_ZERO)
    save_trace(partial(reading.runs.get, reading.run), kind)


def _show_match(reading: Reading, kind: Kind, choice: AttentionParams) -> None:
    """Show which head of a second model is most similar to the chosen head."""
    part = st.expander(
        "Which head of another model is most similar to this one?",
        key=f"{kind}_match",
        expanded=bool(session.params(CompareParams).other),
        on_change="rerun",
    )
    if part.open:
        # If the heads cannot be compared, `PageEnd` is raised. Suppress it, so that the rest of the page appears.
        with part, suppress(PageEnd):
            two_models(reading.translator, pick_second_model(), reading.trace, kind).show_head(choice)


def _change_button(kind: Kind) -> None:
    if st.button(
        "Change what it looks at",
        key=f"{kind}_change",
        icon=":material/edit:",
        help="Opens a page where you can click a cell to move all of its row's attention there. The model then runs "
        "again.",
        **setting(EditParams, kind=kind),
    ):
        st.switch_page("pages/change_attention.py")
