"""The kinds of positional encoding: what each adds to the embeddings, in numpy float64.

`transformer.model.positions` adds the same numbers in torch. A new kind is a class here and a name in
`transformer.config.Positions`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transformer.config import Positions, TransformerConfig
from transformer.model.sinusoids import sinusoids


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


ENCODINGS: Mapping[Positions, Encoding] = {
    "sinusoidal": Sinusoids(), "sinusoidal_halves": Sinusoids(halves=True), "learned": Learned(), "none": Encoding(),
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
