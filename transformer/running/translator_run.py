"""Base class for runs that are computed by the translation model, in this process or on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transformer.text.normalisation import replace_surrogates
from transformer.values.run import Result, Run

if TYPE_CHECKING:
    from transformer.running.translator import Translator

# Translation for the model to read: text, token ids, or None for the model's own translation.
ReadTarget = str | Sequence[int] | None
# Hashable form of `ReadTarget`, for the fields of runs.
Target = str | tuple[int, ...] | None


class TranslatorRun(Run[Result]):
    """A run on one source text, computed by the translation model.

    Attributes:
        text: source sentence, with surrogates repaired by `replace_surrogates`.
        plain: whether the run is a trace with default options, which can be computed in one batch with other traces.
    """

    text: str
    plain: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", replace_surrogates(self.text))
        target = getattr(self, "target", None)
        if target is not None:
            object.__setattr__(self, "target", hashable(target))

    def compute(self, runs: Translator, *needed: Any) -> Result:
        """Compute the result with the model; `Translator.answer` calls this method in inference mode."""
        raise NotImplementedError


def hashable(target: ReadTarget) -> Target:
    """Convert a given translation to a hashable value."""
    if target is None:
        return None
    return replace_surrogates(target) if isinstance(target, str) else tuple(map(int, target))
