"""The bet on the "Decoding step by step" page: at the least certain step, which token is second most likely?"""

import numpy as np

from attention_atlas.browser.labels import disambiguate
from attention_atlas.browser.token_labels import entry_label, label_without_space
from pages.ui.bets.bet import Bet, BetAnswer, answer_of_worth
from pages.ui.reading.sentence import Reading
from transformer.text.vocabulary import TextVocabulary
from transformer.values.trace import Trace

# Number of choices. The most likely token is excluded, because the question names it.
COUNT = 4


def next_token(reading: Reading) -> Bet:
    """Return a bet about the step whose next-token distribution has the highest entropy."""
    return of_trace(reading.trace, reading.tokenizer)


def of_trace(trace: Trace, tokenizer: TextVocabulary) -> Bet:
    step = int(trace.entropy.argmax())
    span = trace.predicted_tokens[step].span
    before = trace.target_text[: span[0]].strip() if span is not None else trace.target_text
    labels = (
        label_without_space(entry_label(tokenizer, token)) for token in trace.candidate_ids[step, : COUNT + 1].tolist()
    )
    first, *others = disambiguate(labels)
    probability = dict(zip((first, *others), np.exp(trace.candidate_log_probs[step]).tolist(), strict=False))
    choices = tuple(sorted(others, key=str.casefold))
    shares = tuple(probability[name] for name in choices)

    def settle() -> BetAnswer:
        reason = (
            f"The most likely tokens are “{first}” with {probability[first]:.0%}, “{others[0]}” with "
            f"{probability[others[0]]:.0%} and “{others[1]}” with {probability[others[1]]:.0%}."
        )
        return answer_of_worth(choices, shares, reason, shares)

    begins = f"After “{before}”" if before else "At the start"
    return Bet(f"{begins}, the model finds “{first}” most likely. Which token is second most likely?", choices, settle)
