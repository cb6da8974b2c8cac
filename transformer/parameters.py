"""Where the parameters of a Transformer are."""

from __future__ import annotations

from collections import Counter

import torch

from transformer.config import TransformerConfig
from transformer.model import Transformer


def parameter_table(config: TransformerConfig) -> list[tuple[str, int]]:
    """Number of parameters of each part, in the order of the data's way; shared ones stand where they are first.

    Args:
        config: any configuration; no weights are made.

    Returns:
        Pairs of a part's name and its number of parameters; parts without any are left out. The numbers add up to
        those of the whole model.
    """
    with torch.device("meta"):
        model = Transformer(config)
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        counts[_part(name, config)] += parameter.numel()
    return list(counts.items())


def _part(name: str, config: TransformerConfig) -> str:
    """What the literature calls the part that the parameter `name` belongs to."""
    stack, _, rest = name.partition("_")
    if name.endswith("positions.table"):
        return f"learned positional encoding ({stack})"
    if "norm." in name:
        return f"{stack}: layer normalisation"
    if "self_attention" in name:
        return f"{stack}: {'masked ' if stack == 'decoder' else ''}multi-head self-attention"
    if "cross_attention" in name:
        return f"{stack}: multi-head cross-attention"
    if "feed_forward" in name:
        return f"{stack}: position-wise feed-forward network"
    if rest.startswith("embedding"):
        if config.tied_embeddings == "all":
            return "token embedding, shared by source, target and output"
        shared = config.tied_embeddings == "target" and stack == "target"
        return f"token embedding ({stack}{', shared with the output' if shared else ''})"
    return "generator (output layer)"
