"""An encoder-decoder Transformer, written from scratch, that returns what it computes at every step.

>>> import transformer
>>> transformer.Translator.load().translate("I have a dream.").text
'Ich habe einen Traum.'

Public names are imported on first use, so that importing the package loads neither torch nor numpy (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer.config import TransformerConfig
    from transformer.errors import AtlasError
    from transformer.running.translator import Translator
    from transformer.values.decoding_settings import DecodingSettings
    from transformer.values.interventions import Interventions
    from transformer.values.trace import Trace
    from transformer.values.translation import TracedTranslation, Translation
    from transformer.values.weights import Weights

__version__ = "0.2.0"

__all__ = [
    "AtlasError",
    "DecodingSettings",
    "Interventions",
    "Trace",
    "TracedTranslation",
    "TransformerConfig",
    "Translation",
    "Translator",
    "Weights",
    "__version__",
]

_HOMES = {
    "AtlasError": "errors",
    "DecodingSettings": "values.decoding_settings",
    "Interventions": "values.interventions",
    "Trace": "values.trace",
    "TracedTranslation": "values.translation",
    "TransformerConfig": "config",
    "Translation": "values.translation",
    "Translator": "running.translator",
    "Weights": "values.weights",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
