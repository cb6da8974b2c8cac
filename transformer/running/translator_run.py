"""Base class of the runs that a translator computes itself and its server answers; all other runs use these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transformer.text.normalisation import valid
from transformer.values.run import Result, Run

if TYPE_CHECKING:
    from transformer.running.translator import Translator

# A translation to read: its text, the ids of its tokens, or None for the model's own.
ReadTarget = str | Sequence[int] | None
# `ReadTarget` in a hashable form, for the fields of runs.
Target = str | tuple[int, ...] | None


class TranslatorRun(Run[Result]):
    """A run on one text; its intermediate results stay on the device until the result is complete.

    Attributes:
        text: a sentence in the source language, spelled by `valid`.
        plain: whether it is the run that a whole lecture hall requests: a trace that one batch can compute with others.
    """

    text: str
    plain: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", valid(self.text))
        target = getattr(self, "target", None)
        if target is not None:
            object.__setattr__(self, "target", hashable(target))

    def compute(self, runs: Translator, *needed: Any) -> Result:
        """Compute the result with the model itself; `Translator.answer` calls this in inference mode."""
        raise NotImplementedError


def hashable(target: ReadTarget) -> Target:
    """Convert a translation to read to a hashable value."""
    if target is None:
        return None
    return valid(target) if isinstance(target, str) else tuple(map(int, target))
