"""Measures what attention to a text costs on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from transformer.config import Attention, TransformerConfig, decoder_only
from transformer.language_modelling.cost import ATTENTIONS, LENGTHS, NUMBER_BYTES, Cost, cells
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer, build

# One head: what a larger model takes is a multiple of that.
MODEL = "one layer with one head of width 64, random weights, float32, one text at a time"
REPEATS = 5
# What a pass may take at most, so that others are not kept waiting: bytes, of which a share of those that the machine
# has free, and seconds.
MOST_BYTES, SHARE, MOST_SECONDS = 400 * 2**20, 0.5, 2.0
# Tensors as large as its map that a pass holds at once: scores, the same with masked ones filled, weights, mask.
HELD = 4
# How many times as long a pass takes at most, when the text is twice as long.
GROWTH = 4


def configuration(attention: Attention) -> TransformerConfig:
    """The model that is measured."""
    return decoder_only(
        vocabulary=256, d_model=64, heads=1, layers=1, d_ff=256, dropout=0.0, positions="sinusoidal",
        max_positions=LENGTHS[-1], attention=attention,
    )


def measurements(
    lengths: Sequence[int] = LENGTHS, repeats: int = REPEATS, available: int | None = None
) -> Iterator[Cost]:
    """Measure each attention at each length, the shortest first; each when it is asked for.

    A length that would take more memory or time than a pass may is left out. The weights are written out, as for a map
    that is looked at and as in training on a CPU; a fused kernel computes as many without storing them (Dao et al.
    2022, "FlashAttention").

    Args:
        lengths: each twice the one before.
        available: bytes that the machine has free; None where nobody knows.
    """
    room = MOST_BYTES if available is None else min(MOST_BYTES, SHARE * available)
    models: dict[Attention, Transformer] = {each: _model(each) for each in ATTENTIONS}
    seconds: dict[Attention, float] = dict.fromkeys(ATTENTIONS, 0.0)
    for length in lengths:
        for attention, model in models.items():
            if peak_bytes(model.config, length) <= room and GROWTH * seconds[attention] <= MOST_SECONDS:
                found = measure(model, length, repeats)
                seconds[attention] = found.seconds
                yield found


def peak_bytes(config: TransformerConfig, length: int) -> int:
    """Bytes that a pass over a text of so many tokens holds at most at once, about."""
    return HELD * NUMBER_BYTES * config.heads * cells(config, length)


def measure(model: Transformer, length: int, repeats: int = REPEATS) -> Cost:
    """What a pass over a text of random tokens takes: the bytes of the tensors, and the seconds of the fastest, which
    whatever else runs has disturbed least.

    Args:
        model: in evaluation mode.
        length: tokens of the text.
        repeats: passes that are timed, after one that is not.
    """
    pieces = torch.randint(model.config.target_vocabulary, (1, length), generator=torch.Generator().manual_seed(0))
    seconds = []
    with torch.inference_mode():
        for _ in range(1 + repeats):
            sizes = _Sizes()
            began = time.perf_counter()
            model(None, pieces, record=sizes)
            seconds.append(time.perf_counter() - began)
    heads = model.config.decoder_layers * model.config.heads
    return Cost(
        model.config.attention, length, sizes.weights // heads, sizes.keys_and_values // heads, min(seconds[1:])
    )


class _Sizes(Recorder):
    """Notes how large the tensors of a run are, and keeps none of them.

    Attributes:
        weights: bytes of all attention weights.
        keys_and_values: of what queries have read.
    """

    def __init__(self) -> None:
        super().__init__(details=False)
        self.weights = self.keys_and_values = 0

    def attention(self, kind: str, *, weights: Tensor, **parts: Tensor) -> None:
        self.weights += weights.nbytes
        self.keys_and_values += parts["keys"].nbytes + parts["values"].nbytes


def _model(attention: Attention) -> Transformer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build(configuration(attention)).eval()
