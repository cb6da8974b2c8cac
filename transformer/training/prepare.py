"""Prepares training data: turns files of sentence pairs into the run folder of a translation or language model."""

import itertools
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from transformer.text.tokenizer import VOCABULARY, Tokenizer, train_tokenizer
from transformer.training.batching import WIDTHS
from transformer.training.contexts import Contexts, texts_of
from transformer.training.data import MAX_TOKENS, Pair, TokenData, augment, read_pairs, without_held_out
from transformer.training.run_folder import DataName, RunFolder

# Upper limits on copies of a pair and on tokens in a context. The corpora
# need no more, and a mistyped number could exhaust the memory.
MAX_SAMPLED = 1_000
MAX_CONTEXT = 65_536

log = logging.getLogger(__name__)


def prepare(
    run: Path,
    *,
    data: Sequence[Path],
    validation: Path,
    held_out: Sequence[Path] = (),
    vocabulary: int = 24_000,
    careless: float = 0.15,
    joined: float = 0.1,
    sampled: int = 0,
    seed: int = 1,
    start: Path | None = None,
    turned: bool = False,
) -> None:
    """Write tokenizer.model, train.safetensors and validation.safetensors into a run folder.

    Args:
        run: run folder, created if necessary.
        data: tab-separated files of source and target sentences.
        validation: tab-separated file of pairs for the validation loss.
        held_out: files of test pairs. Training pairs that share a sentence with a test or validation pair are removed.
        vocabulary: number of tokens in the joint vocabulary of both languages.
        careless: fraction of the pairs, 0 to 1, to copy with the source in lower case and without final punctuation.
        joined: number of extra pairs made by joining two or three pairs, as a fraction of the number of pairs.
        sampled: number of extra copies of every pair, split into tokens at random. SentencePiece takes no seed, so
            these splits differ when the data is prepared again.
        seed: random seed for everything except the splits of the `sampled` copies.
        start: model folder whose vocabulary to use, for a training run that starts from that model's weights.
        turned: whether to train the opposite direction, with the second sentence of each pair as the source.

    Raises:
        ValueError: a file cannot be read (see `read_pairs`), an option is out of range, the text is too short for a
            vocabulary, or no pair is short enough.
        OSError: a file cannot be written.
    """
    if not 0 <= sampled <= MAX_SAMPLED:
        raise ValueError(f"--sampled must be at least 0 and at most {MAX_SAMPLED:,}, not {sampled}")
    _check_vocabulary(vocabulary)
    folder = RunFolder(run)
    pairs, watched = _read(data, validation, held_out)
    if start:
        tokenizer = Tokenizer.load(start / VOCABULARY)
    else:
        tokenizer = train_tokenizer(itertools.chain.from_iterable(pairs), size=vocabulary)
    folder.save_tokenizer(tokenizer)
    augmented = augment(pairs, careless=careless, joined=joined, rng=np.random.default_rng(seed))
    parts: tuple[tuple[DataName, Sequence[Pair], int], ...] = (
        ("train", augmented, sampled),
        ("validation", watched, 0),
    )
    for name, chosen_pairs, copies in parts:
        if turned:
            chosen_pairs = [(target, source) for source, target in chosen_pairs]
        tokens = TokenData.of(chosen_pairs, tokenizer, max_tokens=WIDTHS[-1], sampled=copies)
        if not len(tokens):
            raise ValueError(
                f"every pair in the {name} data has a source or target of more than {WIDTHS[-1]} tokens: write one "
                "sentence per line"
            )
        folder.save_data(name, tokens, tokenizer)
        log.info(
            "%s: %d pairs of at most %d tokens, %d source and %d target tokens; %d longer pairs left out",
            name,
            len(tokens),
            WIDTHS[-1],
            len(tokens.source.tokens),
            len(tokens.target.tokens),
            len(chosen_pairs) * (1 + copies) - len(tokens),
        )


def prepare_language_model(
    run: Path,
    *,
    data: Sequence[Path],
    validation: Path,
    held_out: Sequence[Path] = (),
    vocabulary: int = 8_000,
    context: int = 128,
    repeated: float = 0.2,
    patterns: float = 0.2,
    seed: int = 1,
    start: Path | None = None,
) -> None:
    """Write the files that `prepare` writes, but for a language model to be trained on the distinct source texts.

    Args:
        run, data, validation, held_out, seed, start: as in `prepare`.
        vocabulary: number of tokens in the vocabulary.
        context: maximum number of tokens that the model can read at once; also the number of learned positions.
        repeated, patterns: amounts of repetition in the training data, which teaches the model to attend to earlier
            tokens; see `Contexts.of`.

    Raises:
        ValueError: as in `prepare`, or no text fits into a context.
        OSError: as in `prepare`.
    """
    if not 1 <= context <= MAX_CONTEXT:
        raise ValueError(f"--context must be at least 1 and at most {MAX_CONTEXT:,}, not {context}")
    if not 0 <= repeated < 1:
        raise ValueError(f"--repeated must be at least 0 and below 1, not {repeated}")
    if not 0 <= patterns <= 1:
        raise ValueError(f"--patterns must be at least 0 and at most 1, not {patterns}")
    _check_vocabulary(vocabulary)
    folder = RunFolder(run)
    pairs, watched = _read(data, validation, held_out)
    texts = texts_of(pairs)
    tokenizer = Tokenizer.load(start / VOCABULARY) if start else train_tokenizer(texts, size=vocabulary)
    folder.save_tokenizer(tokenizer)
    parts: tuple[tuple[DataName, Sequence[str], dict[str, float]], ...] = (
        ("train", texts, {"repeated": repeated, "patterns": patterns}),
        ("validation", texts_of(watched), {}),
    )
    for name, chosen, shares in parts:
        contexts = Contexts.of(chosen, tokenizer, width=context, rng=np.random.default_rng(seed), **shares)
        if not len(contexts):
            raise ValueError(
                f"no text in the {name} data fits into a context of {context} tokens: choose a larger --context"
            )
        folder.save_data(name, contexts, tokenizer)
        log.info(
            "%s: %d texts, %d contexts of %d tokens, %d tokens in total; %d longer texts left out",
            name,
            len(chosen) - contexts.left_out,
            len(contexts),
            context,
            contexts.lengths.sum(),
            contexts.left_out,
        )


def _check_vocabulary(size: int) -> None:
    """Raise a clearer error than SentencePiece does if the vocabulary size is out of range."""
    if not 1 <= size <= MAX_TOKENS:
        raise ValueError(f"--vocabulary must be at least 1 and at most {MAX_TOKENS:,}, not {size}")


def _read(data: Sequence[Path], validation: Path, held_out: Sequence[Path]) -> tuple[list[Pair], list[Pair]]:
    """Return the training pairs that contain no held-out sentence, and the validation pairs.

    Every file is read only once, because a file may be a pipe.

    Raises:
        ValueError: every training pair contains a held-out sentence, or a file cannot be read (see `read_pairs`).
    """
    pairs = [pair for path in data for pair in read_pairs(path)]
    pair_count, validation_pairs = len(pairs), read_pairs(validation)
    pairs = without_held_out(pairs, [*validation_pairs, *(pair for path in held_out for pair in read_pairs(path))])
    log.info("%d training pairs; excluded %d with a sentence in held-out data", len(pairs), pair_count - len(pairs))
    if not pairs:
        raise ValueError("every training pair contains a held-out sentence: pass other files to --data")
    return pairs, validation_pairs
