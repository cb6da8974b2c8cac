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
    """Size of one part of the model, with position vectors added to the embeddings or concatenated with them.

    Attributes:
        part: name of the part, as in `parameter_table`.
        added: number of parameters if the vectors are added.
        concatenated: number of parameters if the vectors are concatenated.
    """

    part: str
    added: int
    concatenated: int


def parameter_table(config: TransformerConfig) -> list[tuple[str, int]]:
    """Return each part's number of parameters; a shared parameter counts only in the first part that uses it.

    Args:
        config: any configuration; no weights are created.

    Returns:
        (name, number of parameters) of each part that has parameters, in the order of the model's parameters. The
        numbers add up to the model's total.
    """
    counts: Counter[str] = Counter()
    for name, size in _sizes(config):
        counts[_part(name, config)] += size
    return list(counts.items())


def concatenation_table(config: TransformerConfig) -> list[Concatenation]:
    """Return each part's parameter count if positions are added to the embeddings, and if they are concatenated.

    Position vectors and embeddings both have width D, so if they were concatenated, the residual stream would have
    width 2D. Every part that reads or writes the stream would have width 2D too. The number of heads and the width F
    would stay the same. A tied output layer would be untied, because it would read 2D numbers per token, whereas the
    embedding has D.

    Args:
        config: any configuration with added positions; no weights are created.
    """
    added = dict(parameter_table(config))
    concatenated: Counter[str] = Counter()
    for name, size in _sizes(replace(config, d_model=2 * config.d_model, tied_embeddings="none")):
        if name == "source_embedding.weight" and config.tied_embeddings == "all":
            continue
        # Embeddings and positions each occupy one half of the stream, so they keep the width D.
        half = name.endswith(("embedding.weight", "positions.table"))
        concatenated[_part(name, config)] += size // (2 if half else 1)
    parts = dict.fromkeys([*added, *concatenated])
    return [Concatenation(part, added.get(part, 0), concatenated[part]) for part in parts]


@lru_cache(maxsize=16)
def _sizes(config: TransformerConfig) -> list[tuple[str, int]]:
    """Return all parameters' names and sizes for a configuration; cached, because a page needs them on every click."""
    with torch.device("meta"), SkippedInitialisation():
        model = Transformer(config)
    return [(name, parameter.numel()) for name, parameter in model.named_parameters()]


def _part(name: str, config: TransformerConfig) -> str:
    """Return the display name of the part that contains a parameter. With two stacks, most names include the stack."""
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
    """Return an embedding's display name, which lists the parts that share the embedding."""
    if config.tied_embeddings == "all":
        return "token embedding, shared by source, target and output"
    shared = config.tied_embeddings == "target" and side == "target"
    if not both:
        return f"token embedding{', shared with the output' if shared else ''}"
    return f"token embedding ({side}{', shared with the output' if shared else ''})"
