"""Shows attention maps from a file, and describes how the selected head behaves."""

import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts import matrix
from pages.ui.charts.downloads import save_trace
from pages.ui.charts.tables import draw_table
from pages.ui.components.attention_browser import attention_browser
from pages.ui.components.html_export import send_export_parts
from pages.ui.heads.prose import prose
from pages.ui.layout.roles import main_figure
from pages.ui.params.subject import OWN, SubjectParams
from pages.ui.params.your_own_attention import OwnHeadParams, OwnParams
from pages.ui.state import session
from pages.ui.state.bind import segments, setting
from pages.ui.text.captions import describe_clearest_head, describe_head, describe_most_focused_head
from pages.ui.text.glossary import explain
from pages.ui.your_own_attention.reading import read_own
from transformer.analysis.view import view_of


def show_maps() -> None:
    """Show controls for choosing a file and a kind of attention, and the attention maps of all heads."""
    with st.container(gap="xsmall"):
        reading = read_own()
        trace = reading.trace
        kind = session.params(OwnParams).kind
        kind = kind if kind in trace.kinds else trace.kinds[-1]
        if len(trace.kinds) > 1:
            titles = {name: TITLES[name] for name in trace.kinds}
            segments("Kind of attention", titles, OwnParams, "kind", value=kind, label_visibility="collapsed")
        metrics = reading.metrics(kind)
        with main_figure():
            choice = attention_browser(trace, metrics, OwnHeadParams)
    view = view_of(trace, kind, words=choice.words, special=not choice.hide)
    is_chosen = session.attention(of=OwnHeadParams).chosen
    prose("own_telling", describe_clearest_head(trace, metrics, is_chosen=is_chosen), reading.maps)
    st.markdown(
        describe_head(view, metrics, choice.layer, choice.head), help=explain("entropy", "nats", "attention sink")
    )
    prose("own_sharpest", describe_most_focused_head(metrics), reading.maps)
    if st.button("Compare this model's heads", icon=":material/grid_view:", **setting(SubjectParams, subject=OWN)):
        st.switch_page("pages/compare_heads.py")
    part = st.expander(
        f"The numbers for layer {choice.layer + 1}, head {choice.head + 1}", key="own_numbers", on_change="rerun"
    )
    if part.open:
        with part:
            file = f"{kind}-layer{choice.layer + 1}-head{choice.head + 1}-weights"
            draw_table(matrix.cells(view, choice.layer, choice.head), "own_weights", height=320, file=file)
            save_trace(reading.again, "own")
    send_export_parts(trace, kind, reading.metrics)
