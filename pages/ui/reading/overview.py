"""The data for the Translate page's diagram: attention thumbnails, and the links between words."""

import numpy as np

from attention_atlas.browser.token_labels import group_label
from pages.ui.charts.thumbnail import data_uri
from pages.ui.components.diagram import AttentionBox, Story, StoryWords
from pages.ui.heads.kinds import PAGES
from pages.ui.params.attention import AttentionParams
from pages.ui.reading.sentence import Reading
from pages.ui.runs.shared import SharedResults
from transformer.analysis.heads.names import head_names
from transformer.analysis.view import axes_of, view_of
from transformer.analysis.word_links import (
    SentenceWords,
    WordLink,
    by_word,
    counterparts,
    source_words,
    target_words,
    word_links,
)
from transformer.values.trace import Kind

# The limit is in bytes, and is enough for about a hundred sentences of maximum length.
OVERVIEWS = SharedResults(limit=16 * 2**20)
# Maximum numbers of links shown for a word: outgoing at first, outgoing after a click on "Show … more", and incoming.
# A word's outgoing links lead to the words that it attends to. The links most above their usual weight are kept.
MAX_LOOKS, MAX_ALL_LOOKS, MAX_LOOKED_AT = 3, 12, 1
# Pronouns are preferred as the default word, because users first want to see where pronouns look.
PRONOUNS = frozenset({"it", "he", "she", "they", "him", "her", "them", "its", "his", "their", "who", "which", "that"})


def overview(reading: Reading) -> tuple[dict[Kind, AttentionBox], Story]:
    """Return the diagram's attention boxes and the links between words, cached for all users."""
    choices: dict[Kind, AttentionParams] = {kind: reading.choice(kind) for kind in PAGES}

    def made() -> tuple[dict[Kind, AttentionBox], Story]:
        return {kind: attention_box(reading, kind, choice) for kind, choice in choices.items()}, story(reading)

    return OVERVIEWS.get((*reading.runs.identity, reading.run, reading.languages, *choices.values()), made)


def attention_box(reading: Reading, kind: Kind, choice: AttentionParams) -> AttentionBox:
    """Return the diagram's box for one kind of attention, with a thumbnail of the selected head's map."""
    view = view_of(reading.trace, kind, words=choice.words, special=not choice.hide)
    weights = np.where(view.mask, view.weights[choice.layer, choice.head], np.nan)
    head = f"layer {choice.layer + 1}, head {choice.head + 1}"
    name = ", ".join(head_names(reading.metrics(kind))[choice.layer][choice.head])
    return AttentionBox(
        title=PAGES[kind].title,
        subtitle=PAGES[kind].subtitle(reading.languages),
        head=f"{head}: {name}" if name else head,
        map=data_uri(weights),
        rows=weights.shape[0],
        columns=weights.shape[1],
    )


def story(reading: Reading) -> Story:
    """Return the most prominent links of each word of the sentence and its translation, and the first word to show."""
    trace, languages = reading.trace, reading.languages
    links = by_word(word_links(trace, {kind: reading.metrics(kind) for kind in PAGES}))
    numbers: dict[WordLink, int] = {}

    def told(
        words: SentenceWords, language: str, rows: set[tuple[int, ...]], partners: list[int], *, source: bool
    ) -> StoryWords:
        sides = [links[source, word] for word in range(len(words.tokens))]

        def numbered(word_links: list[WordLink]) -> list[int]:
            return [numbers.setdefault(link, len(numbers)) for link in word_links]

        return StoryWords(
            language=language,
            words=[group_label(tokens, words.text, words=True) for tokens in words.tokens],
            spoken=words.has_letters,
            rows=words.rows,
            columns=words.columns,
            alone=[row in rows for row in words.rows],
            looks=[numbered(looks[:MAX_ALL_LOOKS]) for looks, _ in sides],
            looked=[numbered(looked[:MAX_LOOKED_AT]) for _, looked in sides],
            across=partners,
        )

    of_source, of_target = counterparts(trace)
    source = told(source_words(trace), languages.source.name, set(), of_source, source=True)
    rows = set(axes_of(trace, "decoder", words=True).row_positions)
    target = told(target_words(trace), languages.target.name, rows, of_target, source=False)
    sent: list[tuple[Kind, int, int, int, int, float]] = [
        (link.kind, link.row, link.column, link.layer, link.head, round(link.weight, 4)) for link in numbers
    ]
    seen = [
        sum(sent[number][-1] for number in looks[:MAX_LOOKS]) + MAX_LOOKS * (word.lower() in PRONOUNS) * bool(looks)
        for word, looks in zip(source.words, source.looks, strict=True)
    ]
    return Story(source, target, sent, opens=int(np.argmax(seen)) if any(seen) else -1, first=MAX_LOOKS)
