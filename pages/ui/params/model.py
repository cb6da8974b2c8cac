"""URL parameter of the model that all pages use."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, matching
from transformer.checkpoints.available_models import NAME, SHIPPED


@dataclass(frozen=True)
class ModelParams(Params):
    """The choice of the model.

    Attributes:
        model: the model's name, which need not be one of `transformer.checkpoints.available_models.model_folders`.
    """

    model: str = matching(NAME.pattern, SHIPPED)
