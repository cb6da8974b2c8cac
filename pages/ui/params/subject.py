"""Which model the pages about the heads of any model look at."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, one_of

SUBJECTS = (TRANSLATOR, LANGUAGE_MODEL, OWN) = ("translator", "language_model", "own")


@dataclass(frozen=True)
class SubjectParams(Params):
    """What *Compare heads* and *Inside a layer* look at.

    Attributes:
        subject: one of SUBJECTS; `ModelParams` and `LanguageModelParams` say which translator and which language model,
            `OwnParams` which file, whose model *Inside a layer* cannot ask.
    """

    subject: str = one_of(SUBJECTS)
