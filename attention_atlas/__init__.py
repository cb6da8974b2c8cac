"""Public package: attention in notebooks and files, the `attention-atlas` command, and the app's server.

>>> import attention_atlas
>>> attention_atlas.show(trace)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_atlas.bertviz_calls import attention_patterns, head_view, model_view
    from attention_atlas.drawing import Drawing, show
    from attention_atlas.huggingface import from_huggingface
    from attention_atlas.widget import Browser
    from transformer.running.translator import Translator
    from transformer.values.foreign_tokens import frames
    from transformer.values.trace import Trace

__all__ = [
    "Browser",
    "Drawing",
    "Trace",
    "Translator",
    "attention_patterns",
    "frames",
    "from_huggingface",
    "head_view",
    "model_view",
    "show",
]
# Each name is imported on first use, so that users who only draw arrays need no package except numpy.
_HOMES = {
    "Browser": "attention_atlas.widget",
    "Drawing": "attention_atlas.drawing",
    "Trace": "transformer.values.trace",
    "Translator": "transformer.running.translator",
    "attention_patterns": "attention_atlas.bertviz_calls",
    "frames": "transformer.values.foreign_tokens",
    "from_huggingface": "attention_atlas.huggingface",
    "head_view": "attention_atlas.bertviz_calls",
    "model_view": "attention_atlas.bertviz_calls",
    "show": "attention_atlas.drawing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
