"""Measures how much memory and time attention takes on the current machine."""

import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from transformer.config import Attention, TransformerConfig, decoder_only
from transformer.language_modelling.cost import ATTENTIONS, LENGTHS, NUMBER_BYTES, Cost, cell_count
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer, build
from transformer.values.kinds import Kind

# One head is enough, because the cost of attention is proportional to the number of heads.
MODEL = "one layer with one head of width 64, random weights, float32, one text at a time"
REPEATS = 5
# Limits for one forward pass in bytes, as a fraction of free memory, and in seconds, so that other users need not wait.
MAX_BYTES, MAX_MEMORY_SHARE, MAX_SECONDS = 400 * 2**20, 0.5, 2.0
# Number of map-sized tensors that a forward pass holds at once: scores, masked scores, weights and mask.
MAPS_IN_MEMORY = 4
# Doubling the length of the text makes a forward pass take at most this many times as long.
MAX_TIME_GROWTH = 4


def configuration(attention: Attention) -> TransformerConfig:
    """Return the configuration of the model to measure."""
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
    """Measure and yield the cost of each attention type at each length, shortest length first.

    Lengths that would exceed the memory or time limits are skipped. The measured model stores its attention weights,
    as is necessary for displaying a map and for training on a CPU. A fused kernel would compute the same number of
    weights without storing them (Dao et al. 2022, "FlashAttention").

    Args:
        lengths: numbers of tokens, each twice the previous one.
        repeats: number of timed passes per measurement.
        available: free memory in bytes; None if unknown.
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
    """Return the approximate peak memory, in bytes, of a forward pass over `length` tokens."""
    return MAPS_IN_MEMORY * NUMBER_BYTES * config.heads * cell_count(config, length)


def measure(model: Transformer, length: int, repeats: int = REPEATS) -> Cost:
    """Measure the size in bytes of a head's attention weights, keys and values, and the duration of a forward pass.

    The forward pass reads random tokens.

    The duration is that of the fastest timed pass, which other processes disturbed least.

    Args:
        model: model in evaluation mode.
        length: number of tokens.
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
    """Recorder that adds up the sizes of recorded tensors instead of storing the tensors.

    Attributes:
        weights: total size of attention weights, bytes.
        keys_and_values: total size of keys and values, bytes.
    """

    def __init__(self) -> None:
        super().__init__(details=False)
        self.weights = self.keys_and_values = 0

    def store(self, kind: Kind, name: str, x: Tensor) -> Tensor:
        if name == "weights":
            self.weights += x.nbytes
        elif name in ("keys", "values"):
            self.keys_and_values += x.nbytes
        return x


def _model(attention: Attention) -> Transformer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build(configuration(attention)).eval()
