"""Beam search, which keeps the best few hypotheses at every step and prunes the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.step import Distribution, Step, predict, token_rank
from transformer.model.kv_cache import DecoderCache
from transformer.model.transformer import Transformer
from transformer.values.decoding_settings import LENGTH_PENALTY
from transformer.values.translation import HypothesisState


@dataclass(frozen=True, eq=False)
class BeamStep(Step):
    """One step of beam search: N hypotheses (rows) read one token each, and M expansions compete to extend them.

    Expansions of the same sentence are adjacent, best score first. Expansions that could never survive are not listed.
    The next step's rows are the expansions with fate ALIVE, in order.

    Attributes:
        score: as in `Step`; used to rank hypotheses. The `generate` settings of an imported model may change the
            log-probabilities before they are summed.
        sentence: batch index of each row's sentence, [N].
        parent: row that each expansion extends, [M].
        penalised: score divided by the length penalty, float64 [M].
        fate: `HypothesisState` of each expansion, [M].
        rank: rank of each expansion's token in the predicted distribution, [M]; 1 is the most likely. None if the
            search ran without `capture`.
    """

    sentence: Tensor
    parent: Tensor
    penalised: Tensor
    fate: Tensor
    rank: Tensor | None

    def lean(self) -> BeamStep:
        """Return a copy without the distribution over the vocabulary, which uses nearly all of a step's memory."""
        nothing = self.distribution.log_probs.new_empty(0)
        return replace(self, distribution=Distribution(nothing, self.distribution.attention))


def beam_search(
    model: Transformer,
    cache: DecoderCache,
    *,
    beam_size: int,
    limit: int,
    length_penalty: float = LENGTH_PENALTY,
    constraints: Constraints = UNCONSTRAINED,
    capture: bool = False,
) -> Iterator[BeamStep]:
    """Search for the best translations of B sentences in one batch.

    At each step, a sentence's `beam_size` best expansions without the end symbol stay live. An expansion with the end
    symbol ends its hypothesis if the expansion is among the `beam_size` best of all the sentence's expansions. Ended
    hypotheses do not count among the `beam_size` live ones. Expansions of one step have equal lengths, so the length
    penalty affects only comparisons between hypotheses that end at different steps.

    The search for a sentence stops after `limit` steps, or earlier in either of two cases:

    - No live hypothesis could overtake the best ended hypothesis, even if its remaining tokens had probability 1.
    - `beam_size` hypotheses have ended, and no live hypothesis currently scores higher than the best ended one.
      This rule and the pruning make the search inexact: a live hypothesis might still have overtaken the best one.

    For a model with `config.generation`, hypotheses end and are ranked as in Hugging Face's `generate`
    (`_GenerateEndRule`).

    Args:
        model, cache, limit, constraints, capture: as in `decode_loop`.
        beam_size, length_penalty: as in `DecodingSettings`; a beam size of 1 gives greedy decoding.

    Yields:
        One step per token, until the search for every sentence has stopped.

    Raises:
        ValueError: no token satisfies the constraints.
    """
    symbols = model.symbols
    batch_size = cache.batch_size
    generation = model.config.generation
    applied = constraints.applied(model.generator.out_features, [limit] * batch_size, symbols, cache.device, generation)
    ending_rule = _EndRule(batch_size, beam_size, limit, length_penalty)
    if generation is not None:
        ending_rule = _GenerateEndRule(batch_size, beam_size, limit, length_penalty, generation.early_stopping)
    read = cache.first_read(symbols.start)
    # Sentence index and score of each live hypothesis. These small arrays stay on the CPU. The scores are float64; see
    # `Step.score`.
    sentence = np.arange(batch_size)
    score = np.zeros(batch_size)
    for number in range(limit):
        _, distribution, cache = predict(model, read, cache, capture=capture)
        expansions = partial(_expansions, score=score, sentence=sentence, count=2 * beam_size)
        parent, token, total = applied.choose_(
            distribution.log_probs.clone(), number, expansions, tokens=lambda found: found[1].tolist()
        )
        owner = sentence[parent]
        penalised = total / ending_rule.divisor(number + 1)
        fate = _prune(owner, token == symbols.end, total, penalised, ending_rule, number + 1)
        live = fate == HypothesisState.ALIVE
        parents, tokens = (torch.from_numpy(each).to(read.device) for each in (parent, token))
        log_prob = distribution.log_probs[parents, tokens]
        yield BeamStep(
            read=read,
            distribution=distribution,
            predicted=torch.from_numpy(token),
            log_prob=log_prob.cpu(),
            score=torch.from_numpy(total),
            sentence=torch.from_numpy(sentence),
            parent=torch.from_numpy(parent),
            penalised=torch.from_numpy(penalised),
            fate=torch.from_numpy(fate),
            rank=token_rank(distribution.log_probs[parents], log_prob) if capture else None,
        )
        if not live.any():
            return
        applied.follow(parent[live].tolist(), token[live].tolist())
        cache = _continued(cache, parent[live], sentence)
        read = torch.from_numpy(token[live]).to(read.device)
        sentence, score = owner[live], total[live]


