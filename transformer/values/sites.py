"""Sites: the places in a model where a run can read and change a value, with the value's shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from transformer.errors import InterventionError
from transformer.values.kinds import KINDS

if TYPE_CHECKING:
    from torch import Tensor

    from transformer.config import TransformerConfig

# Returns the value to use instead of x, or None to keep x. The arguments are x, the index of the layer, and the
# position of the first query; docs/hooks.md describes them.
HookFunction = Callable[["Tensor", int, int], "Tensor | None"]
# Functions by the name of their site.
HookFunctions = Mapping[str, HookFunction]

# Letters: B texts, T queries, S keys, D model width, F width of the feed-forward network, H heads, K head width,
# V vocabulary. For the encoder, T is the number of source tokens.
IN_EACH_STACK = {
    "embedding": ("[B, T, D]", "the embeddings with positions: the residual stream before the first layer"),
    "after_self_attention": ("[B, T, D]", "the residual stream after self-attention"),
    "feed_forward_hidden": ("[B, T, F]", "the hidden layer of the feed-forward network, after the activation"),
    "feed_forward": ("[B, T, D]", "the output of the feed-forward network"),
    "residual": ("[B, T, D]", "the residual stream after the layer"),
    "output": ("[B, T, D]", "the output of the stack, after any final norm"),
}
IN_EACH_ATTENTION = {
    "queries": ("[B, H, T, K]", "the queries, rotated if the model has rotary positions"),
    "keys": ("[B, H, S, K]", "the keys of all positions read so far, rotated like the queries"),
    "values": ("[B, H, S, K]", "the values of all positions read so far"),
    "scores": ("[B, H, T, S]", "queries times keys divided by sqrt(K), with position biases, before the mask"),
    "weights": ("[B, H, T, S]", "the attention weights: the softmax of the scores that the mask allows"),
    "outputs": ("[B, H, T, K]", "each head's weights times values, before the heads are joined"),
}
# Shape and meaning of each site, by name.
SITES: Mapping[str, tuple[str, str]] = {
    **{f"{stack}.{name}": entry for stack in ("encoder", "decoder") for name, entry in IN_EACH_STACK.items()},
    "decoder.after_cross_attention": ("[B, T, D]", "the residual stream after cross-attention"),
    "decoder.logits": ("[B, T, V]", "the scores of the next token, before the softmax"),
    **{f"{kind}.{name}": entry for kind in KINDS for name, entry in IN_EACH_ATTENTION.items()},
}


def check_sites(names: Iterable[str], config: TransformerConfig | None = None) -> None:
    """Raise an InterventionError if a name is not a site of the model; None accepts the sites of all models."""
    for name in names:
        if name not in SITES or not _has(config, name):
            sites = ", ".join(site for site in SITES if _has(config, site))
            raise InterventionError(f"unknown site {name!r}; sites{' of this model' if config else ''} are {sites}")


def _has(config: TransformerConfig | None, site: str) -> bool:
    kind: Any = "cross" if site == "decoder.after_cross_attention" else site.partition(".")[0]
    return config is None or config.layers_of(kind) > 0
