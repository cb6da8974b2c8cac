"""Beam search: at every step it keeps the few best hypotheses and prunes the rest."""

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
from transformer.values.decoding_settings import LENGTH_PENALTY, MAX_BEAM_SIZE, MAX_LENGTH_PENALTY
from transformer.values.translation import HypothesisState


@dataclass(frozen=True, eq=False)
class BeamStep(Step):
    """One step of a beam search: N hypotheses read one token each, and M expansions compete to continue them.

    The expansions of a sentence are adjacent, best score first. Only the expansions of a hypothesis that could survive
    are listed; all others are pruned. The N rows of the next step are the expansions with fate ALIVE, in this order.

    Attributes:
        score: as in `Step`; for an imported model, the sum of the scores after the changes that its settings of
            `generate` make. Hypotheses are ranked by it.
        sentence: index in the batch of each row's sentence, [N].
        parent: the row that each expansion continues, [M].
        penalised: score divided by the length penalty, float64 [M].
        fate: `HypothesisState` of each expansion, [M].
        rank: rank of each expansion's token in its parent's distribution, [M]; 1 is the most likely. None unless
            captured.
    """

    sentence: Tensor
    parent: Tensor
    penalised: Tensor
    fate: Tensor
    rank: Tensor | None

    def lean(self) -> BeamStep:
        """The step without the distribution over the vocabulary, which takes nearly all of its memory."""
        nothing = self.distribution.log_probs.new_empty(0)
        return replace(self, distribution=Distribution(nothing, self.distribution.rows))


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

    At each step, the `beam_size` best expansions of a sentence's live hypotheses without the end symbol continue. An
    expansion with the end symbol ends its hypothesis if it is among the `beam_size` best of all expansions. It does not
    take the place of another. All expansions of a step have the same length. The length penalty therefore only decides
    between hypotheses that end at different steps.

    A sentence is done in either of two cases:

    - No live hypothesis could overtake the best ended one, even if all its further tokens were certain.
    - `beam_size` hypotheses have ended, and no live one currently scores higher than the best of them. A longer one
      might still overtake it. Because of this, and because of pruning, the search is not exact.

    For a model with `config.generation`, hypotheses end and are ranked as in Hugging Face's `generate`
    (`_GenerateEndRule`).

    Args:
        model, cache, limit, constraints, capture: as in `decode_loop`.
        beam_size, length_penalty: as in `DecodingSettings`; a beam of 1 is greedy decoding.

    Yields:
        A step for each token, until every sentence is done.

    Raises:
        ValueError: a setting is out of range, or the constraints cannot be followed.
    """
    if not 1 <= beam_size <= MAX_BEAM_SIZE:
        raise ValueError(f"beam_size must be 1 to {MAX_BEAM_SIZE}, not {beam_size}")
    if not 0 <= length_penalty <= MAX_LENGTH_PENALTY:
        raise ValueError(f"length_penalty must be 0 to {MAX_LENGTH_PENALTY}, not {length_penalty}")
    symbols = model.symbols
    sentences = cache.sentences
    generation = model.config.generation
    applied = constraints.applied(model.generator.out_features, [limit] * sentences, symbols, cache.device, generation)
    ending_rule = _EndRule(sentences, beam_size, limit, length_penalty)
    if generation is not None:
        ending_rule = _GenerateEndRule(sentences, beam_size, limit, length_penalty, generation.early_stopping)
    read = cache.first_read(symbols.start)
    # A row is a live hypothesis: the sentence that it belongs to, and the sum of its log-probabilities. These small
    # arrays stay on the CPU, in float64; see `Step.score`.
    sentence = np.arange(sentences)
    score = np.zeros(sentences)
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
        rows, tokens = (torch.from_numpy(each).to(read.device) for each in (parent, token))
        log_prob = distribution.log_probs[rows, tokens]
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
            rank=token_rank(distribution.log_probs[rows], log_prob) if capture else None,
        )
        if not live.any():
            return
        applied.follow(parent[live].tolist(), token[live].tolist())
        cache = _continued(cache, parent[live], sentence)
        read = torch.from_numpy(token[live]).to(read.device)
        sentence, score = owner[live], total[live]


class _EndRule:
    """When the search for a sentence ends, and by what scores are divided. Without `generate`, these rules apply.

    Args:
        sentences: number of sentences B.
        beam_size, limit, length_penalty: as in `beam_search`.
    """

    def __init__(self, sentences: int, beam_size: int, limit: int, length_penalty: float) -> None:
        self.sentences, self.beam_size, self.limit, self.length_penalty = sentences, beam_size, limit, length_penalty
        # The best scores of ended hypotheses, best first, [B, beam_size].
        self.best = np.full((sentences, beam_size), -np.inf)

    def divisor(self, length: int) -> float:
        """The divisor of the score of a hypothesis of `length` tokens."""
        return length_penalty_factor(length, self.length_penalty)

    def done(self, length: int, owner: np.ndarray, ended: np.ndarray, live: np.ndarray) -> np.ndarray:
        """Whether the search for each sentence is done after a step, bool [B].

        Args:
            length: number of tokens after the step.
            owner, ended: sentence and penalised score of each hypothesis that ended at this step.
            live: the best score among each sentence's live hypotheses, [B].
        """
        for sentence, score in zip(owner, ended, strict=True):
            kept = np.append(self.best[sentence], score)
            self.best[sentence] = np.sort(kept)[:0:-1]
        return self._done(length, live)

    def _done(self, length: int, live: np.ndarray) -> np.ndarray:
        best, full = self.best[:, 0], np.isfinite(self.best[:, -1])
        return (live / self.divisor(self.limit) <= best) | (full & (live / self.divisor(length) <= best))


class _GenerateEndRule(_EndRule):
    """The rule of Hugging Face's `generate`, which divides a score by length^alpha.

    Args:
        sentences, beam_size, limit, length_penalty: as in `_EndRule`.
        early_stopping: as in `transformer.generation.Generation`.
    """

    def __init__(
        self, sentences: int, beam_size: int, limit: int, length_penalty: float, early_stopping: bool | str
    ) -> None:
        super().__init__(sentences, beam_size, limit, length_penalty)
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
    """The divisor of a score, ((5 + length) / 6)^alpha (Wu et al. 2016, "Google's Neural Machine Translation System",
    section 7, equation 14).

    Args:
        length: number of tokens predicted, the end symbol included.
        length_penalty: the exponent alpha; 0 means no penalty, larger values favour long hypotheses.
    """
    return ((5 + length) / 6) ** length_penalty


def _expansions(logits: Tensor, score: np.ndarray, sentence: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """The `count` most likely continuations of every row, sorted by sentence and then by score, best first.

    Twice the beam size is enough, because at most half of the continuations end, one per row, and the others fill the
    beam.

    Returns:
        For each continuation: parent, token, and the score that includes it.
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
    """The state of each of M expansions, `HypothesisState` [M], after the beam is pruned to its size.

    Args:
        owner: the sentence of each expansion [M]; those of a sentence are adjacent, best score first.
        ending: whether each expansion ends with the end symbol [M].
        total, penalised: the score of each expansion, and that score over the length penalty [M].
        ending_rule: decides which searches are done, and records the hypotheses that ended.
        length: number of tokens of each expansion.
    """
    ended = ending & (_place(owner) < ending_rule.beam_size)
    going_on = np.zeros_like(ended)
    going_on[~ending] = _place(owner[~ending]) < ending_rule.beam_size

    best_live = np.full(ending_rule.sentences, -np.inf)
    np.maximum.at(best_live, owner[going_on], total[going_on])
    done = ending_rule.done(length, owner[ended], penalised[ended], best_live) | (length == ending_rule.limit)

    fate = np.full(len(owner), HypothesisState.PRUNED)
    fate[ended] = HypothesisState.ENDED
    fate[going_on] = np.where(done[owner[going_on]], HypothesisState.UNFINISHED, HypothesisState.ALIVE)
    return fate


def _place(owner: np.ndarray) -> np.ndarray:
    """Index of each element within its group; groups are adjacent and in ascending order."""
    return np.arange(len(owner)) - np.searchsorted(owner, owner)


def _continued(cache: DecoderCache, parent: np.ndarray, sentence: np.ndarray) -> DecoderCache:
    """The cache of the hypotheses that continue the rows `parent`; `sentence` is the sentence of each old row."""
    rows = torch.from_numpy(parent).to(cache.device)
    if not np.array_equal(sentence[parent], sentence):
        return cache.select(rows)
    # Every row keeps its sentence, so the keys and values of the source need no copy; they are the larger part. Often
    # every row also continues itself, and nothing needs a copy.
    return cache if np.array_equal(parent, np.arange(len(parent))) else cache.select_past(rows)
