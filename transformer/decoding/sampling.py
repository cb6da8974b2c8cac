"""Sampling of the next token from the model's distribution, with temperature, top-k and top-p."""

from collections.abc import Iterator

import torch
from torch import Tensor

from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.loop import decode_loop
from transformer.decoding.step import Step
from transformer.model.kv_cache import DecoderCache
from transformer.model.transformer import Transformer


def sample(
    model: Transformer,
    cache: DecoderCache,
    *,
    limit: int,
    seed: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    constraints: Constraints = UNCONSTRAINED,
    capture: bool = False,
) -> Iterator[Step]:
    """Sample each token from the model's distribution after applying temperature, top-k and top-p, in this order.

    Args:
        model, cache, limit, constraints, capture: as in `decode_loop`.
        seed: random seed; batch row b uses seed + b, so a sample does not depend on other rows or on the device. Each
            step draws one random number, even within a forced prefix. Forcing tokens that would have been sampled
            anyway therefore changes nothing. If a token would leave a character incomplete, it is rejected, and another
            one is sampled without a new draw. Its random number is the relative position of the drawn number within the
            rejected token's interval of cumulative probability.
        temperature, top_k, top_p: as in `DecodingSettings`.

    Raises:
        ValueError: no token satisfies the constraints.
    """
    generators = [torch.Generator().manual_seed(seed + row) for row in range(cache.batch_size)]

    # Relative position of each row's last random number within the sampled token's interval of cumulative probability.
    # This position is also uniformly distributed, so `again` uses it as a random number.
    place = torch.zeros(cache.batch_size, dtype=torch.float64)

    def truncated(logits: Tensor) -> Tensor:
        logits = tempered(logits, temperature)
        if top_k:
            logits = truncated_to_count(logits, top_k)
        return truncated_to_mass(logits, top_p) if top_p < 1 else logits

    def choose(logits: Tensor) -> Tensor:
        nonlocal place
        uniform = torch.stack([torch.rand((), generator=generator) for generator in generators])
        tokens, place = drawn(truncated(logits), uniform)
        return tokens

    def again(logits: Tensor) -> Tensor:
        return drawn(truncated(logits), place)[0]

    return decode_loop(model, cache, choose, again=again, limit=limit, constraints=constraints, capture=capture)


def tempered(logits: Tensor, temperature: float) -> Tensor:
    """Divide logits [..., V] by the temperature, after subtracting each row's maximum to prevent overflow.

    Excluded tokens (minus infinity) stay excluded. Each row must have at least one token that is not excluded.
    """
    return (logits - logits.max(dim=-1, keepdim=True).values) / temperature


def truncated_to_count(logits: Tensor, count: int) -> Tensor:
    """In each row of the logits [..., V], set all but the `count` largest to minus infinity.

    This is top-k sampling (Fan et al. 2018, "Hierarchical Neural Story Generation"). Among equal logits, those with the
    lowest ids are kept, as in greedy decoding.
    """
    order = logits.argsort(dim=-1, descending=True, stable=True)
    return logits.scatter(-1, order[..., count:], float("-inf"))


def truncated_to_mass(logits: Tensor, mass: float) -> Tensor:
    """Set logits [..., V] to minus infinity, except for each row's most likely tokens up to a total probability `mass`.

    This is top-p or nucleus sampling (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section
    3.1). The last token kept is the one at which the sum of probabilities reaches `mass`, so at least one remains.
    """
    probs, order = logits.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    beyond = probs.cumsum(dim=-1) - probs >= mass
    return logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))


def drawn(logits: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Sample a token for each row by inverse transform sampling.

    Args:
        logits: logits [N, V].
        uniform: uniform random numbers in [0, 1), [N].

    Returns:
        The tokens, [N], at which the cumulative distribution of softmax(logits) first exceeds `uniform`. Also each
        random number's relative position within its token's interval, float64 [N], which is uniform in [0, 1).
    """
    # Use float64, because float32 rounding errors add up over thousands of tokens. Use the CPU, because some devices
    # lack float64.
    cumulative = logits.cpu().double().softmax(dim=-1).cumsum(dim=-1)
    threshold = uniform[:, None].double() * cumulative[:, -1:]
    tokens = torch.searchsorted(cumulative, threshold, right=True)
    after = cumulative.gather(-1, tokens)
    before = cumulative.gather(-1, (tokens - 1).clamp_min(0)).masked_fill(tokens == 0, 0.0)
    place = ((threshold - before) / (after - before)).clamp(0.0, 1.0 - 2**-24)
    return tokens.squeeze(-1).to(logits.device), place.squeeze(-1)
