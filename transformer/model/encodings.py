"""The kinds of positional encoding: what each adds to the embeddings or does in self-attention, in numpy float64.

`transformer.model.positions` does the same in torch. A new kind is a class here and a name in
`transformer.config.Positions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transformer.config import Positions, TransformerConfig
from transformer.model.linear_biases import distance_biases, slopes
from transformer.model.sinusoids import sinusoids


@dataclass(frozen=True, eq=False)
class RelativePositions:
    """What positions do in the self-attention of a text of T tokens.

    Attributes:
        biases: added to the scaled scores of each head, [H, T, T]; None for nothing.
    """

    biases: np.ndarray | None = None


class Encoding:
    """No positions, and the base of the kinds that have some.

    Attributes:
        formula: what positions are, in LaTeX.
        learned: whether the numbers are parameters, "positions.table" [max_positions, D] of a stack.
    """

    formula = ""
    learned = False

    def table(self, length: int, d_model: int) -> np.ndarray | None:
        """What is added to the embeddings of positions 0 to P - 1, [P, D]; None for nothing that is computed."""
        return None

    def slopes(self, heads: int) -> np.ndarray | None:
        """What each head takes off a score for a position of distance, [H]; None for nothing."""
        return None


class Sinusoids(Encoding):
    """Sines and cosines ("Attention Is All You Need", section 3.5).

    Args:
        halves: all sines, then all cosines, instead of sin, cos, sin, cos.
    """

    def __init__(self, *, halves: bool = False) -> None:
        sine, cosine = ("i", "D/2+i") if halves else ("2i", "2i+1")
        angle = r"\left(p \cdot 10000^{-2i/D}\right)"
        self.formula = rf"PE_{{p,{sine}}} = \sin{angle}, \quad PE_{{p,{cosine}}} = \cos{angle}"
        self.halves = halves

    def table(self, length: int, d_model: int) -> np.ndarray:
        return sinusoids(length, d_model, halves=self.halves)


class Learned(Encoding):
    """A vector for each position, learned (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning")."""

    formula = r"PE_{p}"
    learned = True


class LinearBiases(Encoding):
    """Biases on the scores that grow with the distance (`transformer.model.linear_biases`)."""

    formula = r"-m_h \left|i - j\right|"

    def slopes(self, heads: int) -> np.ndarray:
        return slopes(heads)


ENCODINGS: Mapping[Positions, Encoding] = {
    "sinusoidal": Sinusoids(), "sinusoidal_halves": Sinusoids(halves=True), "learned": Learned(),
    "alibi": LinearBiases(), "none": Encoding(),
}


def added_positions(
    config: TransformerConfig, parameters: Mapping[str, np.ndarray], side: str, length: int
) -> np.ndarray | None:
    """What a model adds to the embeddings of the first P positions of a text, float64 [P, D]; None for nothing.

    Args:
        config: of the model.
        parameters: by their names in a checkpoint.
        side: "source" or "target".
        length: P.
    """
    encoding = ENCODINGS[config.positions]
    if encoding.learned:
        return parameters[f"{side}_positions.table"][:length].astype(np.float64)
    return encoding.table(length, config.d_model)


def relative_positions(config: TransformerConfig, length: int) -> RelativePositions | None:
    """What a model's positions do in the self-attention of a text of `length` tokens; None for nothing."""
    found = ENCODINGS[config.positions].slopes(config.heads)
    return None if found is None else RelativePositions(distance_biases(found, length))
