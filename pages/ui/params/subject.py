"""URL parameter of the subject on pages that can show the heads of any model."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, one_of

SUBJECTS = (TRANSLATOR, LANGUAGE_MODEL, OWN) = ("translator", "language_model", "own")


@dataclass(frozen=True)
class SubjectParams(Params):
    """The subject of *Compare heads* and *Inside a layer*.

    Attributes:
        subject: one of SUBJECTS. `ModelParams` has the translator, `LanguageModelParams` the language model, and
            `OwnParams` the file. *Inside a layer* does not show files, because it needs the model itself.
    """

    subject: str = one_of(SUBJECTS)
