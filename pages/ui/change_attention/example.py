"""The page's examples: edits that make one word attend only to another in every head, which changes the translation."""

from itertools import permutations

import streamlit as st

from pages.ui.change_attention.history import update_edits
from pages.ui.change_attention.labels import quoted_span
from pages.ui.change_attention.resolution import given_rows
from pages.ui.params.change_attention import MAX_PERCENT, Edit, EditList, EditParams
from pages.ui.params.state import EXAMPLES
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.text.markup import markdown
from transformer.ablation.decisive_heads import FirstChangeRun
from transformer.analysis.words import word_groups
from transformer.running.runs.trace import TraceRun
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace

# The example for the app's first sentence: in every encoder head, "animal" attends only to "street".
FIRST = EditList.parse("encoder.all.all.2~7x100").edits[0]
# A second example for the app's first sentence: in every cross-attention head, the step that writes "es" attends only
# to "street".
SECOND = EditList.parse("cross.all.all.9~7x100").edits[0]
# Skip words with fewer than MIN_LETTERS letters, which rarely carry the meaning. Try at most MAX_TRIED pairs of words,
# because each pair needs a model run.
MIN_LETTERS, MAX_TRIED = 4, 12


def show_example(reading: Reading) -> None:
    """Show a prominent button that applies the example; show nothing if the sentence has no example."""
    edit = example(reading)
    if edit is None:
        return
    row, column = words_of(edit, reading.trace)
    st.button(
        f"Try: make *{row}* look at *{column}*",
        key="edit_try",
        type="primary",
        icon=":material/lightbulb:",
        on_click=_take,
        args=(edit,),
        help="In every encoder head, the first word then looks only at the second.",
    )


def show_second_example(reading: Reading) -> None:
    """Show a button that applies the cross-attention example, but only for the app's first sentence."""
    if _is_first_sentence(reading) and SECOND not in session.params(EditParams).edits.edits:
        st.button(
            "Also try: make the step that writes *es* look at *street*",
            key="edit_try_second",
            type="tertiary",
            icon=":material/lightbulb:",
            on_click=_take,
            args=(SECOND,),
        )


def example(reading: Reading) -> Edit | None:
    """Return the example for this sentence: the first edit that changes the translation; None if no tried edit does."""
    trace = reading.own
    if _is_first_sentence(reading):
        return FIRST
    tried = candidates(trace)
    variants = tuple(Interventions(attention=given_rows(edit, trace, AS_TRAINED)) for edit in tried)
    number = reading.runs.get(FirstChangeRun(TraceRun(trace.source_text), variants))
    return None if number is None else tried[number]


def is_example(edit: Edit, reading: Reading) -> bool:
    """Return whether an edit is one of the page's examples.

    The form of the edit is checked before anything else, because finding the first example may require model runs.
    """
    form = (edit.kind, edit.layer, edit.head) == ("encoder", None, None) and [share for _, share in edit.shares] == [
        MAX_PERCENT
    ]
    return (form and edit == example(reading)) or (edit == SECOND and _is_first_sentence(reading))


def candidates(trace: Trace) -> list[Edit]:
    """Return the edits to try, in text order. Each makes one word attend only to another, in every encoder head.

    Both words have at least `MIN_LETTERS` letters. There are at most `MAX_TRIED` edits.
    """
    text = trace.source_text
    spans = [(group[0], group[-1]) for group in word_groups(trace.source_tokens, text)]
    longer = [
        span
        for span in spans
        if sum(
            character.isalpha()
            for token in trace.source_tokens[span[0] : span[1] + 1]
            if token.span is not None
            for character in text[slice(*token.span)]
        )
        >= MIN_LETTERS
    ]
    return [Edit("encoder", None, None, row, ((column, MAX_PERCENT),)) for row, column in permutations(longer, 2)][
        :MAX_TRIED
    ]


def words_of(edit: Edit, trace: Trace) -> tuple[str, str]:
    """Return the attending word and the word that it attends to, as Markdown, for an edit with one attended word."""
    tokens, text = trace.source_tokens, trace.source_text
    row, column = (quoted_span(tokens, span, text)[1:-1] for span in (edit.rows, edit.shares[0][0]))
    return markdown(row), markdown(column)


def _is_first_sentence(reading: Reading) -> bool:
    """Return whether the sentence, its translation and the tokens are those for which FIRST and SECOND were written."""
    trace = reading.own
    return (
        not reading.given
        and trace.source_text == EXAMPLES[0]
        and words_of(FIRST, trace) == ("animal", "street")
        and [token.text.strip("▁") for token in trace.predicted_tokens[8:9]] == ["es"]
    )


def _take(edit: Edit) -> None:
    edits = session.params(EditParams).edits
    update_edits(edits=EditList((*edits.edits, edit)), kind=edit.kind, step="")
    # Select the cell that the example changes.
    rows, columns = (tuple(range(first, last + 1)) for first, last in (edit.rows, edit.shares[0][0]))
    session.update_attention(edit.kind, rows=rows, columns=columns)
