"""Finds the heads whose removal changes a translation, and the first of several interventions that changes it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.values.interventions import Head, Interventions
from transformer.values.kinds import KINDS
from transformer.values.run import Run
from transformer.values.trace import Trace

# Try the 8 heads with the largest gradient estimates one at a time, then the top 2, 4, ..., 32 together. This is
# enough for most sentences.
SINGLE_HEADS, GROUP_SIZES = 8, (2, 4, 8, 16, 32)


@dataclass(frozen=True)
class DecisiveHeads:
    """A small set of heads whose removal changes the translation.

    Attributes:
        heads: smallest such set that was found, ordered by gradient estimate; if none was found, the head with the
            largest estimate.
        translation: text that the model writes without these heads; empty if no tested set changes the translation.
    """

    heads: tuple[Head, ...]
    translation: str


@dataclass(frozen=True)
class DecisiveHeadsRun(Run[DecisiveHeads]):
    """Model run that finds the heads whose removal changes a text's translation (`decisive_heads`)."""

    text: str

    message = "Looking for heads whose removal changes the translation …"

    def compute(self, runs: Translator) -> DecisiveHeads:
        return decisive_heads(runs, self.text)


@dataclass(frozen=True)
class FirstChangeRun(Run[int | None]):
    """Model run that returns the index of the first variant that changes the translation; None if no variant does.

    Attributes:
        trace: model run that produces the translation without interventions.
        variants: interventions, in the order in which to try them.
    """

    trace: TraceRun
    variants: tuple[Interventions, ...]

    message = "Looking for a change that alters the translation …"

    @property
    def needs(self) -> tuple[TraceRun]:
        return (self.trace,)

    def compute(self, runs: Translator, trace: Trace) -> int | None:
        ids = [token.id for token in trace.predicted_tokens]
        change = first_changing_variant(runs, self.trace.text, ids, self.variants)
        return None if change is None else change[0]


def decisive_heads(translator: Translator, text: str) -> DecisiveHeads:
    """Find a small set of heads whose removal changes the translation.

    The heads with the largest gradient estimates are switched off one at a time, then several together. If the
    translation never changes, the result is the head with the largest estimate.

    Args:
        translator: the model.
        text: sentence in the source language.

    Raises: the errors of `Translator.trace`.
    """
    own_ids = [token.id for token in translator.translate(text).tokens]
    gradients = translator.gate_gradients(text, own_ids)
    places: list[Head] = [(kind, layer, head) for kind in KINDS for layer, head in np.ndindex(gradients[kind].shape)]
    needed = np.concatenate([gradients[kind].ravel() for kind in KINDS])
    ranked = [places[number] for number in np.argsort(-needed, kind="stable")]
    tried = [(head,) for head in ranked[:SINGLE_HEADS]] + [
        tuple(ranked[:count]) for count in GROUP_SIZES if count < len(ranked)
    ]
    change = first_changing_variant(
        translator, text, own_ids, [Interventions(dict.fromkeys(heads, 0.0)) for heads in tried]
    )
    return DecisiveHeads(tried[0], "") if change is None else DecisiveHeads(tried[change[0]], change[1])


def first_changing_variant(
    translator: Translator, text: str, own_ids: Sequence[int], variants: Sequence[Interventions]
) -> tuple[int, str] | None:
    """Find the first variant that changes the text of the translation.

    Args:
        translator: the model.
        text: sentence in the source language.
        own_ids: token ids of the translation without interventions.
        variants: interventions to try, in one batch.

    Returns:
        The variant's index and the text of its translation, or None if no variant changes this text.
    """
    before = translator.tokenizer.decode(own_ids)
    translations = translator.translate_variants(text, variants) if variants else []
    for number, tokens in enumerate(translations):
        after = translator.tokenizer.decode([token.id for token in tokens])
        if after != before:
            return number, after
    return None
