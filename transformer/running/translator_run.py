"""Runs that a translator computes itself, and that a model's server answers; all others ask for these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from transformer.text.normalisation import valid
from transformer.values.run import Result, Run

if TYPE_CHECKING:
    from transformer.running.translator import Translator

# A translation to read: its text, the ids of its tokens, or the model's own.
ReadTarget = str | Sequence[int] | None
# The same as a part of a value.
Target = str | tuple[int, ...] | None


class TranslatorRun(Run[Result]):
    """A run of one text; what it computes for it stays on the device until the result is there.

    Attributes:
        KINDS: by name, each registered by being defined.
        text: a sentence in the source language; in the value as `valid` spells it.
        plain: whether it is what a hall full of people asks for: a trace that can be computed together with others.
    """

    KINDS: ClassVar[dict[str, type[TranslatorRun[Any]]]] = {}

    text: str
    plain: bool = False

    def __init_subclass__(cls) -> None:
        TranslatorRun.KINDS[cls.__name__] = cls

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", valid(self.text))
        target = getattr(self, "target", None)
        if target is not None:
            object.__setattr__(self, "target", hashable(target))

    def compute(self, runs: Translator, *needed: Any) -> Result:
        """The result, on the model itself; `Translator.answer` calls this in inference mode."""
        raise NotImplementedError


def hashable(target: ReadTarget) -> Target:
    """A translation to read as a part of a value."""
    if target is None:
        return None
    return valid(target) if isinstance(target, str) else tuple(map(int, target))
