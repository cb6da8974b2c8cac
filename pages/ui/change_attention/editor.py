"""Shows the attention editor and the list of the user's changes."""

import streamlit as st

from attention_atlas.browser.labels import SHORT_TITLES
from pages.ui.change_attention.example import is_example, show_second_example
from pages.ui.change_attention.history import apply_message, remove_edit, undo, undo_all
from pages.ui.change_attention.labels import edit_label, what_changed
from pages.ui.change_attention.resolution import ResolvedEdits
from pages.ui.components.changed_attention import Version, attention_editor
from pages.ui.params.attention import AttentionParams
from pages.ui.params.change_attention import EditParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import segments
from pages.ui.text.markup import markdown
from transformer.ablation.continuation import RereadRun
from transformer.running.runs.metrics import MetricsRun


def pick_kind() -> None:
    """Show the control that selects the attention kind."""
    segments("Attention", SHORT_TITLES, EditParams, "kind", label_visibility="collapsed")


def show_editor(reading: Reading, resolved: ResolvedEdits, translation: str) -> AttentionParams:
    """Show the changed attention maps in an editor, and return the head, rows and columns that the user chose.

    Args:
        reading: the sentence and its model run.
        resolved: the user's changes as interventions.
        translation: the changed model's translation; empty if no attention row has been edited.
    """
    params = session.params(EditParams)
    kind, trace = params.kind, reading.trace
    run = RereadRun(reading.run, resolved.interventions)
    return attention_editor(
        Version(reading.runs.get(run), reading.runs.get(MetricsRun(run, kind))),
        Version(trace, reading.metrics(kind)),
        f"{kind}_editor",
        what_changed(resolved.edits.edits, params, trace),
        str(params.edits),
        translation,
        apply_message,
    )


def show_changes(reading: Reading) -> None:
    """Show the list of edits, each with a button that removes it.

    If there is only one edit and it is an example, the heading says so.
    """
    params, trace = session.params(EditParams), reading.trace
    edits = params.edits.edits
    anything = bool(edits or params.hidden_source or params.hidden_target)
    examples = [is_example(edit, reading) for edit in edits]
    st.markdown("**The example's change**" if examples == [True] else "**Your changes**")
    for number, edit in enumerate(edits):
        suffix = " (the example)" if examples[number] else ""
        st.button(
            f"{markdown(edit_label(edit, trace))}{suffix}",
            key=f"edit_remove_{number}",
            icon=":material/close:",
            type="tertiary",
            help="Undo this change",
            on_click=remove_edit,
            args=(number,),
        )
    if not edits:
        st.caption("No row has been changed yet.")
        show_second_example(reading)
    with st.container(horizontal=True):
        st.button("Undo", key="edit_undo", icon=":material/undo:", on_click=undo, disabled=not anything)
        st.button(
            "Clear the example" if examples == [True] else "Reset all",
            key="edit_undo_all",
            on_click=undo_all,
            disabled=not anything,
        )
