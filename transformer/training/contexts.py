"""Training data for language models: whole texts packed into contexts of a fixed width."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from transformer.files.tensors import write_sealed
from transformer.text.tokenizer import PAD, START, Tokenizer
from transformer.training.batching import Batch
from transformer.training.data import Pair, check_size

# Name of a tensor that only data files with contexts have; files without this tensor contain sentence pairs.
CONTEXTS = "contexts"
# Minimum and maximum number of tokens in a repeated pattern.
PATTERN = (4, 48)


@dataclass(frozen=True)
class Contexts:
    """Tokenized texts packed into contexts of a fixed width; no text is split.

    Attributes:
        tokens: token ids, uint16 [N, W], with an end symbol after each text and padding after a context's last text.
        left_out: number of texts excluded because each is longer than a context.
    """

    tokens: np.ndarray
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def width(self) -> int:
        return self.tokens.shape[1]

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens in each context, without padding, [N]."""
        return (self.tokens != PAD).sum(axis=1)

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        tokenizer: Tokenizer,
        *,
        width: int,
        rng: np.random.Generator,
        repeated: float = 0.0,
        patterns: float = 0.0,
    ) -> Contexts:
        """Tokenize texts and pack them into contexts in random order.

        Args:
            texts: texts to pack; texts of more than `width` tokens are excluded.
            tokenizer: tokenizer for the texts.
            width: number of tokens in a context.
            rng: random number generator.
            repeated: probability that each text is followed by a repetition of a text already in the context, if there
                is room. Repetitions teach the model to attend to earlier tokens.
            patterns: number of extra contexts that repeat a short random token pattern, as a fraction of all other
                contexts. These contexts also teach the model to attend to earlier tokens.
        """
        check_size(tokenizer)
        encoded = [tokenizer.encode_ids(text) for text in texts]
        contexts: list[list[list[int]]] = [[]]
        room, left_out = width, 0
        for index in rng.permutation(len(encoded)):
            text = encoded[index]
            if len(text) > width:
                left_out += 1
                continue
            if len(text) > room:
                contexts.append([])
                room = width
            while True:
                contexts[-1].append(text)
                room -= len(text)
                again = contexts[-1][int(rng.integers(len(contexts[-1])))]
                if rng.random() >= repeated or len(again) > room:
                    break
                text = again
        tokens = np.full((len(contexts), width), PAD, dtype=np.uint16)
        for row, parts in zip(tokens, contexts, strict=True):
            joined = [token for part in parts for token in part]
            row[: len(joined)] = joined
        if not contexts[0]:
            # No text fits into a context.
            return cls(tokens[:0], left_out)
        pattern_contexts = [_pattern(encoded, width, rng) for _ in range(int(patterns * len(tokens)))]
        return cls(np.concatenate([tokens, np.array(pattern_contexts, dtype=np.uint16).reshape(-1, width)]), left_out)

    def save(self, path: Path, fingerprint: str) -> None:
        """Write the contexts to a file, with the vocabulary's fingerprint."""
        write_sealed(path, {CONTEXTS: torch.from_numpy(self.tokens)}, {"vocabulary": fingerprint})

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Contexts:
        """Return the contexts from the arrays in a file written by `save`."""
        return cls(arrays[CONTEXTS])


def _pattern(encoded: Sequence[Sequence[int]], width: int, rng: np.random.Generator) -> np.ndarray:
    """Return a context that repeats one short pattern of tokens, each sampled from a random text."""
    run = []
    for _ in range(rng.integers(*PATTERN, endpoint=True)):
        text = encoded[int(rng.integers(len(encoded)))]
        # The last token is the end symbol, so exclude it.
        run.append(text[int(rng.integers(len(text) - 1))])
    return np.resize(run, width)


class ContextBatches:
    """Shuffled batches of language-model contexts; each context occurs once per epoch.

    Args:
        data: contexts.
        tokens: number of tokens per batch, including padding.
        seed: random seed; the shuffling depends only on the seed and the epoch number.
    """

    def __init__(self, data: Contexts, *, tokens: int, seed: int) -> None:
        if not len(data):
            raise ValueError("there are no texts to train on")
        self.data = data
        self.seed = seed
        self.rows = max(1, tokens // data.width)

    def epoch(self, number: int) -> list[np.ndarray]:
        """Return an epoch's batches as arrays of context indices, in an order that depends only on the seed and
        `number`.
        """
        order = np.random.default_rng([self.seed, number]).permutation(len(self.data))
        return [order[start : start + self.rows] for start in range(0, len(order), self.rows)]

    def count(self, members: np.ndarray) -> int:
        """Return the number of tokens, without padding, in the contexts with indices `members`."""
        return int(self.data.lengths[members].sum())

    def load(self, members: np.ndarray) -> Batch:
        """Return the contexts with indices `members` as one batch."""
        predicted = self.data.tokens[members].astype(np.int64)
        read = np.concatenate([np.full((len(members), 1), START), predicted[:, :-1]], axis=1)
        return Batch(None, torch.from_numpy(read), torch.from_numpy(predicted))

    def __iter__(self) -> Iterator[Batch]:
        """Yield all contexts in batches, in the order of epoch 0."""
        return map(self.load, self.epoch(0))


def texts_of(pairs: Sequence[Pair]) -> list[str]:
    """Return the pairs' source texts in order, without duplicates."""
    return list(dict.fromkeys(source for source, _ in pairs))
