"""Tasks that an attention head may perform, each with the cells of the attention map that belong to it.

The cells are derived from the text and, for some cross-attention tasks, also from the mean attention of all heads.
Heads with nothing to do attend to the first token and the end symbol. Tasks about neighbouring words therefore leave
out the links to these two tokens.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.analysis.alignment import alignment_rows, consensus
from transformer.analysis.words import word_groups
from transformer.text.languages import LANGUAGES, Languages
from transformer.values.tokens import Token
from transformer.values.trace import Kind, Trace

ENGLISH, GERMAN = (language.name for language in LANGUAGES)
# (row, columns that the row should attend to). The columns are one token or all tokens of a word.
Link = tuple[int, tuple[int, ...]]


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATION = re.compile(r"\b(not|no|never|nobody|nothing|none|neither|cannot|without)$|n['’]t$", re.IGNORECASE)
GERMAN_NEGATION = re.compile(r"^(nicht|nichts|nie|niemals|niemand\w*|kein\w*|weder|ohne)$", re.IGNORECASE)
# Words that begin a subordinate clause. German puts a comma before such a clause; English often does not.
SUBORDINATORS = _word_set("""
    that who whom whose which what where when while why how because if whether although than as
""")
# Finite verb forms that German pairs with a second verb form at the end of the clause.
AUXILIARIES = _word_set("""
    habe hast hat haben habt hatte hatten bin bist ist sind seid war waren wird werde werden würde würden wurde wurden
    kann kannst können konnte konnten könnte könnten muss müssen musste mussten soll sollte sollten will wollen wollte
    wollten darf dürfen möchte möchten
""")
# Matches the verb form at the end of a German clause. Nouns do not match, because they are capitalised; most
# adjectives lack these prefixes and endings. Limits of 40 letters, longer than any verb, prevent slow backtracking.
GERMAN_VERB = re.compile("[a-zäöüß]{0,40}ge[a-zäöüß]{1,40}t|(be|ver|er|ent|zer)[a-zäöüß]+t|[a-zäöüß]+(iert|en|ern|eln)")


@dataclass(frozen=True)
class HeadTask:
    """A task that an attention head may perform, such as attending to the previous word.

    Attributes:
        name: name of the task in URLs and files.
        title: short title in plain words; {source} and {target} stand for the languages.
        meaning: plain explanation of what the examples show, with the same placeholders as `title`.
        kind: attention kind.
        links: function that yields the cells of a trace that belong to the task; yields nothing if the task does not
            occur in the sentence.
        source, target: languages to which the task applies; empty for any language.
        general: whether the task applies to every row of a map. For any other task, the gallery shows a head only
            if its mean attention on the task's cells exceeds the attention predicted from general tasks by a margin
            (see `Exhibit.explained`).
    """

    name: str
    title: str
    meaning: str
    kind: Kind
    links: Callable[[Trace], Iterable[Link]]
    source: str = ""
    target: str = ""
    general: bool = False

    def fits(self, languages: Languages) -> bool:
        """Return whether the task applies to a model with the given languages."""
        return self.source in ("", languages.source.name) and self.target in ("", languages.target.name)

    def title_and_meaning(self, languages: Languages) -> tuple[str, str]:
        """Return the title and meaning with the language names filled in."""
        names = {"source": languages.source.name, "target": languages.target.name}
        return self.title.format(**names), self.meaning.format(**names)


def covered_text(tokens: Sequence[Token], text: str) -> str:
    """Return the text that tokens cover, without surrounding spaces; special tokens cover no text."""
    spans = [token.span for token in tokens if token.span is not None]
    return text[spans[0][0] : spans[-1][1]].strip() if spans else ""


def _neighbour(offset: int, tokens: Sequence[Token]) -> Iterator[Link]:
    for row, token in enumerate(tokens):
        column = row + offset
        if not token.special and 0 < column < len(tokens) and not tokens[column].special:
            yield row, (column,)


def _source_words(trace: Trace) -> list[tuple[tuple[int, ...], str]]:
    return _words_with_text(trace.source_tokens, trace.source_text)


def _target_words(trace: Trace) -> list[tuple[tuple[int, ...], str]]:
    """Return each target word's positions in `target_tokens`, and its text.

    In an attention map, the token at position n is predicted in row n - 1.
    """
    return _words_with_text(trace.target_tokens, trace.target_text)


def _words_with_text(tokens: Sequence[Token], text: str) -> list[tuple[tuple[int, ...], str]]:
    return [
        (group, covered_text([tokens[position] for position in group], text).strip('.,;:!?"“”„…()'))
        for group in word_groups(tokens, text)
        if not tokens[group[0]].special
    ]


def _end(trace: Trace, *, writes_end: bool) -> Iterator[Link]:
    """Yield links to the source's end symbol.

    If `writes_end`, the links are from the steps that write an end symbol; otherwise, they are from all other steps.
    """
    end = tuple(index for index, token in enumerate(trace.source_tokens) if token.role == "end")
    yield from (
        (row, end) for row, token in enumerate(trace.predicted_tokens) if (token.role == "end") == writes_end and end
    )


def _negations(trace: Trace) -> list[tuple[int, ...]]:
    return [group for group, word in _source_words(trace) if NEGATION.search(word)]


def _negated(trace: Trace) -> Iterator[Link]:
    """Yield links to an English negation from the tokens directly before and after it."""
    for group in _negations(trace):
        for row in (group[0] - 1, group[-1] + 1):
            if 0 <= row < len(trace.source_tokens) and not trace.source_tokens[row].special:
                yield row, group


def _negation_translated(trace: Trace) -> Iterator[Link]:
    negations = _negations(trace)
    written = [group for group, word in _target_words(trace) if GERMAN_NEGATION.match(word)]
    # With several negations, it is unclear which English negation corresponds to which German one.
    if len(negations) == len(written) == 1:
        yield written[0][0] - 1, negations[0]


def _clause_comma(trace: Trace) -> Iterator[Link]:
    """Yield the link from a German comma that has no English counterpart to the English word that begins the clause.

    Yield nothing unless there is exactly one comma in the German sentence and one clause-opening word in the English.
    """
    opening = [group for group, word in _source_words(trace)[1:] if word.lower() in SUBORDINATORS]
    commas = [row for row, token in enumerate(trace.predicted_tokens) if token.text.strip("▁") == ","]
    if "," not in trace.source_text and len(opening) == len(commas) == 1:
        yield commas[0], opening[0]


def _last_verb(trace: Trace) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the token positions of the auxiliary and of the verb at the end of a German sentence.

    Return None unless the sentence is a single clause (no comma) with a two-part verb.
    """
    words = [(group, word) for group, word in _target_words(trace) if word]
    auxiliaries = [group for group, word in words[:-1] if word.lower() in AUXILIARIES]
    if "," in trace.target_text or len(auxiliaries) != 1 or not GERMAN_VERB.fullmatch(words[-1][1]):
        return None
    return auxiliaries[0], words[-1][0]


