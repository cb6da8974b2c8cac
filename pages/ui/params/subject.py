"""URL parameter of the model that the pages about the heads of any model show."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, one_of

SUBJECTS = (TRANSLATOR, LANGUAGE_MODEL, OWN) = ("translator", "language_model", "own")


@dataclass(frozen=True)
class SubjectParams(Params):
    """The subject of *Compare heads* and *Inside a layer*.

    Attributes:
        subject: one of SUBJECTS. `ModelParams` says which translator, `LanguageModelParams` which language model, and
            `OwnParams` which file. *Inside a layer* cannot query the model of a file.
    """

    subject: str = one_of(SUBJECTS)
