"""Pure functions that generate Python code to reproduce the user's changes."""

from pathlib import Path

from pages.ui.change_attention.resolution import given_rows
from pages.ui.params.change_attention import Edit
from pages.ui.text.python_lines import load_expression
from transformer.values.interventions import Interventions
from transformer.values.trace import Trace


def change_lines(
    trace: Trace, edits: tuple[Edit, ...], changed: Interventions, prefix: tuple[int, ...], *, folder: Path | None
) -> str:
    """Return five lines of Python code that print the changed model's translation.

    Args:
        trace: the trace of the sentence.
        edits: the user's edits to attention rows.
        changed: all changes as interventions, including erased words.
        prefix: token ids that the translation must start with; empty if the changed model writes everything.
        folder: the model's folder; None for the shipped model.
    """
    arguments = []
    if edits:
        erased = Interventions(hidden_source=changed.hidden_source, hidden_target=changed.hidden_target)
        arguments.append(f"attention={' | '.join(_rows_code(edit, trace, erased) for edit in edits)}")
    for name in ("hidden_source", "hidden_target"):
        positions = getattr(changed, name)
        arguments += [f"{name}={list(positions)}"] if positions else []
    beginning = f"prefix={list(prefix)}, " if prefix else ""
    return "\n".join(
        (
            "from transformer import Interventions, Translator",
            f"interventions = Interventions({', '.join(arguments)})",
            f"translator = {load_expression(folder)}",
            f"translation = translator.translate({trace.source_text!r}, {beginning}interventions=interventions)",
            "print(translation.text)",
        )
    )


def _rows_code(edit: Edit, trace: Trace, erased: Interventions) -> str:
    """Return Python source for a dictionary of the attention rows that an edit sets.

    An edit that covers all layers or all heads becomes a dict comprehension.
    """
    layers, heads, _, _ = trace.attention(edit.kind).shape
    loops, place = "", []
    for name, number, count in (("layer", edit.layer, layers), ("head", edit.head, heads)):
        place.append(name if number is None else str(number))
        loops += f" for {name} in range({count})" if number is None else ""
    cells = {row: shares for (_, _, _, row), shares in given_rows(edit, trace, erased).items()}
    parts = [
        f"{{({edit.kind!r}, {', '.join(place)}, {row}): {_shares_code(shares)}{loops}}}"
        for row, shares in cells.items()
    ]
    return " | ".join(parts)


def _shares_code(shares: dict[int, float]) -> str:
    return f"{{{', '.join(f'{column}: {share:.6g}' for column, share in shares.items())}}}"
