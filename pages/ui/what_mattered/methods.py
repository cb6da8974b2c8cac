"""The methods in words: what each is called, what it does and what its numbers are. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pages.ui.text.number_format import typeset
from transformer.attribution.attribution import METHODS, Attribution, Method


@dataclass(frozen=True)
class Description:
    """A method for readers.

    Attributes:
        title: its name.
        text: what it does, in a sentence.
        baseline: what its numbers are compared with.
    """

    title: str
    text: str
    baseline: str


DESCRIPTIONS: Mapping[Method, Description] = {
    "weights": Description(
        "Attention weights", "How much attention each word gets, averaged over all layers and heads.", "none",
    ),
    "norms": Description(
        "Vector norms", "The same, but each weight counts as much as the vector that it brings along is long "
        "(Kobayashi et al. 2020, 2021).", "none",
    ),
    "rollout": Description(
        "Rollout", "The weights are multiplied through all layers; half of each layer is counted as the residual "
        "connection (Abnar and Zuidema 2020; for an encoder-decoder as in Ferrando et al. 2022).", "none",
    ),
    "alti": Description(
        "ALTI+", "How close each vector comes to the sum that it is part of, again multiplied through all layers "
        "(Ferrando et al. 2022).", "none",
    ),
    "frozen_gradient": Description(
        "Frozen gradient", "Splits the logit exactly into one term for each word, taking the attention weights, the "
        "scales of the layer norms and the activations as they are (Ali et al. 2022; DecompX, Modarressi et al. 2023).",
        "none: the terms and the biases are all there is",
    ),
    "integrated_gradients": Description(
        "Integrated gradients", "The embeddings grow from 0 to what they are, and each word is credited with its share "
        "of the growth in log-probability (Sundararajan et al. 2017).", "embeddings of 0, positions kept",
    ),
    "erasure": Description(
        "Erasure", "Measured: by how much the log-probability falls when the word is hidden from all others in every "
        "layer (Li et al. 2016).", "the sentence with nothing hidden",
    ),
}
# What takes long on a long sentence.
SLOW: tuple[Method, ...] = ("integrated_gradients", "erasure")


def title(method: Method) -> str:
    """The method's name."""
    return DESCRIPTIONS[method].title


def unit_and_sum(found: Attribution, target: int = 0) -> str:
    """The unit of the scores of a target, and what they add up to."""
    properties, total = METHODS[found.method], float(found.total[target])
    if properties.adds_up == "no":
        return f"{properties.unit}; measured one by one"
    if properties.adds_up == "separately":
        return "shares; each side adds up to 1"
    if not found.remainders:
        adds = f"adds up to {typeset(total)}"
        off = float(found.error()[target])
        return f"{properties.unit}s; {adds}" if properties.unit == "share" else f"{properties.unit}; {adds} ± {off:.2f}"
    rest = sum(float(part[target]) for part in found.remainders.values())
    return f"{properties.unit}; {typeset(total - rest)}, with biases {typeset(total)}"


def has_scores(found: Attribution, target: int = 0) -> bool:
    """Whether a method has an answer for every column of the source."""
    return bool(np.isfinite(found.source[target]).all())
