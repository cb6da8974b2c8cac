"""The bet on the "What mattered" page: which word's removal would change the translation most?"""

from attention_atlas.browser.token_labels import label_without_space
from pages.ui.bets.bet import Bet, BetAnswer, answer_of_worth
from pages.ui.reading.sentence import Reading
from pages.ui.what_mattered.question import source_columns
from transformer.attribution.attribution import whole_sentence
from transformer.running.runs.attribution import AttributionRun

MIN_WORDS = 2
QUESTION_TEXT = "Which word's removal would change the translation most?"


def missing_word(reading: Reading) -> Bet | None:
    """Return a bet on which source word matters most, settled by erasure; None if there are too few words."""
    _, labels, ranked = source_columns(reading.trace, words=True)
    if len(ranked) < MIN_WORDS:
        return None
    choices = tuple(label_without_space(labels[column]) for column in ranked)

    def settle() -> BetAnswer:
        run = AttributionRun(reading.run, "erasure", (whole_sentence(reading.trace),), words=True)
        falls = tuple(float(reading.runs.get(run).source[0][column]) for column in ranked)
        first, second = sorted(range(len(falls)), key=lambda at: -falls[at])[:2]
        reason = (
            f"When “{choices[first]}” is hidden, the translation's log-probability falls by {falls[first]:.2f} nats; "
            f"next comes “{choices[second]}” with {falls[second]:.2f}."
        )
        return answer_of_worth(choices, falls, reason)

    return Bet(QUESTION_TEXT, choices, settle)
