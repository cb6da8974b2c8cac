"""Measures the memory and time that attention takes on the current machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from transformer.config import Attention, TransformerConfig, decoder_only
from transformer.language_modelling.cost import ATTENTIONS, LENGTHS, NUMBER_BYTES, Cost, cell_count
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer, build

# One head is enough, because the attention of a larger model costs a multiple of one head.
MODEL = "one layer with one head of width 64, random weights, float32, one text at a time"
REPEATS = 5
# Limits of one pass, so that other users do not wait: bytes, share of the machine's free memory, and seconds.
MAX_BYTES, MAX_MEMORY_SHARE, MAX_SECONDS = 400 * 2**20, 0.5, 2.0
# Number of tensors of the map's size that a pass holds at the same time: scores, masked scores, weights, mask.
MAPS_IN_MEMORY = 4
# If the text becomes twice as long, a pass takes at most this many times as long.
MAX_TIME_GROWTH = 4


def configuration(attention: Attention) -> TransformerConfig:
    """The configuration of the measured model."""
    return decoder_only(
        vocabulary=256,
        d_model=64,
        heads=1,
        layers=1,
        d_ff=256,
        dropout=0.0,
        positions="sinusoidal",
        max_positions=LENGTHS[-1],
        attention=attention,
    )


def measurements(
    lengths: Sequence[int] = LENGTHS, repeats: int = REPEATS, available: int | None = None
) -> Iterator[Cost]:
    """Yield the cost of each attention at each length, the shortest length first; each is measured on demand.

    A length that exceeds the limits of memory or time is left out. The weights are stored, as for a visible map and as
    in training on a CPU. A fused kernel computes as many weights without storing them (Dao et al. 2022,
    "FlashAttention").

    Args:
        lengths: numbers of tokens, each twice the previous one.
        available: free bytes of the machine; None if unknown.
    """
    room = MAX_BYTES if available is None else min(MAX_BYTES, MAX_MEMORY_SHARE * available)
    models: dict[Attention, Transformer] = {each: _model(each) for each in ATTENTIONS}
    seconds: dict[Attention, float] = dict.fromkeys(ATTENTIONS, 0.0)
    for length in lengths:
        for attention, model in models.items():
            if peak_bytes(model.config, length) <= room and MAX_TIME_GROWTH * seconds[attention] <= MAX_SECONDS:
                cost = measure(model, length, repeats)
                seconds[attention] = cost.seconds
                yield cost


def peak_bytes(config: TransformerConfig, length: int) -> int:
    """Approximate peak number of bytes of a pass over a text with `length` tokens."""
    return MAPS_IN_MEMORY * NUMBER_BYTES * config.heads * cell_count(config, length)


def measure(model: Transformer, length: int, repeats: int = REPEATS) -> Cost:
    """Measure a pass over a text of random tokens: the bytes of its tensors, and the seconds of the fastest pass.

    The fastest pass is the one that other processes have disturbed least.

    Args:
        model: in evaluation mode.
        length: number of tokens of the text.
        repeats: number of timed passes, after one untimed pass.
    """
    tokens = torch.randint(model.config.target_vocabulary, (1, length), generator=torch.Generator().manual_seed(0))
    seconds = []
    with torch.inference_mode():
        for _ in range(1 + repeats):
            sizes = _Sizes()
            began = time.perf_counter()
            model(None, tokens, record=sizes)
            seconds.append(time.perf_counter() - began)
    heads = model.config.decoder_layers * model.config.heads
    return Cost(
        model.config.attention, length, sizes.weights // heads, sizes.keys_and_values // heads, min(seconds[1:])
    )


class _Sizes(Recorder):
    """Records the sizes of a run's tensors instead of the tensors.

    Attributes:
        weights: bytes of all attention weights.
        keys_and_values: bytes of the keys and values that queries have read.
    """

    def __init__(self) -> None:
        super().__init__(details=False)
        self.weights = self.keys_and_values = 0

    def store(self, site: str, x: Tensor) -> None:
        if site.endswith(".weights"):
            self.weights += x.nbytes
        elif site.endswith((".keys", ".values")):
            self.keys_and_values += x.nbytes


def _model(attention: Attention) -> Transformer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build(configuration(attention)).eval()
