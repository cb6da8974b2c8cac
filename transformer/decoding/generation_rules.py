"""Applies an imported model's Hugging Face `generate` settings to the scores at each decoding step."""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.generation import Generation
from transformer.text.vocabulary import Symbols

NEVER = float("-inf")


class GenerationRules:
    """Applies `generate` settings, such as the repetition penalty and banned words, during one search.

    `apply_` changes a step's scores, which have one row for each live hypothesis.

    Args:
        settings: the model's `generate` settings.
        symbols: special tokens of the model's vocabulary.
        batch_size: number of texts in the batch.
        forced: length of the forced prefix, in tokens.
    """

    def __init__(self, settings: Generation, symbols: Symbols, batch_size: int, forced: int) -> None:
        self.settings = settings
        self._end, self._forced = symbols.end, forced
        self._read = [[symbols.start] for _ in range(batch_size)]
        single = [word[0] for word in settings.bad_words_ids if len(word) == 1 and word[0] != symbols.end]
        self._suppressed = [*settings.suppress_tokens, *single]
        self._sequences = [word for word in settings.bad_words_ids if len(word) > 1]

    def apply_(self, scores: Tensor, step: int) -> Tensor:
        """Modify a step's scores [N, V] in place. Scores are log-probabilities in beam search, otherwise logits."""
        settings = self.settings
        if not settings.changes_scores:
            return scores
        at_limit = settings.limit == step + 1 and settings.forced_eos_token_id is not None
        for row, read in enumerate(self._read):
            self._change_(scores[row], read)
        if self._suppressed:
            scores[:, self._suppressed] = NEVER
        if step < settings.least:
            scores[:, self._end] = NEVER
        if step == self._forced and settings.begin_suppress_tokens:
            scores[:, list(settings.begin_suppress_tokens)] = NEVER
        if at_limit:
            scores.fill_(NEVER)
            scores[:, settings.forced_eos_token_id] = 0.0
        return scores.copy_(scores.log_softmax(dim=-1)) if settings.renormalize_logits else scores

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Update the rows for the next step: new row i extends old row `parents[i]` by the token `tokens[i]`."""
        self._read = [[*self._read[row], token] for row, token in zip(parents, tokens, strict=True)]

    def _change_(self, scores: Tensor, read: list[int]) -> None:
        """Penalise or ban tokens in one row's scores [V], in place, depending on the tokens already in the row."""
        if (penalty := self.settings.repetition_penalty) != 1:
            ids = torch.tensor(sorted(set(read)), device=scores.device)
            seen = scores[ids]
            scores[ids] = torch.where(seen < 0, seen * penalty, seen / penalty)
        banned = [word[-1] for word in self._sequences if tuple(read[1 - len(word) :]) == word[:-1]]
        if size := self.settings.no_repeat_ngram_size:
            last = read[len(read) - size + 1 :]
            banned += [read[at + size - 1] for at in range(len(read) - size + 1) if read[at : at + size - 1] == last]
        if banned:
            scores[banned] = NEVER
