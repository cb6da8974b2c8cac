"""Translates with the user's changes, and compares the result with the original translation."""

from dataclasses import replace

import streamlit as st

from pages.ui.change_attention.history import update_edits
from pages.ui.change_attention.labels import quoted_span
from pages.ui.change_attention.next_word import chosen_step
from pages.ui.change_attention.resolution import ResolvedEdits, resolve
from pages.ui.components.experiment import embed_experiment
from pages.ui.params.change_attention import EditList, EditParams
from pages.ui.reading.sentence import Reading
from pages.ui.reading.translation import EMPTY_TRANSLATION
from pages.ui.state import session
from pages.ui.text.differences import count_kept_words, merged_words
from pages.ui.text.markup import markdown
from transformer.ablation.continuation import Continuation, ContinuationRun, RereadRun
from transformer.analysis.words import groups_of
from transformer.errors import InterventionError
from transformer.experiments.experiment import Experiment
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace


def run_changed(reading: Reading) -> tuple[ResolvedEdits, Experiment, Continuation]:
    """Run the model with the user's valid changes, and show one warning about any invalid ones.

    Returns:
        The valid changes, the experiment for the model run, and the continuation that the changed model wrote.
    """
    resolved = resolve(session.params(EditParams), reading.trace)
    step = chosen_step(reading)
    try:
        continuation = reading.runs.get(run := ContinuationRun(RereadRun(reading.run, resolved.interventions), step))
    except InterventionError as error:
        resolved = replace(
            resolved, edits=EditList(), interventions=AS_TRAINED, problems=(*resolved.problems, str(error))
        )
        continuation = reading.runs.get(run := ContinuationRun(RereadRun(reading.run, AS_TRAINED), step))
    if resolved.problems:
        first, *others = resolved.problems
        more = f" Other ignored changes: {len(others)}." if others else ""
        st.warning(f"This change is ignored: {markdown(first)}{more}", icon=":material/edit:")
    return resolved, embed_experiment(reading.runs, run), continuation


def show_outcome(reading: Reading, resolved: ResolvedEdits, continuation: Continuation) -> None:
    """Show the changed model's translation in one line, with new words marked, and the effect of hidden words."""
    if resolved.interventions == AS_TRAINED:
        st.markdown("**Changed:** nothing yet. Click a cell in the map to make its row look only there.")
        return
    before, after = reading.trace.target_text, continuation.written.text
    same = ""
    if before == after:
        heads = {row[:3] for row, _ in resolved.interventions.given_rows()}
        alone = len(heads) == 1 and not continuation.after.interventions.hidden_source
        same = f" *(the same translation{'; changing one head alone seldom changes a word' if alone else ''})*"
    st.markdown(f"**Changed:** {merged_words(before, after) or EMPTY_TRANSLATION}{same}")
    changed = resolved.interventions
    if changed.hidden_source or changed.hidden_target:
        st.markdown(describe_hidden(reading.trace, changed, after))
        several = len(hidden_words(reading.trace, changed)) > 1
        st.button(
            f"Show {'them' if several else 'it'} again",
            key="edit_show_again",
            icon=":material/visibility:",
            type="tertiary",
            on_click=update_edits,
            kwargs={"hidden_source": (), "hidden_target": (), "step": ""},
        )


def hidden_words(trace: Trace, changed: Interventions) -> list[str]:
    """Return, in quotation marks, the words of the sentence and the translation that contain a hidden token."""
    sides = (
        (changed.hidden_source, trace.source_tokens, trace.source_text),
        (changed.hidden_target, trace.target_tokens, trace.target_text),
    )
    return [
        quoted_span(tokens, (group[0], group[-1]), text)
        for hidden, tokens, text in sides
        for group in groups_of(tokens, text, words=True)
        if set(hidden) & set(group)
    ]


def describe_hidden(trace: Trace, changed: Interventions, translation: str) -> str:
    """Return Markdown that names the hidden words and the words that the changed translation has lost."""
    kept_count, lost = count_kept_words(trace.target_text, translation)
    cost = (
        f"lost {', '.join(f'“{word}”' for word in lost)} and kept {kept_count} of its {kept_count + len(lost)} words"
        if lost
        else f"kept all {kept_count} of its words"
    )
    names = markdown(", ".join(hidden_words(trace, changed)))
    return f"**Hidden:** no other word can see {names}. The translation {markdown(cost)}."
