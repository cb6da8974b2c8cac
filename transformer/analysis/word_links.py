"""Finds the strongest attention links between words, over all heads and attention kinds."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.names import head_names
from transformer.analysis.words import Group, groups_of, has_word, merge_mask, merge_words
from transformer.values.tokens import Token
from transformer.values.trace import Kind, Trace

# Names of heads that attend to a fixed relative position, whatever token is there.
POSITIONAL = frozenset({"previous token", "same token", "next token"})


@dataclass(frozen=True)
class SentenceWords:
    """Words of a sentence or translation, without start and end symbols.

    Attributes:
        text: text that the tokens' character spans refer to.
        tokens: tokens of each word.
        rows: query positions of each word: in the encoder, the word's own positions; in the decoder, the steps that
            wrote the word.
        columns: key positions of each word; empty for a translation's last word if the decoder never read it.
        has_letters: whether each word contains a letter or a digit.
    """

    text: str
    tokens: tuple[tuple[Token, ...], ...]
    rows: tuple[Group, ...]
    columns: tuple[Group, ...]
    has_letters: tuple[bool, ...]

    def spelling(self, word: int) -> str:
        """Return a word's text, without surrounding spaces."""
        spans = [token.span for token in self.tokens[word] if token.span]
        return self.text[spans[0][0] : spans[-1][1]].strip() if spans else ""


@dataclass(frozen=True)
class WordLink:
    """Attention from one word to another, in the head where this attention stands out most.

    Attributes:
        kind: attention kind.
        row, column: attending word and attended word, as 0-based indices in their sentences.
        layer, head: 0-based layer and head.
        weight: attention from one word to the other, 0 to 1, summed over the column's keys and averaged over the
            row's queries.
        excess: `weight` minus the weight that is usual for this head, as explained in `word_links`.
    """

    kind: Kind
    row: int
    column: int
    layer: int
    head: int
    weight: float
    excess: float


def source_words(trace: Trace) -> SentenceWords:
    """Return the words of the source sentence."""
    tokens, text = trace.source_tokens, trace.source_text
    groups = _word_tokens(tokens, text)
    return _sentence_words(tokens, text, groups, groups)


def target_words(trace: Trace) -> SentenceWords:
    """Return the translation's words. Steps that write a word are its rows; steps that read it are its columns."""
    tokens, text = trace.predicted_tokens, trace.target_text
    groups = _word_tokens(tokens, text)
    read = tuple(tuple(at + 1 for at in group if at + 1 < len(tokens)) for group in groups)
    return _sentence_words(tokens, text, groups, read)


def word_links(trace: Trace, metrics: Mapping[Kind, HeadMetrics]) -> tuple[WordLink, ...]:
    """Return the attention links between words in a trace, in descending order of `excess`.

    A word has at most one link to each word that it may attend to. The link comes from the head whose weight for these
    two words is furthest above the head's usual weight. The usual weight is the mean weight in the same column
    over all other rows, including start and end symbols. In self-attention, the mean weight at the same distance is
    used if it is larger. Ties are sorted by kind, row and column. The attention browser ranks links by the same rule.

    Start symbols, end symbols and words without a letter or a digit have no links. Weights that do not exceed the usual
    weight are left out, and so is self-attention from a word to itself or to a neighbour. Heads named after a position,
    such as "previous token", are ignored.

    Args:
        trace: trace of a model run.
        metrics: head metrics of each attention kind to consider.

    Returns:
        The links of all given attention kinds.
    """
    source, target = source_words(trace), target_words(trace)
    links: list[WordLink] = []
    for kind, kind_metrics in metrics.items():
        rows = source if kind == "encoder" else target
        columns = target if kind == "decoder" else source
        links += _links(trace, kind, rows, columns, head_names(kind_metrics))
    return tuple(sorted(links, key=lambda link: -link.excess))


def by_word(links: Sequence[WordLink]) -> Mapping[tuple[bool, int], tuple[list[WordLink], list[WordLink]]]:
    """Group links by word, keeping their order.

    Returns:
        For each word, the links from the word and the links to the word. The key is (whether the word is in the source,
        0-based index of the word in its sentence).
    """
    links_of_word: defaultdict[tuple[bool, int], tuple[list[WordLink], list[WordLink]]] = defaultdict(lambda: ([], []))
    for link in links:
        looks, _ = links_of_word[link.kind == "encoder", link.row]
        _, looked = links_of_word[link.kind != "decoder", link.column]
        looks.append(link)
        looked.append(link)
    return links_of_word


