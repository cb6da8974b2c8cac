"""Apply and undo the user's changes."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.ui.components.changed_attention import UNDO
from pages.ui.params.change_attention import EditList, EditParams
from pages.ui.state import session

HISTORY = "_edit_history"
UNDONE = "_edit_undone"
# The maximum number of changes that can be undone.
MAX_UNDO = 50


def change(**changes: object) -> None:
    """Callback: change parameters of the page, and record the old ones for `undo`."""
    params = session.params(EditParams)
    changed = replace(params, **changes)
    if changed != params:
        st.session_state[HISTORY] = (_sentence(), (*_history(), params)[-MAX_UNDO:])
        session.store(changed)


def undo() -> None:
    """Undo the last change. Without a history, for example after opening a link, remove the last edit of the list."""
    history = _history()
    if history:
        st.session_state[HISTORY] = (_sentence(), history[:-1])
        # Keep the shown kind of attention, because choosing it does not change the model.
        session.store(replace(history[-1], kind=session.params(EditParams).kind))
    else:
        listed = session.params(EditParams).edits
        session.update(EditParams, edits=EditList(listed.edits[:-1]))


def undo_all() -> None:
    """Remove all edits and erasures."""
    change(edits=EditList(), hidden_source=(), hidden_target=(), step="")


def edited(sent: str) -> None:
    """Apply a message from the editor."""
    if sent.startswith(UNDO):
        # If the next run interrupts this one, the same message may arrive twice.
        if st.session_state.get(UNDONE) != sent:
            st.session_state[UNDONE] = sent
            undo()
        return
    edits = EditList.parse(sent)
    if not edits.unreadable:
        change(edits=edits, step="")


def remove(number: int) -> None:
    """Remove one edit from the list."""
    change(edits=session.params(EditParams).edits.without(number))


def _sentence() -> tuple[str, str]:
    return session.text(), session.target()


def _history() -> tuple[EditParams, ...]:
    """Return earlier parameters, oldest first; empty if they belong to another sentence or translation."""
    sentence, history = st.session_state.get(HISTORY, (None, ()))
    return history if sentence == _sentence() else ()
