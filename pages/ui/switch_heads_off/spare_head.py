"""The bet on the "Switch heads off" page: which head can be removed at the least cost?"""

import numpy as np

from pages.ui.bets.bet import Bet, BetAnswer, answer_of_worth
from pages.ui.heads.kinds import head_title
from pages.ui.reading.sentence import Reading
from pages.ui.text.number_format import typeset
from transformer.ablation.effect import EffectRun
from transformer.values.interventions import Head, Interventions
from transformer.values.trace import Trace


def spare_head(reading: Reading) -> Bet:
    """Return a bet on which of the most focused heads can be removed at the least cost.

    The bet shows that a head can be focused and yet matter little.
    """
    heads = certain_heads(reading.trace)
    choices = tuple(head_title(*head) for head in heads)

    def settle() -> BetAnswer:
        effects = [reading.runs.get(EffectRun(reading.run, Interventions({head: 0.0}))) for head in heads]
        costs = [abs(effect.change) for effect in effects]
        reasons = [
            f"{choice}: the log-probability changes by {typeset(effect.change, '+.2f')} nats, and the model writes "
            + ("the same translation" if effect.first_difference is None else "a different translation")
            for choice, effect in zip(choices, effects, strict=True)
        ]
        best, worst = costs.index(min(costs)), costs.index(max(costs))
        reason = (
            "Cost is the size of the change in the translation's log-probability. The cost is lowest without "
            f"{reasons[best]}. It is highest without {reasons[worst]}."
        )
        return answer_of_worth(choices, tuple(-cost for cost in costs), reason)

    return Bet("Which of these heads can be removed at the least cost?", choices, settle)


def certain_heads(trace: Trace) -> tuple[Head, ...]:
    """Return the heads with the largest mean row maximum: two for cross-attention, one for any other attention kind."""
    heads: list[Head] = []
    for kind in trace.kinds:
        certain = trace.attention(kind).max(axis=-1).mean(axis=-1)
        best = np.argsort(-certain, axis=None, kind="stable")[: 2 if kind == "cross" else 1]
        for at in best.tolist():
            layer, head = divmod(at, certain.shape[1])
            heads.append((kind, layer, head))
    return tuple(heads)
