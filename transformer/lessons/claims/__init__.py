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
from transformer.lessons.claims.registry import CLAIMS, Claim, Finding, check_call, measure_claim

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
    "measure_claim",
    "patching",
    "paths",
    "runs",
]
