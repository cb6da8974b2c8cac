"""Applies and undoes changes: edited attention rows and erased words."""

from dataclasses import replace

import streamlit as st

from pages.ui.components.changed_attention import UNDO
from pages.ui.params.change_attention import EditList, EditParams
from pages.ui.state import session

HISTORY = "_edit_history"
UNDO_MESSAGE = "_edit_undone"
# Maximum number of changes in the undo history.
MAX_UNDO = 50


def update_edits(**changes: object) -> None:
    """Update the page's parameters, and keep the previous parameters for `undo`."""
    params = session.params(EditParams)
    changed = replace(params, **changes)
    if changed != params:
        st.session_state[HISTORY] = (_sentence(), (*_history(), params)[-MAX_UNDO:])
        session.store(changed)


def undo() -> None:
    """Undo the last change. If there is no history, for example after opening a link, remove the last edit."""
    history = _history()
    if history:
        st.session_state[HISTORY] = (_sentence(), history[:-1])
        # Keep the current attention kind: choosing a kind does not change the model, so it is not undone.
        session.store(replace(history[-1], kind=session.params(EditParams).kind))
    else:
        edits = session.params(EditParams).edits
        session.update(EditParams, edits=EditList(edits.edits[:-1]))


def undo_all() -> None:
    """Remove all edits, and restore all erased words."""
    update_edits(edits=EditList(), hidden_source=(), hidden_target=(), step="")


def apply_message(message: str) -> None:
    """Apply an untrusted message from the attention editor: "undo" with a suffix, or the new list of edits."""
    if message.startswith(UNDO):
        # If a new script run interrupts the current one, the browser may send the same message twice.
        if st.session_state.get(UNDO_MESSAGE) != message:
            st.session_state[UNDO_MESSAGE] = message
            undo()
        return
    edits = EditList.parse(message)
    if not edits.unreadable:
        update_edits(edits=edits, step="")


def remove_edit(number: int) -> None:
    update_edits(edits=session.params(EditParams).edits.without(number))


def _sentence() -> tuple[str, str]:
    return session.text(), session.target()


def _history() -> tuple[EditParams, ...]:
    """Return the earlier parameters, oldest first; empty if they belong to another sentence or translation."""
    sentence, history = st.session_state.get(HISTORY, (None, ()))
    return history if sentence == _sentence() else ()
