"""Beam search: the few best hypotheses side by side, the rest pruned at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.step import Step, predict, rank
from transformer.model import DecoderCache, Transformer
from transformer.tokenizer import END, START

MAX_SIZE = 10
# "Attention Is All You Need", section 6.1.
ALPHA = 0.6
MAX_ALPHA = 10.0


class Fate(IntEnum):
    """What became of a hypothesis when one more piece was taken."""

    PRUNED = 0
    KEPT = 1
    ENDED = 2
    # Good enough to go on, but the search was over.
    UNFINISHED = 3


@dataclass(frozen=True, eq=False)
class BeamStep(Step):
    """N hypotheses that read one piece each, and the M expansions that competed to continue them.

    The expansions of a sentence stand together, best score first. Each hypothesis has as many as could survive, so
    all that are not here were pruned too. The N rows of the next step are the expansions that were kept, in this
    order.

    Attributes:
        sentence: which of the batch each row belongs to, [N].
        parent: the row that each expansion continues, [M].
        penalised: score over the length penalty, float64 [M].
        fate: `Fate` of each expansion, [M].
    """

    sentence: Tensor
    parent: Tensor
    penalised: Tensor
    fate: Tensor

    @property
    def rank(self) -> Tensor:
        """Place of each expansion's piece among all that its parent could say, [M]; 1 is the likeliest."""
        log_probs = self.distribution.log_probs
        return rank(log_probs[self.parent.to(log_probs.device)], self.log_prob.to(log_probs.device))


def beam_search(
    model: Transformer,
    memory: Tensor,
    source_real: Tensor | None,
    *,
    size: int,
    limit: int,
    alpha: float = ALPHA,
    constraints: Constraints = UNCONSTRAINED,
    capture: bool = False,
) -> Iterator[BeamStep]:
    """Search for the best translations of B sentences side by side.

    At each step, of all expansions of a sentence's live hypotheses, the `size` best that go on are kept. One with the
    end symbol ends if it is among the `size` best of all; it takes no other's place. All expansions of a step have the
    same length, so the length penalty decides nothing here, only between hypotheses that ended at different steps.

    A sentence is done when no live hypothesis could overtake the best ended one even if all its further pieces were
    certain; or when `size` have ended and none that lives is ahead of the best of them as it stands (a longer one might
    still come to be: this is where the search is not exact, besides pruning).

    Args:
        model: in evaluation mode; call under `torch.inference_mode()`.
        memory, source_real, limit, constraints, capture: as in `walk`.
        size: hypotheses to keep for each sentence, 1 to MAX_SIZE; 1 is greedy decoding.
        alpha: of the length penalty, 0 to MAX_ALPHA; 0 for none.

    Yields:
        A step for each piece, until every sentence is done.

    Raises:
        ValueError: a setting is out of range, or the constraints cannot be followed.
    """
    if not 1 <= size <= MAX_SIZE:
        raise ValueError(f"the beam's size must be 1 to {MAX_SIZE}, not {size}")
    if not 0 <= alpha <= MAX_ALPHA:
        raise ValueError(f"the length penalty's alpha must be 0 to {MAX_ALPHA}, not {alpha}")
    constraints.check(model.config.target_vocabulary, limit)
    cache = model.begin(memory, source_real)
    read = torch.full((len(memory),), START, device=memory.device)
    # A row is a live hypothesis; its sentence, and the sum of its log-probabilities. These small arrays stay on the
    # CPU, in float64; see `Step.score`.
    sentence = np.arange(len(memory))
    score = np.zeros(len(memory))
    ended_count = np.zeros(len(memory), dtype=np.int64)
    best_ended = np.full(len(memory), -np.inf)
    for number in range(limit):
        began = perf_counter()
        distribution, cache = predict(model, read, cache, capture=capture)
        logits = constraints.apply(distribution.log_probs, number)

        parent, piece, log_prob, total = _expansions(logits, score, sentence, 2 * size)
        owner = sentence[parent]
        ending = piece == END
        ended = ending & (_place(owner) < size)
        kept = np.zeros_like(ended)
        kept[~ending] = _place(owner[~ending]) < size

        penalised = total / length_penalty(number + 1, alpha)
        np.add.at(ended_count, owner[ended], 1)
        np.maximum.at(best_ended, owner[ended], penalised[ended])
        best_live = np.full(len(memory), -np.inf)
        np.maximum.at(best_live, owner[kept], total[kept])
        done = best_live / length_penalty(limit, alpha) <= best_ended
        done |= (ended_count >= size) & (best_live / length_penalty(number + 1, alpha) <= best_ended)
        done |= number + 1 == limit

        fate = np.full(len(parent), Fate.PRUNED)
        fate[ended] = Fate.ENDED
        fate[kept] = np.where(done[owner[kept]], Fate.UNFINISHED, Fate.KEPT)
        going_on = fate == Fate.KEPT
        yield BeamStep(
            read=read,
            distribution=distribution,
            logits=logits,
            predicted=torch.from_numpy(piece),
            log_prob=torch.from_numpy(log_prob),
            score=torch.from_numpy(total),
            seconds=perf_counter() - began,
            sentence=torch.from_numpy(sentence),
            parent=torch.from_numpy(parent),
            penalised=torch.from_numpy(penalised),
            fate=torch.from_numpy(fate),
        )
        if not going_on.any():
            return
        cache = _continued(cache, parent[going_on], sentence)
        read = torch.from_numpy(piece[going_on]).to(read.device)
        sentence, score = owner[going_on], total[going_on]


def length_penalty(length: int, alpha: float = ALPHA) -> float:
    """((5 + length) / 6)^alpha, by which a score is divided (Wu et al. 2016, "Google's Neural Machine Translation
    System", section 7, equation 14).

    Args:
        length: pieces predicted, the end symbol included.
        alpha: 0 for no penalty; the larger, the better long hypotheses do.
    """
    return ((5 + length) / 6) ** alpha


def _expansions(logits: Tensor, score: np.ndarray, sentence: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """The `count` likeliest continuations of every row, sorted by sentence and then by score, best first.

    Twice the beam's size is enough: of that many best of a sentence at most half end, one a row, so that those which
    go on fill the beam.

    Returns:
        parent, piece, log-probability, and score with it, of each.
    """
    log_prob, piece = (part.cpu().numpy() for part in logits.topk(min(count, logits.shape[-1]), dim=-1))
    parent = np.arange(len(sentence)).repeat(piece.shape[1])
    allowed = np.isfinite(log_prob).ravel()
    parent, piece, log_prob = (part[allowed] for part in (parent, piece.ravel(), log_prob.ravel()))
    total = score[parent] + log_prob
    order = np.lexsort((piece, parent, -total, sentence[parent]))
    return parent[order], piece[order], log_prob[order], total[order]


def _place(owner: np.ndarray) -> np.ndarray:
    """How many stand before each one within its own group, for groups that stand together in ascending order."""
    return np.arange(len(owner)) - np.searchsorted(owner, owner)


def _continued(cache: DecoderCache, parent: np.ndarray, sentence: np.ndarray) -> DecoderCache:
    """The cache of hypotheses that continue the rows `parent`, which belonged to `sentence` row by row."""
    rows = torch.from_numpy(parent).to(cache.past[0].keys.device)
    if not np.array_equal(sentence[parent], sentence):
        return cache.select(rows)
    # The source's keys and values, the larger part, can stay; often everything can.
    return cache if np.array_equal(parent, np.arange(len(parent))) else cache.select_past(rows)
