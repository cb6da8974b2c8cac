"""The attention that is changed, and the list of changes."""

from __future__ import annotations

import streamlit as st

from pages.ui.change_attention.changing import change, edited, remove, undo, undo_all
from pages.ui.change_attention.labels import edit_label, what_changed
from pages.ui.change_attention.resolved import EXAMPLE, OTHER_EXAMPLE, Resolved, edits_of
from pages.ui.components.changed_attention import Version, attention_editor
from pages.ui.params.attention import AttentionParams
from pages.ui.params.change_attention import EditList, EditParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.labels import SHORT_TITLES
from pages.ui.text.markup import markdown
from transformer.values.kinds import KINDS, Kind


def pick_kind() -> None:
    """Draw the choice of the kind of attention that is shown."""
    st.segmented_control(
        "Attention", KINDS, format_func=SHORT_TITLES.__getitem__, required=True, label_visibility="collapsed",
        **bind(EditParams, "kind"),
    )


def show_editor(reading: Reading, resolved: Resolved, written: str) -> AttentionParams:
    """Draw the attention after the changes, open to more of them; returns what is chosen in it.

    Args:
        written: what the changed model writes; empty where nothing is changed.
    """
    params = session.params(EditParams)
    kind, trace = params.kind, reading.trace
    return attention_editor(
        Version(reading.reread(resolved.interventions), reading.changed_metrics(kind, resolved.interventions)),
        Version(trace, reading.metrics(kind)), f"{kind}_editor", what_changed(resolved.edits.edits, params, trace),
        str(edits_of(params, trace.source_text)), written, edited,
    )


def show_changes(reading: Reading) -> None:
    """The list of edits, each of which can be taken back, and examples to begin with."""
    params, trace = session.params(EditParams), reading.trace
    edits = edits_of(params, trace.source_text).edits
    anything = bool(edits or params.hidden_source or params.hidden_target)
    st.markdown("**Your changes**")
    for number, edit in enumerate(edits):
        st.button(
            markdown(edit_label(edit, trace)), key=f"edit_remove_{number}", icon=":material/close:", type="tertiary",
            help="Take this change back", on_click=remove, args=(number,),
        )
    if not edits:
        st.caption("No row is changed yet.")
    with st.container(horizontal=True):
        st.button("Undo", key="edit_undo", icon=":material/undo:", on_click=undo, disabled=not anything)
        st.button("Everything as trained", key="edit_undo_all", on_click=undo_all, disabled=not anything)
    if trace.source_text == session.EXAMPLES[0] and not reading.given:
        st.caption("Two changes to try:")
        _example("“animal” looks at “street”, in the encoder", EXAMPLE, "encoder")
        _example("The step that writes “es” looks at “street”", OTHER_EXAMPLE, "cross")


def _example(label: str, edits: EditList, kind: Kind) -> None:
    st.button(
        label, key=f"edit_example_{kind}", icon=":material/lightbulb:",
        on_click=lambda: change(edits=edits, kind=kind, step=""),
    )
