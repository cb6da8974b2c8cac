"""Loads the chosen attention file as an `OwnReading`, which pages about heads can use in place of a `Reading`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.components.attention_browser import at_clearest_head
from pages.ui.heads.kinds import HeadMaps, KindPage
from pages.ui.params.attention import AttentionParams
from pages.ui.params.pages import PAGES
from pages.ui.params.state import EXAMPLES
from pages.ui.params.your_own_attention import OwnHeadParams, OwnParams
from pages.ui.reading.model_picker import translator
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.markup import markdown
from pages.ui.your_own_attention.files import FOLDER_VARIABLE, folder, folder_trace, names, uploaded_trace
from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.errors import AtlasError
from transformer.running.runs.trace import TraceRun
from transformer.values.kinds import KINDS, Kind
from transformer.values.trace import Trace

# Session-state key for the name, content and ID of the uploaded file.
UPLOADED = "_own_uploaded"
EXAMPLE = "Example: the current model"
LINES = """\
import attention_atlas

trace = attention_atlas.from_huggingface(model, tokenizer, text)
attention_atlas.show(trace, save="mine.npz")
# or: attention_atlas.show(attentions, tokens, save="mine.npz")"""
MAPS: Mapping[Kind, KindPage] = {kind: KindPage(PAGES["your_own_attention"].script, TITLES[kind], "") for kind in KINDS}
# Head metrics of each trace, cached because several parts of a page request them.
_METRICS: WeakKeyDictionary[Trace, dict[Kind, HeadMetrics]] = WeakKeyDictionary()


@dataclass(frozen=True)
class OwnReading:
    """The attention from the chosen file, or from the example if no file is chosen.

    Attributes:
        trace: the attention as a trace.
        again: returns the trace again, so that a session can keep this function instead of the large trace.
    """

    trace: Trace
    again: Callable[[], Trace]

    @property
    def translator(self) -> None:
        """None: a file contains no model, so there are no measurements over many sentences."""

    @property
    def maps(self) -> HeadMaps:
        return HeadMaps(MAPS, OwnHeadParams, lambda kind: (replace(session.params(OwnParams), kind=kind),))

    def metrics(self, kind: Kind) -> HeadMetrics:
        """Return the metrics of all heads of an attention kind, except the metric that needs token frequencies."""
        metrics = _METRICS.setdefault(self.trace, {})
        if kind not in metrics:
            metrics[kind] = head_metrics(self.trace, kind, None)
        return metrics[kind]

    def choice(self, kind: Kind) -> AttentionParams:
        """Return the parameters of the head to show: the user's choice or, by default, the clearest head."""
        choice = session.attention(kind, OwnHeadParams)
        return at_clearest_head(choice, self.trace, self.metrics(kind)).within(*self.trace.attention(kind).shape[:2])


def read_own() -> OwnReading:
    """Show controls for choosing a file, and load the file; if loading fails, end the page with an error message."""
    file_names, file = names(), session.params(OwnParams).file
    uploaded = st.session_state.get(UPLOADED)
    first = EXAMPLE if uploaded is None else uploaded[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "File",
            ["", *file_names],
            format_func=lambda name: name or first,
            width=320,
            **bind(OwnParams, "file", value=file if file in file_names else ""),
        )
        if st.get_option("server.maxUploadSize"):
            upload = st.file_uploader("or your own file", type=["npz", "json"], key="own_upload", width=420)
            if upload is not None and (uploaded is None or uploaded[2] != upload.file_id):
                st.session_state[UPLOADED] = upload.name, upload.getvalue(), upload.file_id
                session.update(OwnParams, file="")
                st.rerun()
        with st.popover("How to add a file", icon=":material/add:"):
            st.markdown(
                f"The list shows the .npz and .json files in the folder `{folder().name}` (by default, `attention` in "
                "the folder where the app was started). To use another folder, set the environment variable "
                f"`{FOLDER_VARIABLE}`. To write a file in Python:"
            )
            st.code(LINES, language="python")
            st.caption(
                "A file contains attention weights and tokens, but not the model. To switch heads off, change "
                "attention, see what mattered or look inside a layer, you need the model itself: "
                "`attention-atlas import` adds it."
            )
    try:
        if file in file_names:
            again = partial(folder_trace, file)
        elif uploaded is not None:
            again = partial(uploaded_trace, *uploaded[:2])
        else:
            again = partial(CachedRuns(translator()).get, TraceRun(EXAMPLES[0]))
        trace = again()
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        raise PageEnd from None
    session.set_quoted_text(f"Text: {trace.text}")
    return OwnReading(trace, again)