def _verb_at_the_end(trace: Trace) -> Iterator[Link]:
    """Yield the link from the step that writes the final German verb to the source verb.

    Yield nothing if the source verb is one of the last two source words. It is then at the end as well, so the link
    does not show reordering.
    """
    verb = _last_verb(trace)
    if verb is None:
        return
    predicts = verb[1][0] - 1
    source = int(consensus(trace)[predicts])
    words = [group for group, word in _source_words(trace) if word]
    group = next((group for group in words if source in group), None)
    if group is not None and group in words[:-2]:
        yield predicts, group


def _verb_and_auxiliary(trace: Trace) -> Iterator[Link]:
    """Yield the link from the step that writes the final German verb to the German auxiliary.

    Yield nothing if fewer than two tokens separate the auxiliary and the verb.
    """
    verb = _last_verb(trace)
    if verb is not None and verb[1][0] - 1 > verb[0][-1] + 1:
        yield verb[1][0] - 1, verb[0]


def _aligned(trace: Trace, *, read: bool) -> Iterator[Link]:
    agreed = consensus(trace) if alignment_rows(trace, shift=False).shape[2] else np.array([], dtype=int)
    yield from ((target + read, (int(source),)) for target, source in enumerate(agreed) if source)


TASKS = (
    HeadTask(
        "previous",
        "The word before",
        "Every word looks at its left neighbour, whatever that word is. Attention has no "
        "built-in word order; this head tells the model which words are neighbours.",
        "encoder",
        lambda trace: _neighbour(-1, trace.source_tokens),
        general=True,
    ),
    HeadTask(
        "next",
        "The word after",
        "Every word looks at its right neighbour, whatever that word is.",
        "encoder",
        lambda trace: _neighbour(1, trace.source_tokens),
        general=True,
    ),
    HeadTask(
        "negation",
        "The “not” next to a word",
        "The words on both sides of “not”, “never” or “nobody” look at it more than at their other neighbours.",
        "encoder",
        _negated,
        source=ENGLISH,
    ),
    HeadTask(
        "previous_german",
        "The {target} word before",
        "Before it writes a word, the model looks back at the words it has just written.",
        "decoder",
        lambda trace: _neighbour(-1, trace.target_tokens),
        general=True,
    ),
    HeadTask(
        "auxiliary",
        "The other half of a verb",
        "German splits its verbs: “Ich habe … gesehen.” Before the model writes the second half of a verb, it looks "
        "back at the first.",
        "decoder",
        _verb_and_auxiliary,
        target=GERMAN,
    ),
    HeadTask(
        "alignment",
        "The word to translate next",
        "Before it writes a word, the model looks at the {source} word that it is translating.",
        "cross",
        lambda trace: _aligned(trace, read=False),
        general=True,
    ),
    HeadTask(
        "alignment_read",
        "The word that was just translated",
        "One step late: the model looks at a {source} word after it has written and read that word’s translation.",
        "cross",
        lambda trace: _aligned(trace, read=True),
        general=True,
    ),
    HeadTask(
        "negation_german",
        "“nicht” and “not”",
        "Before it writes “nicht”, “kein” or “nie”, the model looks at the English “not”, “no” or “never”.",
        "cross",
        _negation_translated,
        source=ENGLISH,
        target=GERMAN,
    ),
    HeadTask(
        "comma",
        "The comma that opens a clause",
        "German has a comma where English has none. Before the model writes this comma, "
        "it looks at the word that begins the clause, such as “that”, “because” or “who”.",
        "cross",
        _clause_comma,
        source=ENGLISH,
        target=GERMAN,
    ),
    HeadTask(
        "verb",
        "The verb at the end",
        "German often puts a verb last. Before the model writes this verb, it looks back at the "
        "middle of the {source} sentence, where the {source} verb is.",
        "cross",
        _verb_at_the_end,
        target=GERMAN,
    ),
    HeadTask(
        "finished",
        "When to stop",
        "When everything has been translated, the model looks at the end of the {source} "
        "sentence, and then writes the end symbol.",
        "cross",
        lambda trace: _end(trace, writes_end=True),
    ),
    HeadTask(
        "resting",
        "A place to rest",
        "The weights of a row must add up to 1, so a head with nothing to look for has to put its "
        "attention somewhere. It chooses the end symbol, which carries no meaning.",
        "cross",
        lambda trace: _end(trace, writes_end=False),
        general=True,
    ),
)
TASK: Mapping[str, HeadTask] = {task.name: task for task in TASKS}
