"""Shows the runs on sentences A and B as grids; dragging a cell onto the other grid patches its value into that run."""

from collections.abc import Mapping

import streamlit as st

from attention_atlas.browser.token_labels import displayable, label_without_space, token_label
from pages.ui.components.bundle import component
from pages.ui.params.attention import UNCHOSEN
from pages.ui.params.patch import PatchParams
from pages.ui.patch.question import PatchingPair
from pages.ui.state import session
from transformer.ablation.patching import Patches
from transformer.values.patches import PatchSite, has_heads, stack_of

KEY = "patch_runs"
draw_runs = component("two_runs/two_runs")


def show_runs(
    pair: PatchingPair, site: PatchSite, rows: list[str], columns: Mapping[int, int], patches: Patches
) -> None:
    """Show both runs as grids with one cell per layer (or depth) and token (or head).

    Args:
        rows: the row labels, one per layer or depth.
        columns: maps token positions in A's run to the matching positions in B's run.
        patches: the chosen patches, the first of which is framed.
    """
    heads = has_heads(site)
    if heads:
        labels = [[str(head + 1) for head in range(pair.reading.config.heads)]] * 2
        partners = {head: head for head in range(len(labels[0]))} if columns else {}
    else:
        encoder = stack_of(site) == "encoder"
        read = [
            (trace.source_tokens, trace.source_text)
            if encoder
            else (trace.target_tokens[: pair.question.step + 1], trace.target_text)
            for trace in (pair.a, pair.b)
        ]
        labels = [[label_without_space(token_label(token, text)) for token in tokens] for tokens, text in read]
        partners = dict(columns)
    (_, layer, head, position), other = patches[0] if patches else (("", -1, -1, -1), -1)

    def drop() -> None:
        _drop(st.session_state[KEY].get("dropped"), site, [len(rows), *map(len, labels)])

    st.markdown(
        "**Or drag a cell onto the other run.** Dropping B's value onto A tests whether A needs its own value. "
        "Dropping A's value onto B tests whether A's value is enough."
    )
    draw_runs(
        key=KEY,
        on_dropped_change=drop,
        width="stretch",
        data={
            "runs": [
                {"name": name, "text": displayable(trace.source_text), "labels": each}
                for name, trace, each in zip("AB", (pair.a, pair.b), labels, strict=True)
            ],
            "rows": rows,
            "partners": list(partners.items()),
            "free": not heads and stack_of(site) == "encoder",
            "chosen": {"row": layer, "columns": [head, head] if heads else [position, other]},
        },
    )


def _drop(message: object, site: PatchSite, sizes: list[int]) -> None:
    """Choose the patch for a cell that the user has dropped on the other run.

    Args:
        message: the browser's untrusted message about the dragged cell and the column on which it was dropped.
        sizes: the numbers of rows, of A's columns and of B's columns.
    """
    names = ("run", "row", "column", "onto")
    if not isinstance(message, dict) or any(type(message.get(name)) is not int for name in names):
        return
    run, row, column, onto = (message[name] for name in names)
    a, b = (onto, column) if run else (column, onto)
    if run not in (0, 1) or not all(0 <= at < size for at, size in zip((row, a, b), sizes, strict=True)):
        return
    place = {"head": a, "at": UNCHOSEN} if has_heads(site) else {"at": a}
    partner = b if stack_of(site) == "encoder" and not has_heads(site) else UNCHOSEN
    session.update(PatchParams, direction="needed" if run else "enough", layer=row, partner=partner, **place)
