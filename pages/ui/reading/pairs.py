"""Sentence pairs that differ in one word, and texts that describe what that word changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from pages.ui.text.markup import markdown
from transformer.analysis.alignment import alignment_rows, consensus
from transformer.analysis.heads.similarity import jensen_shannon
from transformer.analysis.heads.tasks import covered_text
from transformer.analysis.view import View, view_of
from transformer.analysis.words import word_groups
from transformer.values.tokens import Token
from transformer.values.trace import Kind, Trace

MAX_LISTED = 5


@dataclass(frozen=True)
class Pair:
    """Two sentences that differ in one word.

    Attributes:
        name: the name to show, such as "he / she".
        a, b: the sentences.
        word: a word in both sentences whose meaning depends on the differing word; empty for none.
    """

    name: str
    a: str
    b: str
    word: str = ""


PAIRS = (
    Pair(
        "tired / wide",
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
        "it",
    ),
    Pair("he / she", "The doctor said that he was late.", "The doctor said that she was late.", "doctor"),
    Pair("bank / river bank", "We had lunch at the big bank.", "We had lunch at the river bank.", "bank"),
)


@dataclass(frozen=True)
class Difference:
    """How differently a head attends in two sentences: mean Jensen-Shannon divergence of matching rows, in nats."""

    kind: Kind
    layer: int
    head: int
    nats: float


def largest_differences(a: Trace, b: Trace) -> list[Difference]:
    """Return the heads whose word-level attention differs most between two sentences, largest difference first.

    An attention kind is left out if the two sentences' maps differ in size.
    """
    differences = []
    for kind in a.kinds:
        views = [view_of(trace, kind, words=True) for trace in (a, b)]
        if views[0].mask.shape != views[1].mask.shape:
            continue
        apart = jensen_shannon(*(view.weights.astype(float) for view in views)).mean(axis=-1)
        differences += [
            Difference(kind, layer, head, float(apart[layer, head])) for layer, head in np.ndindex(apart.shape)
        ]
    return sorted((difference for difference in differences if difference.nats > 0), key=lambda each: -each.nats)[
        :MAX_LISTED
    ]


def translation_of(trace: Trace, word: str) -> str | None:
    """Return the target word that translates a source word, according to the mean cross-attention of all heads.

    Returns:
        The target word; None if the sentence lacks the source word, or if no target word is aligned with that word.
    """
    words = {
        _plain(trace.source_tokens, group, trace.source_text).lower(): group
        for group in word_groups(trace.source_tokens, trace.source_text)
    }
    if word not in words:
        return None
    mean = alignment_rows(trace, shift=False).mean(axis=(0, 1))
    attention, agreed = mean[:, list(words[word])].sum(axis=-1), consensus(trace)
    aligned = [target for target, source in enumerate(agreed) if source in words[word]]
    if not aligned:
        return None
    # Row i of the alignment is the decoding step that predicts token i + 1.
    best = max(aligned, key=lambda target: attention[target]) + 1
    group = next(group for group in word_groups(trace.target_tokens, trace.target_text) if best in group)
    return _plain(trace.target_tokens, group, trace.target_text)


def _plain(tokens: Sequence[Token], group: Sequence[int], text: str) -> str:
    """Return a word's text without the punctuation around it."""
    return covered_text([tokens[at] for at in group], text).strip(".,;:!?")


def describe_translations(pair: Pair, a: Trace, b: Trace) -> str:
    """Return Markdown that compares the translations of the pair's shared word in sentences A and B."""
    first, second = translation_of(a, pair.word), translation_of(b, pair.word)
    if not first or not second:
        return f"In at least one of the sentences, no translation of *{pair.word}* was found."
    if first == second:
        return (
            f"*{pair.word}* becomes **{markdown(first)}** in both sentences, so the translation does not show "
            f"whether the model tells the two meanings of *{pair.word}* apart."
        )
    return f"*{pair.word}* becomes **{markdown(first)}** in A and **{markdown(second)}** in B."


def describe_differences(a: str, b: str) -> str:
    """Return Markdown that lists the words in which two translations differ."""
    first, second = a.split(), b.split()
    parts = [
        tuple(" ".join(words) for words in (first[i:j], second[k:end]))
        for operation, i, j, k, end in SequenceMatcher(a=first, b=second, autojunk=False).get_opcodes()
        if operation != "equal"
    ]
    if not parts:
        return "Both sentences have the same translation."
    replacements = ", ".join(f"**{markdown(old) or '—'}** / **{markdown(new) or '—'}**" for old, new in parts)
    return f"The translations differ here (A / B): {replacements}."


def describe_looks(word: str, views: Mapping[str, View], layer: int, head: int) -> str:
    """Return Markdown that says where a head looks from `word` in each sentence.

    The result is empty if a map is not the encoder's, or has no row for `word`.
    """
    sentences = []
    for name, view in views.items():
        rows = [covered_text(tokens, view.axes.row_text).strip(".,;:!?").lower() for tokens in view.axes.rows]
        if view.axes.kind != "encoder" or word not in rows:
            return ""
        row = view.weights[layer, head, rows.index(word)]
        column = int(row.argmax())
        label = covered_text(view.axes.columns[column], view.axes.column_text) or "the end symbol"
        sentences.append(f"**{markdown(label)}** ({row[column]:.2f}) in {name.upper()}")
    return f"In this head, *{word}* looks most at {' and at '.join(sentences)}."
