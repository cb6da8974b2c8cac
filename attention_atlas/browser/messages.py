"""Builds the messages that show a trace in the attention browser, one per attention kind."""

from typing import Any

from attention_atlas.browser.payload import CHOICE, browser_payload
from transformer.analysis.heads.metrics import head_metrics
from transformer.errors import AttentionError
from transformer.values.trace import Kind, Trace


def first_shown(trace: Trace, kind: Kind | None, choice: dict[str, Any]) -> tuple[Kind, dict[str, Any]]:
    """Return the attention kind and the complete selection that the attention browser shows first.

    Raises:
        AttentionError: `trace` is not a Trace or lacks the kind, layer or head, or `choice` has an unknown option.
    """
    if not isinstance(trace, Trace):
        kind_of_value = type(trace).__name__
        raise AttentionError(
            f"{kind_of_value} is not a trace: make one with Trace.from_attention, or call show(arrays, tokens)."
        )
    kind = kind or trace.kinds[-1]
    if kind not in trace.kinds:
        raise AttentionError(f"There is no {kind} attention: the trace has {', '.join(trace.kinds)}.")
    unknown = choice.keys() - CHOICE.keys()
    if unknown:
        raise AttentionError(f"There is no option {', '.join(sorted(unknown))}: the options are {', '.join(CHOICE)}.")
    choice = {**CHOICE, **{name: value for name, value in choice.items() if value is not None}}
    for name, count in zip(("layer", "head"), trace.attention(kind).shape, strict=False):
        if not -1 <= choice[name] < count:
            raise AttentionError(
                f"There is no {name} {choice[name]}: the {kind} attention has {name}s 0 to {count - 1}."
            )
    if choice["layer"] + choice["head"] > -2:
        choice |= {name: max(choice[name], 0) for name in ("layer", "head")}
    return kind, choice


def messages_of(trace: Trace, kind: Kind, choice: dict[str, Any]) -> dict[Kind, bytes]:
    """Return the browser's message for each attention kind.

    The layer, heads and pins in `choice` apply only to `kind`.
    """
    head = {"layer": -1, "head": -1, "rows": (), "columns": (), "heads": ()}
    return {
        each: browser_payload(trace, head_metrics(trace, each, None), choice if each == kind else {**choice, **head})
        for each in trace.kinds
    }