class _EndRule:
    """Decides when the search for a sentence ends, and computes the length penalty.

    Models with `generate` settings use `_GenerateEndRule` instead.

    Args:
        batch_size: number of sentences B.
        beam_size, limit, length_penalty: as in `beam_search`.
    """

    def __init__(self, batch_size: int, beam_size: int, limit: int, length_penalty: float) -> None:
        self.batch_size, self.beam_size, self.limit, self.length_penalty = batch_size, beam_size, limit, length_penalty
        # Penalised scores of each sentence's best finished hypotheses, in descending order, [B, beam_size].
        self.best = np.full((batch_size, beam_size), -np.inf)

    def divisor(self, length: int) -> float:
        """Return the length penalty, by which the score of a hypothesis with `length` tokens is divided."""
        return length_penalty_factor(length, self.length_penalty)

    def done(self, length: int, owner: np.ndarray, ended: np.ndarray, live: np.ndarray) -> np.ndarray:
        """Record the hypotheses that ended at a step, and return whether each sentence's search is done, bool [B].

        Args:
            length: number of tokens per hypothesis after the step.
            owner, ended: sentence and penalised score of each hypothesis that ended at the step.
            live: best score among each sentence's live hypotheses, without the length penalty, [B].
        """
        for sentence, score in zip(owner, ended, strict=True):
            kept = np.append(self.best[sentence], score)
            self.best[sentence] = np.sort(kept)[:0:-1]
        return self._done(length, live)

    def _done(self, length: int, live: np.ndarray) -> np.ndarray:
        best, full = self.best[:, 0], np.isfinite(self.best[:, -1])
        return (live / self.divisor(self.limit) <= best) | (full & (live / self.divisor(length) <= best))


class _GenerateEndRule(_EndRule):
    """End rule of Hugging Face's `generate`, whose length penalty is length^alpha.

    Args:
        batch_size, beam_size, limit, length_penalty: as in `_EndRule`.
        early_stopping: as in `transformer.generation.Generation`.
    """

    def __init__(
        self, batch_size: int, beam_size: int, limit: int, length_penalty: float, early_stopping: bool | str
    ) -> None:
        super().__init__(batch_size, beam_size, limit, length_penalty)
        self.early_stopping = early_stopping

    def divisor(self, length: int) -> float:
        return length**self.length_penalty

    def _done(self, length: int, live: np.ndarray) -> np.ndarray:
        full = np.isfinite(self.best[:, -1])
        if self.early_stopping is True:
            return full
        longest = self.limit if self.early_stopping == "never" else length
        return full & (live / self.divisor(longest) <= self.best[:, -1])


def length_penalty_factor(length: int, length_penalty: float = LENGTH_PENALTY) -> float:
    """Return the length penalty ((5 + length) / 6)^alpha (Wu et al. 2016, "Google's Neural Machine Translation System",
    section 7, equation 14).

    Args:
        length: number of predicted tokens, including the end symbol.
        length_penalty: exponent alpha; 0 means no penalty, and larger values favour long hypotheses.
    """
    return ((5 + length) / 6) ** length_penalty


def _expansions(logits: Tensor, score: np.ndarray, sentence: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """Return the `count` most likely expansions of every row, sorted by sentence and then by score, best first.

    A count of twice the beam size is enough: at most one expansion per row ends, so the rest can still fill the beam.

    Returns:
        Parent row, token id, and total score of each expansion.
    """
    log_prob, token = (part.cpu().numpy() for part in logits.topk(min(count, logits.shape[-1]), dim=-1))
    parent = np.arange(len(sentence)).repeat(token.shape[1])
    allowed = np.isfinite(log_prob).ravel()
    parent, token, log_prob = (part[allowed] for part in (parent, token.ravel(), log_prob.ravel()))
    total = score[parent] + log_prob
    order = np.lexsort((token, parent, -total, sentence[parent]))
    return parent[order], token[order], total[order]


def _prune(
    owner: np.ndarray, ending: np.ndarray, total: np.ndarray, penalised: np.ndarray, ending_rule: _EndRule, length: int
) -> np.ndarray:
    """Prune the M expansions to the beam size, and return the `HypothesisState` of each, [M].

    Args:
        owner: sentence of each expansion [M]; expansions of a sentence are adjacent, best score first.
        ending: whether each expansion's token is the end symbol [M].
        total, penalised: score of each expansion, without and with the length penalty [M].
        ending_rule: decides which sentences are done, and records the ended hypotheses.
        length: number of tokens in each expansion.
    """
    ended = ending & (_place(owner) < ending_rule.beam_size)
    going_on = np.zeros_like(ended)
    going_on[~ending] = _place(owner[~ending]) < ending_rule.beam_size

    best_live = np.full(ending_rule.batch_size, -np.inf)
    np.maximum.at(best_live, owner[going_on], total[going_on])
    done = ending_rule.done(length, owner[ended], penalised[ended], best_live) | (length == ending_rule.limit)

    fate = np.full(len(owner), HypothesisState.PRUNED)
    fate[ended] = HypothesisState.ENDED
    fate[going_on] = np.where(done[owner[going_on]], HypothesisState.UNFINISHED, HypothesisState.ALIVE)
    return fate


def _place(owner: np.ndarray) -> np.ndarray:
    """Return each element's index within its run of equal values; `owner` must be sorted."""
    return np.arange(len(owner)) - np.searchsorted(owner, owner)


def _continued(cache: DecoderCache, parent: np.ndarray, sentence: np.ndarray) -> DecoderCache:
    """Return the cache for new rows that extend the old rows `parent`; `sentence` maps old rows to sentences."""
    parents = torch.from_numpy(parent).to(cache.device)
    if not np.array_equal(sentence[parent], sentence):
        return cache.select(parents)
    # Every row keeps its sentence, so the source's keys and values, which are most of the cache, are not copied. If
    # every new row also extends the old row at the same index, nothing is copied.
    return cache if np.array_equal(parent, np.arange(len(parent))) else cache.select_past(parents)
