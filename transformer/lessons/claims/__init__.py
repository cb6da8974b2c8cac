"""Imports all claim modules, so that importing this package registers every claim."""

from transformer.lessons.claims import (
    ablation,
    attribution,
    computation,
    decoding,
    heads,
    learning,
    patching,
    paths,
    runs,
)
from transformer.lessons.claims.registry import CLAIMS, Claim, Finding, check_call, measured

__all__ = [
    "CLAIMS",
    "Claim",
    "Finding",
    "ablation",
    "attribution",
    "check_call",
    "computation",
    "decoding",
    "heads",
    "learning",
    "measured",
    "patching",
    "paths",
    "runs",
]
