"""Compares the changed model's translation with the original translation."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.ui.change_attention.next_word import chosen_step
from pages.ui.change_attention.resolved import Resolved, resolve
from pages.ui.components.experiment import carry
from pages.ui.params.change_attention import EditList, EditParams
from pages.ui.reading.sentence import Reading
from pages.ui.reading.translation import NOTHING
from pages.ui.state import session
from pages.ui.text.differences import merged_words
from pages.ui.text.markup import markdown
from transformer.ablation.continuation import Continuation, ContinuationRun, RereadRun
from transformer.errors import InterventionError
from transformer.experiments.experiment import Experiment
from transformer.values.interventions import AS_TRAINED


def run_changed(reading: Reading) -> tuple[Resolved, Experiment, Continuation]:
    """Run the changed model; leave out invalid changes, and show one warning about them."""
    resolved = resolve(session.params(EditParams), reading.trace)
    step = chosen_step(reading)
    try:
        found = reading.runs.get(run := ContinuationRun(RereadRun(reading.run, resolved.interventions), step))
    except InterventionError as error:
        resolved = replace(
            resolved, edits=EditList(), interventions=AS_TRAINED, problems=(*resolved.problems, str(error))
        )
        found = reading.runs.get(run := ContinuationRun(RereadRun(reading.run, AS_TRAINED), step))
    if resolved.problems:
        first, *others = resolved.problems
        more = f" So are {len(others)} more." if others else ""
        st.warning(f"This change is left out: {markdown(first)}{more}", icon=":material/edit:")
    return resolved, carry(reading.runs, run), found


def show_outcome(reading: Reading, resolved: Resolved, found: Continuation) -> None:
    """Show the new translation in one line, with the new words marked."""
    if resolved.interventions == AS_TRAINED:
        st.markdown("**Changed:** nothing yet. Click a cell of the map to make its row look only there.")
        return
    before, written = reading.trace.target_text, found.written.text
    same = ""
    if before == written:
        heads = {row[:3] for row, _ in resolved.interventions.given_rows()}
        alone = len(heads) == 1 and not found.after.interventions.hidden_source
        same = f" *(the same translation{'; changing one head alone seldom changes a word' if alone else ''})*"
    st.markdown(f"**Changed:** {merged_words(before, written) or NOTHING}{same}")
