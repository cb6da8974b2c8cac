"""Decodes one sentence with the chosen decoding method."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.decoding.beam import beam_search
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.decoding.loop import watched
from transformer.decoding.sampling import sample
from transformer.decoding.step import token_rank, top_candidates
from transformer.decoding.tree import search_tree
from transformer.model.kv_cache import DecoderCache
from transformer.model.transformer import Transformer
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.translation import LogitLens, SearchTree

LENS_CANDIDATES = 3


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The translation or continuation that a decoding method found.

    Attributes:
        tokens: token ids, including any end symbol.
        log_prob: sum of the tokens' log-probabilities, nats.
        complete: whether the last token is the end symbol.
        tree: search tree, if requested from beam search; None otherwise.
    """

    tokens: tuple[int, ...]
    log_prob: float
    complete: bool
    tree: SearchTree | None


def search(
    model: Transformer,
    cache: DecoderCache,
    settings: DecodingSettings,
    constraints: Constraints,
    *,
    limit: int,
    capture: bool,
) -> SearchResult:
    """Decode one sentence.

    Args:
        model: model in evaluation mode; call this function under `torch.inference_mode()`.
        cache: decoder cache from the model's `start_cache`, with a batch of 1.
        settings: decoding method and parameters.
        constraints: required and banned tokens.
        limit: maximum number of steps.
        capture: whether beam search returns a search tree.

    Raises:
        ValueError: no token satisfies the constraints.
    """
    if settings.method == "beam":
        # Drop the steps' distributions, which would take hundreds of megabytes for a vocabulary of 65,000 tokens.
        expansions = beam_search(
            model,
            cache,
            beam_size=settings.beam_size,
            length_penalty=settings.length_penalty,
            limit=limit,
            constraints=constraints,
            capture=capture,
        )
        expanded = [step.lean() for step in watched(expansions)]
        best = hypotheses(expanded, 1, limit=None if model.config.generation is None else limit)[0][0]
        return SearchResult(best.tokens, best.log_prob, best.ended, search_tree(expanded, best) if capture else None)
    if settings.method == "greedy":
        steps = greedy(model, cache, limit=limit, constraints=constraints)
    else:
        steps = sample(
            model,
            cache,
            seed=settings.seed,
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
            limit=limit,
            constraints=constraints,
        )
    taken = [(int(step.predicted), float(step.score)) for step in watched(steps)]
    tokens = tuple(token for token, _ in taken)
    return SearchResult(tokens, taken[-1][1], tokens[-1] == model.symbols.end, None)


def logit_lens(
    norm: nn.Module, generator: nn.Module, outputs: Sequence[Tensor], predicted: Tensor
) -> tuple[LogitLens, Tensor]:
    """Return every decoder layer's predictions, and the rank of each chosen token in the last layer's predictions.

    Args:
        norm, generator: the model's final norm and output layer, applied to every decoder layer's output.
        outputs: each decoder layer's output, [1, T, D].
        predicted: ids of the chosen tokens, [T].

    Returns:
        The predictions, and the ranks [T]; 1 is the most likely.
    """
    ids, log_probs, taken, ranks = [], [], [], predicted
    # Tensor shapes match those in the model, so the last layer's results are bitwise identical to the model's. Only one
    # layer's distributions over the vocabulary are in memory at a time.
    for output in outputs:
        distribution = generator(norm(output)[0]).float().log_softmax(dim=-1)
        candidates = top_candidates(distribution, LENS_CANDIDATES)
        ids.append(candidates.ids)
        log_probs.append(candidates.log_probs)
        taken.append(distribution.gather(-1, predicted[:, None]).squeeze(-1))
        ranks = token_rank(distribution, taken[-1])
    # L x [T, C] -> [L, T, C], and L x [T] -> [L, T].
    arrays = [torch.stack(parts).cpu().numpy() for parts in (ids, log_probs, taken)]
    return LogitLens(*arrays), ranks
