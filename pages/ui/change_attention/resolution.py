"""Converts the user's edits, which may cover whole words, into interventions on tokens."""

from dataclasses import dataclass, replace

import numpy as np

from pages.ui.params.change_attention import MAX_PERCENT, Edit, EditList, EditParams, Span
from transformer.errors import InterventionError
from transformer.values.interventions import Interventions, Row
from transformer.values.trace import Trace

UNREADABLE = "it cannot be read from the URL. A valid change is encoder.5.2.8~7x75, where the numbers start at 1."


@dataclass(frozen=True)
class ResolvedEdits:
    """The user's valid changes as interventions, and messages about the invalid ones.

    Attributes:
        edits: the edits that are valid for this sentence and model.
        interventions: the valid edits and erased words, for the model run.
        problems: messages about invalid edits and about erased tokens that do not exist.
    """

    edits: EditList
    interventions: Interventions
    problems: tuple[str, ...]


def resolve(params: EditParams, trace: Trace) -> ResolvedEdits:
    """Convert the user's edits and erased words into interventions on the tokens of a trace.

    All tokens of an attending word get the same weights. The weight of an attended word is divided evenly among its
    visible tokens.
    """
    edit_list = params.edits
    problems = [UNREADABLE] if edit_list.unreadable else []
    source, target = (
        _existing_positions(positions, len(tokens), language, problems)
        for positions, tokens, language in (
            (params.hidden_source, trace.source_tokens, "sentence"),
            (params.hidden_target, trace.target_tokens, "translation"),
        )
    )
    # If the user chose to leave out erased words, a separate run translates the shortened sentence. In that case, the
    # run with these interventions reads the full sentence and hides no source token.
    erased = Interventions(hidden_source=() if params.left_out else source, hidden_target=target)
    attention: dict[Row, dict[int, float]] = {}
    valid_edits = []
    for edit in edit_list.edits:
        try:
            rows = given_rows(edit, trace, erased)
        except InterventionError as error:
            problems.append(str(error))
            continue
        attention |= rows
        valid_edits.append(edit)
    return ResolvedEdits(EditList(tuple(valid_edits)), replace(erased, attention=attention), tuple(problems))


def _existing_positions(positions: tuple[int, ...], count: int, language: str, problems: list[str]) -> tuple[int, ...]:
    """Return the positions that exist; append one message to `problems` for each position that does not."""
    problems += [
        f"the {language} has {count} tokens, so there is no token {position + 1} to erase."
        for position in positions
        if position >= count
    ]
    return tuple(position for position in positions if position < count)


def given_rows(edit: Edit, trace: Trace, erased: Interventions) -> dict[Row, dict[int, float]]:
    """Return the attention rows that an edit sets, each with the weights that the edit gives its visible columns.

    Args:
        edit: the edit.
        trace: the trace of the sentence.
        erased: the interventions that hide erased tokens.

    Raises:
        InterventionError: the layer, head, row or column does not exist, or the weights are invalid.
    """
    layers, heads, queries, keys = trace.attention(edit.kind).shape
    for name, number, count in (("layer", edit.layer, layers), ("head", edit.head, heads)):
        if number is not None and number >= count:
            raise InterventionError(f"{edit}: there is no {name} {number + 1}; the last {name} is {count}.")
    for name, span, count in (("row", edit.rows, queries), *(("column", columns, keys) for columns, _ in edit.shares)):
        if span[1] >= count:
            raise InterventionError(f"{edit}: there is no {name} {span[1] + 1}; the last {name} is {count}.")
    total = sum(percent for _, percent in edit.shares)
    if total > MAX_PERCENT:
        raise InterventionError(f"{edit}: the weights add up to {total}%; the maximum is 100%.")
    visible = erased.visible(edit.kind, queries, keys)
    rows: dict[Row, dict[int, float]] = {}
    for row in range(edit.rows[0], edit.rows[1] + 1):
        cells = _cells(edit, row, visible[row])
        for layer in range(layers) if edit.layer is None else (edit.layer,):
            for head in range(heads) if edit.head is None else (edit.head,):
                rows[edit.kind, layer, head, row] = cells
    return rows


def _cells(edit: Edit, row: int, visible: np.ndarray) -> dict[int, float]:
    """Return the weight of each visible column in one row of an edit.

    Args:
        edit: the edit.
        row: the 0-based row, for error messages.
        visible: whether each column is visible, bool [S]; masked columns get no weight.
    """
    visible_columns = np.flatnonzero(visible).tolist()
    if not edit.shares:
        return dict.fromkeys(visible_columns, 1 / max(len(visible_columns), 1))
    cells: dict[int, float] = {}
    for columns, percent in edit.shares:
        tokens = [column for column in visible_columns if columns[0] <= column <= columns[1]]
        if not tokens:
            raise InterventionError(
                f"{edit}: row {row + 1} cannot attend to {_span_text(columns)}, which the mask hides."
            )
        for column in tokens:
            cells[column] = cells.get(column, 0.0) + percent / MAX_PERCENT / len(tokens)
    if sum(percent for _, percent in edit.shares) < MAX_PERCENT and len(cells) == len(visible_columns):
        raise InterventionError(
            f"{edit}: the weights add up to less than 100%, and no other visible column can receive the rest; "
            "make them add up to 100%."
        )
    return cells


def _span_text(span: Span) -> str:
    return f"column {span[0] + 1}" if span[0] == span[1] else f"columns {span[0] + 1} to {span[1] + 1}"


def without_words(trace: Trace, positions: tuple[int, ...]) -> str:
    """Return the sentence without the text of the tokens at the given positions."""
    text = trace.source_text
    gone = [trace.source_tokens[position].span for position in positions if position < len(trace.source_tokens)]
    remaining = "".join(
        character
        for index, character in enumerate(text)
        if not any(span is not None and span[0] <= index < span[1] for span in gone)
    )
    return " ".join(remaining.split())