def counterparts(trace: Trace) -> tuple[list[int], list[int]]:
    """Pair each word with a word of the other sentence: the one with the most cross-attention.

    Cross-attention is averaged over all layers and heads.

    Returns:
        For each source word, the index of the target word that attends to it most. For each target word, the index of
        the source word that it attends to most. The index is -1 if the word has no letter or digit, or if the other
        sentence has no word with a letter or digit.
    """
    source, target = source_words(trace), target_words(trace)
    if not source.columns or not target.rows:
        return [-1] * len(source.columns), [-1] * len(target.rows)
    weights = merge_words(trace.cross.mean(axis=(0, 1)), target.rows, source.columns)
    both = np.outer(target.has_letters, source.has_letters)
    weights = np.where(both, weights, -1.0)
    of_source, of_target = (np.where(both.any(axis=axis), weights.argmax(axis=axis), -1).tolist() for axis in (0, 1))
    return of_source, of_target


def _links(
    trace: Trace, kind: Kind, rows: SentenceWords, columns: SentenceWords, names: Sequence[Sequence[Sequence[str]]]
) -> list[WordLink]:
    read_columns = [index for index, group in enumerate(columns.columns) if group]
    if not rows.rows or not read_columns:
        return []
    attention = trace.attention(kind)
    queries = _with_symbols(rows.rows, attention.shape[-2])
    keys = _with_symbols([columns.columns[at] for at in read_columns], attention.shape[-1])
    weights = merge_words(attention, queries, keys).astype(np.float64)
    mask = merge_mask(trace.mask(kind), queries, keys)
    same = kind != "cross"
    # The decoder step at position n writes the token that is read at position n + 1.
    distance = np.arange(len(keys))[None, :] - np.arange(len(queries))[:, None] - (kind == "decoder")
    beyond = weights - _usual_weight(weights, mask, distance, same=same)
    words = np.ix_(
        [queries.index(group) for group in rows.rows], [keys.index(columns.columns[at]) for at in read_columns]
    )
    counts = mask[words] & np.array(rows.has_letters)[:, None] & np.array(columns.has_letters)[read_columns][None, :]
    if same:
        counts &= np.abs(distance[words]) > 1
    weights, beyond = weights[..., *words], beyond[..., *words]
    positional = np.array([[not POSITIONAL.isdisjoint(head) for head in layer] for layer in names])
    beyond[positional] = -np.inf
    layers, heads = positional.shape
    best = beyond.reshape(layers * heads, *counts.shape)
    which = best.argmax(axis=0)
    links = []
    for row, column in zip(*np.nonzero(counts & (best.max(axis=0) > 0)), strict=True):
        layer, head = divmod(int(which[row, column]), heads)
        links.append(
            WordLink(
                kind,
                int(row),
                read_columns[column],
                layer,
                head,
                float(weights[layer, head, row, column]),
                float(beyond[layer, head, row, column]),
            )
        )
    return links


def _with_symbols(groups: Sequence[Group], count: int) -> list[Group]:
    """Return the groups plus a one-position group for each ungrouped position below `count`, in order."""
    grouped = {position for group in groups for position in group}
    return sorted([*groups, *((position,) for position in range(count) if position not in grouped)])


def _usual_weight(weights: np.ndarray, mask: np.ndarray, distance: np.ndarray, *, same: bool) -> np.ndarray:
    """Return each head's usual weight for every cell.

    A cell's usual weight is the larger of two means over all other rows: the mean weight in the cell's column, and the
    mean weight at the cell's distance.

    Args:
        weights: attention weights, [..., R, C].
        mask: whether each row may attend to each column, bool [R, C].
        distance: index of the column's word minus index of the row's word, int [R, C].
        same: whether rows and columns are words of one sentence. If so, the column's mean leaves out the weight of a
            word on itself; if not, distances are ignored.

    Returns:
        Usual weights, [..., R, C]; 0 where there is no other row to average over.
    """
    masked_weights = weights * mask
    on_word = mask & (distance != 0) if same else mask
    total = (weights * on_word).sum(axis=-2, keepdims=True) - weights * on_word
    habit = total / np.maximum(on_word.sum(axis=0) - on_word, 1)
    if same:
        step = (distance - distance.min()).ravel()
        count = np.bincount(step, weights=mask.ravel())[step].reshape(mask.shape)
        sums = [np.bincount(step, weights=each)[step] for each in masked_weights.reshape(-1, mask.size)]
        others = np.reshape(sums, weights.shape) - masked_weights
        habit = np.maximum(habit, others / np.maximum(count - 1, 1))
    return habit


def _word_tokens(tokens: Sequence[Token], text: str) -> tuple[Group, ...]:
    return tuple(group for group in groups_of(tokens, text, words=True) if not tokens[group[0]].special)


def _sentence_words(
    tokens: Sequence[Token], text: str, rows: tuple[Group, ...], columns: tuple[Group, ...]
) -> SentenceWords:
    return SentenceWords(
        text,
        tuple(tuple(tokens[at] for at in group) for group in rows),
        rows,
        columns,
        tuple(has_word(group, tokens, text) for group in rows),
    )
