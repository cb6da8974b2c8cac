"""Pure functions that describe edits in plain English."""

from attention_atlas.browser.labels import TITLES, disambiguate
from attention_atlas.browser.token_labels import isolate, label_without_space, token_label
from pages.ui.params.change_attention import Edit, EditParams, Span
from transformer.values.tokens import Token
from transformer.values.trace import Trace


def edit_label(edit: Edit, trace: Trace) -> str:
    """Return an edit's label in the list of changes, such as: Encoder attention, every head: “it” → “street” 100%."""
    return f"{_place_name(edit)}: {edit_links(edit, trace)}"


def edit_links(edit: Edit, trace: Trace) -> str:
    """Return an edit as text, such as “it” → “street” 100%: the word whose row is set, and the words that this word
    then attends to.
    """
    source, target = trace.source_text, trace.target_text
    row_text, column_text = source if edit.kind == "encoder" else target, target if edit.kind == "decoder" else source
    row = quoted_span(trace.query_tokens(edit.kind), edit.rows, row_text)
    if edit.kind != "encoder":
        row = f"{row} (which writes {quoted_span(trace.predicted_tokens, edit.rows, target)})"
    keys = trace.key_tokens(edit.kind)
    shares = [f"{quoted_span(keys, columns, column_text)} {percent}%" for columns, percent in edit.shares]
    return f"{row} → {', '.join(shares) or 'everything equally'}"


def what_changed(edits: tuple[Edit, ...], params: EditParams, trace: Trace) -> str:
    """Return a description of the edits and the words made invisible, for the caption of a saved figure."""
    parts = [edit_label(edit, trace) for edit in edits]
    for positions, tokens, text in (
        (() if params.left_out else params.hidden_source, trace.source_tokens, trace.source_text),
        (params.hidden_target, trace.target_tokens, trace.target_text),
    ):
        gone = [quoted_span(tokens, (position, position), text) for position in positions]
        parts += [f"erased: {', '.join(gone)}"] if gone else []
    return "; ".join(parts) or "nothing changed"


def quoted_span(tokens: tuple[Token, ...], span: Span, text: str) -> str:
    """Return the quoted text of a range of tokens, or a position if the range starts after the last token.

    A text that occurs more than once gets a number, as on the buttons that erase words.
    """
    first, last = span
    if first >= len(tokens):
        return f"position {first + 1}"
    before = (_covered_text(tokens[index : index + last - first + 1], text) for index in range(first + 1))
    return f"“{isolate(disambiguate(before)[-1])}”"


def _covered_text(tokens: tuple[Token, ...], text: str) -> str:
    spans = [token.span for token in tokens if token.span is not None]
    return (
        label_without_space(token_label(tokens[0], text))
        if len(tokens) == 1 or not spans
        else text[spans[0][0] : spans[-1][1]]
    )


def _place_name(edit: Edit) -> str:
    title = TITLES[edit.kind]
    if edit.layer is None:
        return f"{title}, every head" if edit.head is None else f"{title}, head {edit.head + 1} of every layer"
    head = "every head" if edit.head is None else f"head {edit.head + 1}"
    return f"{title}, layer {edit.layer + 1}, {head}"
