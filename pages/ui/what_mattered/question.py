"""The prediction to explain, and the words that may explain it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attention_atlas.browser.labels import disambiguated
from attention_atlas.browser.token_labels import bare, entry_label, group_label
from pages.ui.params.what_mattered import NOTHING, WHOLE, MatteredParams
from pages.ui.text.markup import markdown
from transformer.analysis.words import Group, groups_of, has_word
from transformer.attribution.attribution import Target, token_groups, whole_sentence
from transformer.text.languages import Languages
from transformer.text.vocabulary import Symbols, Vocabulary
from transformer.values.trace import Trace

# If both sides together have more tokens than this, slow methods run only on request.
LONG = 60


@dataclass(frozen=True)
class AttributionQuestion:
    """The question which words mattered for a prediction.

    Attributes:
        target: the prediction to explain.
        name: the unique label of the explained word; empty for the whole translation.
        other: the candidate to compare with, which was not chosen; empty for none.
        words: whether columns are words instead of tokens.
        source, prefix: the token positions of each column; the prefix ends with the token that was read last.
        source_labels, prefix_labels: the labels of the columns, made unique within each side.
        ranked: the indices of the source columns that are not special tokens.
        languages: the languages of the model.
    """

    target: Target
    name: str
    other: str
    words: bool
    source: tuple[Group, ...]
    prefix: tuple[Group, ...]
    source_labels: tuple[str, ...]
    prefix_labels: tuple[str, ...]
    ranked: tuple[int, ...]
    languages: Languages

    @property
    def size(self) -> str:
        """The unit of a column: "word" or "token"."""
        return "word" if self.words else "token"

    @property
    def source_size(self) -> str:
        """The unit of a column of the source, with its language: "English word"."""
        return f"{self.languages.source.name} {self.size}"

    @property
    def explained(self) -> str:
        """The explained prediction, as Markdown."""
        if not self.name:
            return "the whole translation"
        return f"**{shown(self.name)}**" + (f" and not **{shown(self.other)}**" if self.other else "")


def shown(label: str) -> str:
    """Return a label as Markdown for use in a sentence, where the space before a word needs no mark."""
    return markdown(bare(label))


def spoken(trace: Trace, *, words: bool) -> tuple[Group, ...]:
    """Return the positions of each predicted word, or of each token."""
    return groups_of(trace.predicted_tokens, trace.target_text, words=words)


def spoken_labels(trace: Trace, groups: Sequence[Group], *, words: bool) -> list[str]:
    """Return unique labels of the predicted words or tokens."""
    tokens = ([trace.predicted_tokens[position] for position in group] for group in groups)
    return disambiguated(group_label(each, trace.target_text, words=words) for each in tokens)


def source_columns(trace: Trace, *, words: bool) -> tuple[tuple[Group, ...], tuple[str, ...], tuple[int, ...]]:
    """Return the positions and unique labels of the source columns, and the columns that are not special tokens."""
    groups, _ = token_groups(trace, words=words)
    tokens = [[trace.source_tokens[position] for position in group] for group in groups]
    labels = tuple(disambiguated(group_label(group, trace.source_text, words=words) for group in tokens))
    return groups, labels, tuple(column for column, group in enumerate(tokens) if not group[0].special)


def ask(
    trace: Trace, tokenizer: Vocabulary, params: MatteredParams, chosen: Group, languages: Languages
) -> AttributionQuestion:
    """Return the question that the user's parameters describe.

    Args:
        chosen: the positions of the word that the page chose, used if the user's choice does not exist.
        languages: the languages of the model.
    """
    words = not params.tokens
    source, source_labels, ranked = source_columns(trace, words=words)
    group = explained_group(trace, params) or chosen
    whole = params.explained == WHOLE
    other = candidate_asked(trace, tokenizer.symbols, params, group) if not whole else NOTHING
    target = whole_sentence(trace) if whole else Target(group)
    groups = named = spoken(trace, words=words)
    if other != NOTHING:
        # A candidate is an alternative to a single token: the first token of the word, where the word was decided.
        target, named = Target(group[:1], (other,)), tuple(each[:1] for each in groups)
    last = max(target.positions)
    _, prefix = token_groups(trace, words=words)
    prefix = tuple(read for each in prefix if (read := tuple(position for position in each if position <= last)))
    return AttributionQuestion(
        target=target,
        name="" if whole else spoken_labels(trace, named, words=words)[groups.index(group)],
        other="" if other == NOTHING else entry_label(tokenizer, other),
        words=words,
        source=source,
        prefix=prefix,
        source_labels=source_labels,
        prefix_labels=tuple(
            disambiguated(
                group_label([trace.target_tokens[position] for position in each], trace.target_text, words=words)
                for each in prefix
            )
        ),
        ranked=ranked,
        languages=languages,
    )


def explained_group(trace: Trace, params: MatteredParams) -> Group | None:
    """Return the positions of the word that the user chose; None if it does not exist, or if all words are chosen."""
    if params.explained in ("", WHOLE):
        return None
    position = int(params.explained) - 1
    return next((group for group in spoken(trace, words=not params.tokens) if position in group), None)


def candidate_asked(trace: Trace, symbols: Symbols, params: MatteredParams, group: Group) -> int:
    """Return the id of the candidate to compare with; NOTHING if there is none."""
    taken = trace.predicted_tokens[group[0]].id
    listed = candidates(trace, symbols, group)
    return NOTHING if params.against == taken or params.against not in listed else params.against


def candidates(trace: Trace, symbols: Symbols, group: Group) -> dict[int, float]:
    """Return the probabilities of the other candidates for a word's first token, by id, best first."""
    taken, position = trace.predicted_tokens[group[0]].id, group[0]
    listed = zip(trace.candidate_ids[position].tolist(), trace.candidate_log_probs[position].tolist(), strict=True)
    left_out = symbols.never_predicted | {taken}
    return {token: float(np.exp(log_prob)) for token, log_prob in listed if token not in left_out}


def telling_group(trace: Trace, tops: np.ndarray, others: np.ndarray, *, words: bool) -> Group:
    """Return the first word on which two methods disagree, or else the least certain word.

    Args:
        tops, others: the column that each of the two methods ranks first, for every predicted token, [T].
        words: whether groups are words instead of tokens.
    """
    groups = [
        group for group in spoken(trace, words=words) if has_word(group, trace.predicted_tokens, trace.target_text)
    ]
    differing = [group for group in groups if tops[group[0]] != others[group[0]]]
    if differing:
        return differing[0]
    return max(groups or spoken(trace, words=words), key=lambda group: trace.entropy[group[0]])


def is_long(trace: Trace) -> bool:
    """Return whether slow methods run only on request."""
    return len(trace.source_tokens) + len(trace.predicted_tokens) > LONG
