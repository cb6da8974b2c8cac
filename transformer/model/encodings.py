"""The kinds of positional encoding, in numpy float64: what each adds to the embeddings or changes in self-attention.

`transformer.model.positions` applies the encodings in torch. To add a kind, add a class and an entry in `ENCODINGS`
here, and a name in `transformer.config.Positions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transformer.config import Positions, TransformerConfig
from transformer.model.linear_biases import distance_biases, slopes
from transformer.model.sinusoids import fairseq_sinusoids, frequencies, sinusoids


@dataclass(frozen=True, eq=False)
class RelativePositionArrays:
    """Effect of a text's T positions on self-attention: biases on the scores, or rotation of queries and keys.

    Attributes:
        biases: biases added to each head's scaled scores, [H, T, T]; None for no biases.
        angles: rotation angles for the dimension pairs of queries and keys, radians [T, K / 2]; None for no rotation.
    """

    biases: np.ndarray | None = None
    angles: np.ndarray | None = None


NO_POSITIONS = RelativePositionArrays()


class Encoding:
    """Base class of positional encodings. An instance of this class encodes no positions.

    Attributes:
        formula: formula of the encoding, in LaTeX.
        learned: whether the vectors are parameters. The parameters of the two stacks are "source_positions.table" and
            "target_positions.table", [max_positions, D].
    """

    formula = ""
    learned = False

    def table(self, length: int, d_model: int) -> np.ndarray | None:
        """Return the vectors to add to the embeddings at positions 0 to P - 1, [P, D]; None if there are none.

        Learned vectors are not returned, because they are parameters.
        """
        return None

    def slopes(self, heads: int) -> np.ndarray | None:
        """Return each head's slope [H], by which a score decreases per position of distance; None without biases."""
        return None

    def angles(self, length: int, d_head: int) -> np.ndarray | None:
        """Return the rotation angle of each dimension pair (0, 1), (2, 3), ... of queries and keys, radians [P, K / 2].

        None means no rotation.
        """
        return None


class Sinusoids(Encoding):
    """Sinusoidal encoding ("Attention Is All You Need", section 3.5).

    Args:
        halves: whether all sines come before all cosines. Otherwise, sines and cosines alternate.
    """

    def __init__(self, *, halves: bool = False) -> None:
        sine, cosine = ("i", "D/2+i") if halves else ("2i", "2i+1")
        angle = r"\left(p \cdot 10000^{-2i/D}\right)"
        self.formula = rf"PE_{{p,{sine}}} = \sin{angle}, \quad PE_{{p,{cosine}}} = \cos{angle}"
        self.halves = halves

    def table(self, length: int, d_model: int) -> np.ndarray:
        return sinusoids(length, d_model, halves=self.halves)


class FairseqSinusoids(Encoding):
    """Sinusoidal encoding of M2M100 and NLLB-200 (`transformer.model.sinusoids.fairseq_sinusoids`)."""

    formula = (
        r"PE_{p,i} = \sin\left((p+2) \cdot 10000^{-2i/(D-2)}\right), \quad "
        r"PE_{p,D/2+i} = \cos\left((p+2) \cdot 10000^{-2i/(D-2)}\right)"
    )

    def table(self, length: int, d_model: int) -> np.ndarray:
        return fairseq_sinusoids(length, d_model)


class Learned(Encoding):
    """A learned vector for each position (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning")."""

    formula = r"PE_{p}"
    learned = True


class LinearBiases(Encoding):
    """ALiBi: biases that lower the scores in proportion to the distance (`transformer.model.linear_biases`)."""

    formula = r"-m_h \left|i - j\right|"

    def slopes(self, heads: int) -> np.ndarray:
        return slopes(heads)


class Rotary(Encoding):
    """Rotates queries and keys by angles that grow with the position (Su et al. 2021, "RoFormer: Enhanced Transformer
    with Rotary Position Embedding", section 3.2.2, equation 15).

    The dot product of a query and a key then depends on the difference between their positions, not on the positions
    themselves.
    """

    formula = r"R_p: \; (x_{2i}, x_{2i+1}) \text{ rotated by } p \cdot 10000^{-2i/K}"

    def angles(self, length: int, d_head: int) -> np.ndarray:
        return np.arange(length)[:, None] * frequencies(d_head)


ENCODINGS: Mapping[Positions, Encoding] = {
    "sinusoidal": Sinusoids(),
    "sinusoidal_halves": Sinusoids(halves=True),
    "sinusoidal_fairseq": FairseqSinusoids(),
    "learned": Learned(),
    "rotary": Rotary(),
    "alibi": LinearBiases(),
    "none": Encoding(),
}


def added_positions(
    config: TransformerConfig, parameters: Mapping[str, np.ndarray], side: str, length: int
) -> np.ndarray | None:
    """Return the vectors that a model adds to the embeddings of a text's first P positions, float64 [P, D].

    None means that the model adds no vectors.

    Args:
        config: configuration of the model.
        parameters: the model's parameters by their names in a checkpoint.
        side: "source" or "target".
        length: number of positions P.
    """
    encoding = ENCODINGS[config.positions]
    if encoding.learned:
        return parameters[f"{side}_positions.table"][:length].astype(np.float64)
    return encoding.table(length, config.d_model)


def relative_positions(config: TransformerConfig, length: int) -> RelativePositionArrays:
    """Return the distance biases and rotary angles for self-attention in a text of `length` tokens."""
    encoding = ENCODINGS[config.positions]
    slopes = encoding.slopes(config.heads)
    biases = None if slopes is None else distance_biases(slopes, length)
    return RelativePositionArrays(biases, encoding.angles(length, config.d_head))


def turn(x: np.ndarray, angles: np.ndarray | None) -> np.ndarray:
    """Rotate queries or keys [..., T, K] by angles [T, K / 2]. Negative angles rotate back; None changes nothing."""
    if angles is None:
        return x
    even, odd = x[..., 0::2], x[..., 1::2]
    cosines, sines = np.cos(angles), np.sin(angles)
    return np.stack((even * cosines - odd * sines, even * sines + odd * cosines), axis=-1).reshape(x.shape)
