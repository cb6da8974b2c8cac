"""URL parameter that selects whose heads are shown: the translator's, a language model's, or those in a file."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, one_of

SUBJECTS = (TRANSLATOR, LANGUAGE_MODEL, OWN) = ("translator", "language_model", "own")


@dataclass(frozen=True)
class SubjectParams(Params):
    """The model or file whose heads are shown on *Compare heads*, *Inside a layer* and *How it came about*.

    Attributes:
        subject: one of SUBJECTS. `ModelParams` names the translator, `LanguageModelParams` the language model, and
            `OwnParams` the file. Only *Compare heads* offers files. *Inside a layer* and *How it came about* need the
            model itself.
    """

    subject: str = one_of(SUBJECTS)
