"""The bet of *Decoding step by step*: how does the translation go on, where the model hesitates most?"""

from __future__ import annotations

import math

from attention_atlas.browser.labels import told_apart
from attention_atlas.browser.piece_labels import bare, entry_label
from pages.ui.bets.bet import Bet, Settled, settled
from pages.ui.reading.sentence import Reading
from transformer.text.vocabulary import TextVocabulary
from transformer.values.trace import Trace

# The number of candidates to choose from.
COUNT = 4


def next_token(reading: Reading) -> Bet:
    """Return the bet on the step whose distribution has the highest entropy."""
    return of_trace(reading.trace, reading.tokenizer)


def of_trace(trace: Trace, tokenizer: TextVocabulary) -> Bet:
    step = int(trace.entropy.argmax())
    span = trace.predicted_pieces[step].span
    before = trace.target_text[: span[0]].strip() if span is not None else trace.target_text
    names = told_apart(bare(entry_label(tokenizer, piece)) for piece in trace.candidate_ids[step, :COUNT].tolist())
    probability = dict(zip(names, map(math.exp, trace.candidate_log_probs[step, :COUNT].tolist()), strict=True))
    choices = tuple(sorted(names, key=str.casefold))
    shares = tuple(probability[name] for name in choices)

    def settle() -> Settled:
        first, second = names[:2]
        reason = f"The model gives “{first}” {probability[first]:.0%} and “{second}” {probability[second]:.0%}."
        return settled(choices, shares, reason, shares)

    begins = f"After “{before}”, which token" if before else "Which token"
    return Bet(f"{begins} does the model find most likely?", choices, settle)
