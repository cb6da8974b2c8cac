"""A text's probability: the product of its tokens' probabilities, each given all previous tokens."""

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
    """Log-probabilities that a language model assigns to a text.

    Attributes:
        text: text as typed, with unpaired surrogates replaced (`transformer.text.normalisation.replace_surrogates`).
        tokens: N tokens of the text.
        log_probs: log p(w_j | start symbol, w_1 .. w_j-1), nats, float64 [N].
    """

    text: str
    tokens: tuple[Token, ...]
    log_probs: np.ndarray

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole text, nats."""
        return float(self.log_probs.sum())

    @property
    def probability(self) -> float:
        """Probability of the whole text; 0 if it is too small for a float."""
        return math.exp(self.log_prob)

    @property
    def perplexity(self) -> float:
        """Perplexity, exp(-log_prob / N)."""
        return math.exp(-self.log_prob / len(self.tokens))

    @property
    def words(self) -> int:
        """Number of words, split at white space."""
        return len(self.text.split())

    @property
    def bits_per_byte(self) -> float:
        """Negative log-probability in bits per UTF-8 byte, comparable between vocabularies."""
        return -self.log_prob / math.log(2) / len(self.text.encode())


def score_text(model: Transformer, tokenizer: TextVocabulary, text: str) -> TextScore:
    """Score a text that a language model reads after the start symbol.

    Args:
        model: model in evaluation mode.
        tokenizer: the model's tokenizer.
        text: text of at least one character; the end symbol is not scored.

    Raises:
        TextError: the text is empty, or has more tokens than the model's learned positions allow.
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
