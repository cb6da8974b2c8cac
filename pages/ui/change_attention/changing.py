"""How the reader's changes are made, and taken back."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.ui.change_attention.resolved import edits_of
from pages.ui.components.changed_attention import UNDO
from pages.ui.params.change_attention import EditList, EditParams
from pages.ui.state import session

HISTORY = "_edit_history"
UNDONE = "_edit_undone"
# Changes that can be taken back.
MOST = 50


def change(**changes: object) -> None:
    """Change something, as a callback; `undo` takes it back."""
    params = session.params(EditParams)
    changed = replace(params, **changes)
    if changed != params:
        st.session_state[HISTORY] = (_sentence(), (*_history(), params)[-MOST:])
        session.store(changed)


def undo() -> None:
    """Take the last change back; without one, as in a link that was opened, the last edit of the list goes."""
    history = _history()
    if history:
        st.session_state[HISTORY] = (_sentence(), history[:-1])
        # Which attention is shown is no change of the model.
        session.store(replace(history[-1], kind=session.params(EditParams).kind))
    else:
        listed = edits_of(session.params(EditParams), session.text())
        session.update(EditParams, edits=EditList(listed.edits[:-1]))


def undo_all() -> None:
    """Everything as trained."""
    change(edits=EditList(), hidden_source=(), hidden_target=(), step="")


def edited(sent: str) -> None:
    """What the editor sent."""
    if sent.startswith(UNDO):
        # A run that the next one interrupts may call this twice with the same.
        if st.session_state.get(UNDONE) != sent:
            st.session_state[UNDONE] = sent
            undo()
        return
    edits = EditList.parse(sent)
    if not edits.unreadable:
        change(edits=edits, step="")


def remove(number: int) -> None:
    """Take one edit of the list back."""
    change(edits=edits_of(session.params(EditParams), session.text()).without(number))


def _sentence() -> tuple[str, str]:
    return session.text(), session.target()


def _history() -> tuple[EditParams, ...]:
    """Of this sentence and translation."""
    sentence, history = st.session_state.get(HISTORY, (None, ()))
    return history if sentence == _sentence() else ()
