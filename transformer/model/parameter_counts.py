"""Counts the parameters of each part of a Transformer."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from transformer.config import TransformerConfig
from transformer.model.skipped_initialisation import SkippedInitialisation
from transformer.model.transformer import Transformer


@dataclass(frozen=True)
class Concatenation:
    """Size of one part of the model, with positions added to the embeddings and with positions concatenated.

    Attributes:
        part: name of the part, as in `parameter_table`.
        added: number of parameters with positions added to the embeddings.
        concatenated: number of parameters with positions concatenated to the embeddings.
    """

    part: str
    added: int
    concatenated: int


def parameter_table(config: TransformerConfig) -> list[tuple[str, int]]:
    """Number of parameters of each part, in the order of the forward pass; a shared parameter counts at its first use.

    Args:
        config: any configuration; no weights are created.

    Returns:
        Pairs of a part's name and its number of parameters; parts without parameters are left out. The numbers add up
        to that of the whole model.
    """
    counts: Counter[str] = Counter()
    for name, size in _sizes(config):
        counts[_part(name, config)] += size
    return list(counts.items())


def concatenation_table(config: TransformerConfig) -> list[Concatenation]:
    """Number of parameters if each position's vector were concatenated to the embedding instead of added.

    The position's vector is as wide as the embedding, D, so the residual stream is 2D wide. All parts that read it or
    write to it are 2D wide too. The number of heads and the width F stay the same. An output layer that is tied to the
    target embedding is untied, because it reads 2D numbers and the embedding has D.

    Args:
        config: any configuration with added positions; no weights are created.
    """
    added = dict(parameter_table(config))
    concatenated: Counter[str] = Counter()
    for name, size in _sizes(replace(config, d_model=2 * config.d_model, tied_embeddings="none")):
        if name == "source_embedding.weight" and config.tied_embeddings == "all":
            continue
        # Embeddings and positions each fill one half of the stream, so they keep the width D.
        half = name.endswith(("embedding.weight", "positions.table"))
        concatenated[_part(name, config)] += size // (2 if half else 1)
    parts = dict.fromkeys([*added, *concatenated])
    return [Concatenation(part, added.get(part, 0), concatenated[part]) for part in parts]


@lru_cache(maxsize=16)
def _sizes(config: TransformerConfig) -> list[tuple[str, int]]:
    """Names and sizes of all parameters of a configuration; cached, because a page needs them at every click."""
    with torch.device("meta"), SkippedInitialisation():
        model = Transformer(config)
    return [(name, parameter.numel()) for name, parameter in model.named_parameters()]


def _part(name: str, config: TransformerConfig) -> str:
    """Usual name of the part that a parameter belongs to; it names the stack only if the model has two."""
    stack, _, rest = name.partition("_")
    both = bool(config.layers_of("cross"))
    where, of = (f"{stack}: ", f" ({stack})") if both else ("", "")
    if name.endswith("positions.table"):
        return f"learned positional encoding{of}"
    if "norm." in name:
        return f"{where}layer normalisation"
    if "compression" in name:
        return "compression of keys and values"
    if "self_attention" in name:
        return f"{where}{'masked ' if stack == 'decoder' else ''}multi-head self-attention"
    if "cross_attention" in name:
        return f"{where}multi-head cross-attention"
    if "feed_forward" in name:
        return f"{where}position-wise feed-forward network"
    if rest.startswith("embedding"):
        return _embedding(stack, both, config)
    return "generator (output layer)"


def _embedding(side: str, both: bool, config: TransformerConfig) -> str:
    """The name of an embedding, with the names of the parts that share it."""
    if config.tied_embeddings == "all":
        return "token embedding, shared by source, target and output"
    shared = config.tied_embeddings == "target" and side == "target"
    if not both:
        return f"token embedding{', shared with the output' if shared else ''}"
    return f"token embedding ({side}{', shared with the output' if shared else ''})"
