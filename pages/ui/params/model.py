"""URL parameter, used by all pages, that selects the translation model."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, matching
from transformer.checkpoints.available_models import NAME, SHIPPED


@dataclass(frozen=True)
class ModelParams(Params):
    """The chosen translation model.

    Attributes:
        model: the model's name, which may be missing from `transformer.checkpoints.available_models.model_folders`.
    """

    model: str = matching(NAME.pattern, SHIPPED)
