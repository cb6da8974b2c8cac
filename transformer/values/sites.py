"""Sites: the points in a model where a run can read and change a value, and the shapes of these values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transformer.errors import InterventionError
from transformer.values.kinds import KINDS

if TYPE_CHECKING:
    from torch import Tensor

    from transformer.config import TransformerConfig

# Function of a site's value x, the layer index and the position of the first query (see docs/hooks.md). It returns
# the value to use instead of x, or None to keep x.
HookFunction = Callable[["Tensor", int, int], "Tensor | None"]
# One or more functions by site, such as "decoder.residual", or by site and 0-based layer, such as "decoder.residual.2".
# Several functions at a site run in order.
HookFunctions = Mapping[str, HookFunction | Sequence[HookFunction]]

# Letters in the shapes: B texts, T queries, S keys, D model width, F width of the feed-forward network, H heads,
# K head width, V vocabulary. For the encoder, T is the number of source tokens.
IN_EACH_STACK = {
    "embedding": ("[B, T, D]", "the embeddings with positions: the residual stream before the first layer"),
    "self_attention_input": ("[B, T, D]", "the input of self-attention, normalised if the model is pre-norm"),
    "self_attention": ("[B, T, D]", "the output of self-attention, after the output projection"),
    "after_self_attention": ("[B, T, D]", "the residual stream after self-attention"),
    "feed_forward_input": ("[B, T, D]", "the input of the feed-forward network, normalised if the model is pre-norm"),
    "feed_forward_pre_activation": ("[B, T, F]", "the hidden layer of the feed-forward network, before the activation"),
    "feed_forward_hidden": ("[B, T, F]", "the hidden layer of the feed-forward network, after the activation"),
    "feed_forward": ("[B, T, D]", "the output of the feed-forward network"),
    "residual": ("[B, T, D]", "the residual stream after the layer"),
    "stack_output": ("[B, T, D]", "the output of the stack, after any final norm"),
}
IN_EACH_ATTENTION = {
    "queries": ("[B, H, T, K]", "the queries, rotated if the model has rotary positions"),
    "keys": ("[B, H, S, K]", "the keys of all positions read so far, rotated like the queries"),
    "values": ("[B, H, S, K]", "the values of all positions read so far"),
    "scores": ("[B, H, T, S]", "queries times keys divided by sqrt(K), with position biases, before the mask"),
    "weights": ("[B, H, T, S]", "the attention weights: the softmax of the scores that the mask allows"),
    "outputs": ("[B, H, T, K]", "each head's weights times values, before the heads are concatenated"),
}
# Shape and meaning of each site, by name.
SITES: Mapping[str, tuple[str, str]] = {
    **{f"{stack}.{name}": entry for stack in ("encoder", "decoder") for name, entry in IN_EACH_STACK.items()},
    "decoder.cross_attention_input": ("[B, T, D]", "the input of cross-attention, normalised if the model is pre-norm"),
    "decoder.cross_attention": ("[B, T, D]", "the output of cross-attention, after the output projection"),
    "decoder.after_cross_attention": ("[B, T, D]", "the residual stream after cross-attention"),
    "decoder.logits": ("[B, T, V]", "a score for each possible next token, before the softmax"),
    **{f"{kind}.{name}": entry for kind in KINDS for name, entry in IN_EACH_ATTENTION.items()},
}
OUTSIDE_LAYERS = ("embedding", "stack_output", "logits")


def check_sites(names: Iterable[str], config: TransformerConfig | None = None) -> None:
    """Check that each name is one of the model's sites, alone or followed by the index of one of the model's layers.

    If `config` is None, the sites of all models are accepted.

    Raises:
        InterventionError: a name is invalid.
    """
    for name in names:
        site, layer = split_site(name)
        if site not in SITES or not _has(config, site):
            sites = ", ".join(site for site in SITES if _has(config, site))
            raise InterventionError(f"unknown site {name!r}: the sites{' of this model' if config else ''} are {sites}")
        if layer and site.endswith(OUTSIDE_LAYERS):
            raise InterventionError(f"{site} is outside the layers: leave out {layer!r} in {name!r}")
        if layer and config is not None and int(layer) >= config.layers_of(_kind(site)):
            raise InterventionError(f"{name!r} does not exist: the last layer is {config.layers_of(_kind(site)) - 1}")


def check_hooks(hooks: HookFunctions) -> None:
    """Check that each site exists in some model, and that each function takes a value, a layer and a start position.

    Raises:
        InterventionError: a site or a function is invalid.
    """
    check_sites(hooks)
    for site in hooks:
        for function in functions_at(site, hooks):
            if not callable(function):
                raise InterventionError(f"the hook at {site} must be a function, not {function!r}")
            try:
                inspect.signature(function).bind(None, 0, 0)
            except ValueError:
                continue  # Python does not know the parameters of some built-in functions.
            except TypeError as error:
                raise InterventionError(
                    f"the hook at {site} must take the value, the layer and the position of the first query: {error}"
                ) from None


def functions_at(site: str, hooks: HookFunctions) -> Sequence[HookFunction]:
    """Return the functions at a site, in the order in which they run."""
    functions = hooks[site]
    return functions if isinstance(functions, Sequence) else (functions,)


def split_site(name: str) -> tuple[str, str]:
    """Return the site and the layer in a name; the layer is empty if the name has none."""
    site, _, layer = name.rpartition(".")
    return (site, layer) if layer.isdecimal() and layer == str(int(layer)) else (name, "")


def _has(config: TransformerConfig | None, site: str) -> bool:
    return config is None or config.layers_of(_kind(site)) > 0


def _kind(site: str) -> Any:
    return "cross" if "cross_attention" in site else site.partition(".")[0]
