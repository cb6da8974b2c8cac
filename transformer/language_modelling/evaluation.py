"""Measures how well a language model and count-based baselines predict texts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from transformer.checkpoints.checkpoint import LanguageModel
from transformer.errors import TextError
from transformer.language_modelling.bigrams import Bigrams
from transformer.text.normalisation import replace_surrogates

BATCH_SIZE = 64


@dataclass(frozen=True)
class TextLikelihood:
    """How well texts were predicted. Each text is read separately and scored without an end symbol, as in `score_text`.

    Attributes:
        texts, tokens, words, bytes: numbers of texts, tokens, words separated by white space, and UTF-8 bytes.
        log_prob: total log-probability of all texts, nats.
    """

    texts: int
    tokens: int
    words: int
    bytes: int
    log_prob: float

    @property
    def per_token(self) -> float:
        """Perplexity per token, exp(-log_prob / tokens)."""
        return math.exp(-self.log_prob / self.tokens)

    @property
    def per_word(self) -> float:
        """Perplexity per word, exp(-log_prob / words), comparable between vocabularies."""
        return math.exp(-self.log_prob / self.words)

    @property
    def bits_per_byte(self) -> float:
        return -self.log_prob / math.log(2) / self.bytes

    def __str__(self) -> str:
        return (
            f"perplexity {self.per_token:.2f} per token, {self.per_word:.2f} per word; {self.bits_per_byte:.3f} bits "
            f"per byte ({self.texts} texts, {self.tokens} tokens, {self.words} words, {self.bytes} bytes)"
        )


def split_by_length(loaded: LanguageModel, texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the texts short enough for the model's learned positions, and the texts that are too long."""
    most = loaded.model.config.position_limit or math.inf
    short, long = [], []
    for text in texts:
        (short if len(loaded.tokenizer.encode(text, end=False)) <= most else long).append(text)
    return short, long


def evaluate(loaded: LanguageModel, texts: Sequence[str]) -> TextLikelihood:
    """Measure how well a language model predicts texts.

    Raises:
        TextError: there are no texts, or a text has no tokens or too many for the model's learned positions.
    """
    return _prediction(loaded, texts, lambda encoded: float(text_log_probs(loaded, encoded).sum()))


def evaluate_baselines(
    loaded: LanguageModel, texts: Sequence[str], training: Sequence[str]
) -> tuple[TextLikelihood, TextLikelihood]:
    """Measure how well unigram and bigram counts predict texts.

    Args:
        loaded: language model whose tokenizer splits the texts.
        texts: texts to predict.
        training: texts whose tokens and token pairs are counted.

    Returns:
        Likelihood under the unigram counts, and likelihood under the bigram counts.
    """
    tokenizer = loaded.tokenizer
    training_ids = ([token.id for token in tokenizer.encode(text, end=True)] for text in training)
    model = Bigrams(training_ids, size=tokenizer.size, start=tokenizer.symbols.start)
    return (
        _prediction(loaded, texts, lambda encoded: sum(map(model.unigram_log_prob, encoded))),
        _prediction(loaded, texts, lambda encoded: sum(map(model.log_prob, encoded))),
    )


def text_log_probs(loaded: LanguageModel, encoded: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the log-probability in nats of each of N texts, float64 [N]; `encoded` contains each text's token ids.

    Texts of similar length are read in one batch.
    """
    symbols, device = loaded.tokenizer.symbols, loaded.device
    order = sorted(range(len(encoded)), key=lambda index: len(encoded[index]))
    sums = np.zeros(len(encoded))
    for start in range(0, len(order), BATCH_SIZE):
        members = order[start : start + BATCH_SIZE]
        rows = [torch.tensor(encoded[index]) for index in members]
        tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=symbols.pad).to(device)
        read = torch.cat([tokens.new_full((len(rows), 1), symbols.start), tokens[:, :-1]], dim=1)
        with torch.inference_mode():
            log_probs = loaded.model(None, read).double().log_softmax(dim=-1)
        token_log_probs = log_probs.gather(-1, tokens[..., None]).squeeze(-1)  # [B, T, V] -> [B, T]
        # Detect padding by position, because the padding token may be an ordinary token, as in GPT-2.
        lengths = torch.tensor([len(row) for row in rows], device=device)
        real = torch.arange(tokens.shape[1], device=device) < lengths[:, None]
        sums[members] = (token_log_probs * real).sum(dim=1).cpu().numpy()
    return sums


def _prediction(
    loaded: LanguageModel, texts: Sequence[str], log_prob: Callable[[Sequence[Sequence[int]]], float]
) -> TextLikelihood:
    """Measure how well texts are predicted by `log_prob`, which maps token ids to a total log-probability."""
    texts = [replace_surrogates(text) for text in texts]
    encoded = [[token.id for token in loaded.tokenizer.encode(text, end=False)] for text in texts]
    if not encoded:
        raise TextError("There is no text to predict: pass at least one.")
    if not all(encoded):
        raise TextError(f"Text {encoded.index([]) + 1} has no tokens: remove it.")
    return TextLikelihood(
        texts=len(texts),
        tokens=sum(map(len, encoded)),
        words=sum(len(text.split()) for text in texts),
        bytes=sum(len(text.encode()) for text in texts),
        log_prob=log_prob(encoded),
    )
