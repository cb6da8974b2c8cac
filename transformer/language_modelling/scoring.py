"""The probability of a text: the product of the probabilities of each token given the tokens before it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from transformer.errors import TextError
from transformer.model.transformer import Transformer
from transformer.text.normalisation import replace_surrogates
from transformer.text.vocabulary import TextVocabulary
from transformer.values.tokens import Token


@dataclass(frozen=True, eq=False)
class TextScore:
    """The log-probabilities that a language model gives a text.

    Attributes:
        text: as typed, except for halves of surrogate pairs (`transformer.text.normalisation.replace_surrogates`).
        tokens: of the text, N.
        log_probs: log p(w_j | start symbol, w_1 .. w_j-1), nats, float64 [N].
    """

    text: str
    tokens: tuple[Token, ...]
    log_probs: np.ndarray

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole text, nats: the logarithm of the product of all probabilities."""
        return float(self.log_probs.sum())

    @property
    def probability(self) -> float:
        """The product of all probabilities; 0 if it is too small for a float."""
        return math.exp(self.log_prob)

    @property
    def perplexity(self) -> float:
        """The number of equally likely tokens among which the model would be as uncertain, exp(-log_prob / N)."""
        return math.exp(-self.log_prob / len(self.tokens))

    @property
    def words(self) -> int:
        """The number of words between white space."""
        return len(self.text.split())

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of the text in UTF-8, which do not depend on the vocabulary."""
        return -self.log_prob / math.log(2) / len(self.text.encode())


def score_text(model: Transformer, tokenizer: TextVocabulary, text: str) -> TextScore:
    """Score a text that a language model reads after the start symbol.

    Args:
        model: in evaluation mode.
        tokenizer: model tokenizer.
        text: at least one character; its end is not scored.

    Raises:
        TextError: the text is empty, or has more tokens than the model has learned positions.
    """
    text = replace_surrogates(text)
    tokens = tokenizer.encode(text, end=False)
    if not tokens:
        raise TextError("There is no text: type at least one character.")
    ids = torch.tensor([token.id for token in tokens], device=model.device)
    read = torch.cat([ids.new_tensor([model.symbols.start]), ids[:-1]])
    with torch.inference_mode():
        log_probs = model(None, read[None])[0].double().log_softmax(dim=-1)
    token_log_probs = log_probs.gather(-1, ids[:, None]).squeeze(-1)  # [N, V] -> [N]
    return TextScore(text, tokens, token_log_probs.cpu().numpy())
