"""The bet on the "Change what it looks at" page: make the model write a given word that is not in its translation."""

import re

from pages.ui.bets.offer import show_challenge
from pages.ui.bets.verdict import Verdict
from pages.ui.change_attention.example import example
from pages.ui.change_attention.resolution import given_rows
from pages.ui.reading.sentence import Reading
from pages.ui.text.markup import markdown
from transformer.ablation.continuation import ContinuationRun, RereadRun
from transformer.values.interventions import AS_TRAINED, Interventions


def show_make_it_say(reading: Reading, translation: str | None) -> None:
    """Show the bet, if the page has an example edit that wins it.

    Args:
        reading: the sentence and its model run.
        translation: the changed model's translation; None if there are no changes.
    """
    word = make_it_say(reading)
    if word is not None:
        judged = None if translation is None else attempt(word, reading.trace.target_text, translation)
        show_challenge("change_attention", f"Make it say “{word}”.", judged, reading.trace.source_text)


def make_it_say(reading: Reading) -> str | None:
    """Return the word to aim for: one that the model writes after the page's example edit; None if there is none."""
    edit = None if reading.given else example(reading)
    if edit is None:
        return None
    changed = RereadRun(reading.run, Interventions(attention=given_rows(edit, reading.own, AS_TRAINED)))
    return word_to_write(reading.own.target_text, reading.runs.get(ContinuationRun(changed)).written.text)


def word_to_write(before: str, changed: str) -> str | None:
    """Return the last word of the changed translation that is not in the original; None if there is none."""
    old = set(_words(before))
    return next((word for word in reversed(_words(changed)) if word not in old), None)


def attempt(word: str, before: str, now: str) -> Verdict:
    """Return the verdict on an attempt to make the model write a word.

    Args:
        word: the word to write.
        before, now: the translations before and after the changes.
    """
    if word in _words(now):
        return Verdict("right", f"**Right.** The model now writes “{markdown(word)}”.")
    if now != before:
        return Verdict("close", f"**Close.** The translation changed, but it does not contain “{markdown(word)}”.")
    return Verdict("wrong", "**Not yet.** The translation is still the same.")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
