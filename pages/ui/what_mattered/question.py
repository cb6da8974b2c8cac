"""The attribution question: the prediction to explain, and the words that may have caused it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attention_atlas.browser.labels import disambiguate
from attention_atlas.browser.token_labels import entry_label, group_label, label_without_space
from pages.ui.params.what_mattered import NOTHING, WHOLE, MatteredParams
from pages.ui.text.markup import markdown
from transformer.analysis.words import Group, groups_of, has_word
from transformer.attribution.attribution import Target, token_groups, whole_sentence
from transformer.text.languages import Languages
from transformer.text.vocabulary import Symbols, Vocabulary
from transformer.values.trace import Trace

# If the source and the translation together have more tokens than this, slow methods run only on request.
LONG_TEXT = 60


@dataclass(frozen=True)
class AttributionQuestion:
    """The question of which words mattered for a prediction.

    Attributes:
        target: the prediction to explain.
        name: the explained word's unique label; empty for the whole translation.
        other: the label of the candidate to compare with; empty if there is no comparison.
        words: whether columns are words instead of tokens.
        source, prefix: the token positions of each column, for the source and for the translation up to the last token
            that the decoder reads for the prediction.
        source_labels, prefix_labels: the labels of the columns, unique within each side.
        ranked: the indices of the source columns that are not special tokens.
        languages: the model's languages.
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
        """The unit of a source column, with the language, such as "English word"."""
        return f"{self.languages.source.name} {self.size}"

    @property
    def explained(self) -> str:
        """A Markdown description of the explained prediction."""
        if not self.name:
            return "the whole translation"
        return f"**{label_markdown(self.name)}**" + (f" and not **{label_markdown(self.other)}**" if self.other else "")


def label_markdown(label: str) -> str:
    """Return a token label as Markdown, without the mark for a leading space."""
    return markdown(label_without_space(label))


def word_groups(trace: Trace, *, words: bool) -> tuple[Group, ...]:
    """Return each predicted word or token as a group of positions in `trace.predicted_tokens`."""
    return groups_of(trace.predicted_tokens, trace.target_text, words=words)


def group_labels(trace: Trace, groups: Sequence[Group], *, words: bool) -> list[str]:
    """Return unique labels for groups of predicted tokens."""
    tokens = ([trace.predicted_tokens[position] for position in group] for group in groups)
    return disambiguate(group_label(token, trace.target_text, words=words) for token in tokens)


def source_columns(trace: Trace, *, words: bool) -> tuple[tuple[Group, ...], tuple[str, ...], tuple[int, ...]]:
    """Return each source column's token positions and unique label, and the indices of the non-special columns."""
    groups, _ = token_groups(trace, words=words)
    tokens = [[trace.source_tokens[position] for position in group] for group in groups]
    labels = tuple(disambiguate(group_label(group, trace.source_text, words=words) for group in tokens))
    return groups, labels, tuple(column for column, group in enumerate(tokens) if not group[0].special)


def question_of(
    trace: Trace, tokenizer: Vocabulary, params: MatteredParams, word: Group, languages: Languages
) -> AttributionQuestion:
    """Return the attribution question for the page's settings.

    Args:
        word: the token positions of the word to explain if `params` does not select an existing word.
        languages: the model's languages.
    """
    words = not params.tokens
    source, source_labels, ranked = source_columns(trace, words=words)
    group = explained_group(trace, params) or word
    is_whole = params.explained == WHOLE
    other = chosen_candidate(trace, tokenizer.symbols, params, group) if not is_whole else NOTHING
    target = whole_sentence(trace) if is_whole else Target(group)
    groups = named = word_groups(trace, words=words)
    if other != NOTHING:
        # A candidate is a single token, so it is compared with the word's first token.
        target, named = Target(group[:1], (other,)), tuple(each[:1] for each in groups)
    last = max(target.positions)
    _, prefix = token_groups(trace, words=words)
    prefix = tuple(read for each in prefix if (read := tuple(position for position in each if position <= last)))
    return AttributionQuestion(
        target=target,
        name="" if is_whole else group_labels(trace, named, words=words)[groups.index(group)],
        other="" if other == NOTHING else entry_label(tokenizer, other),
        words=words,
        source=source,
        prefix=prefix,
        source_labels=source_labels,
        prefix_labels=tuple(
            disambiguate(
                group_label([trace.target_tokens[position] for position in each], trace.target_text, words=words)
                for each in prefix
            )
        ),
        ranked=ranked,
        languages=languages,
    )


def explained_group(trace: Trace, params: MatteredParams) -> Group | None:
    """Return the token positions of the chosen word.

    None if the user has chosen nothing, the whole translation, or a position that does not exist.
    """
    if params.explained in ("", WHOLE):
        return None
    position = int(params.explained) - 1
    return next((group for group in word_groups(trace, words=not params.tokens) if position in group), None)


def chosen_candidate(trace: Trace, symbols: Symbols, params: MatteredParams, group: Group) -> int:
    """Return the ID of the candidate to compare with; NOTHING if the user has not chosen a valid one."""
    written_id = trace.predicted_tokens[group[0]].id
    others = candidates(trace, symbols, group)
    return NOTHING if params.against == written_id or params.against not in others else params.against


def candidates(trace: Trace, symbols: Symbols, group: Group) -> dict[int, float]:
    """Return the token IDs and probabilities of other candidates for a word's first token, most likely first."""
    written_id, position = trace.predicted_tokens[group[0]].id, group[0]
    stored = zip(trace.candidate_ids[position].tolist(), trace.candidate_log_probs[position].tolist(), strict=True)
    left_out = symbols.never_predicted | {written_id}
    return {token: float(np.exp(log_prob)) for token, log_prob in stored if token not in left_out}


def default_group(trace: Trace, tops: np.ndarray, others: np.ndarray, *, words: bool) -> Group:
    """Return the earliest word for which two methods rank different columns first; else the least certain word.

    Args:
        tops, others: for every predicted token, the column that each of the two methods ranks first, [T].
        words: whether to group tokens into words.
    """
    groups = [
        group for group in word_groups(trace, words=words) if has_word(group, trace.predicted_tokens, trace.target_text)
    ]
    differing = [group for group in groups if tops[group[0]] != others[group[0]]]
    if differing:
        return differing[0]
    return max(groups or word_groups(trace, words=words), key=lambda group: trace.entropy[group[0]])


def is_long(trace: Trace) -> bool:
    """Return whether the sentence is so long that slow methods run only on request."""
    return len(trace.source_tokens) + len(trace.predicted_tokens) > LONG_TEXT
