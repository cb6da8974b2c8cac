"""Claims about activation patching between two sentences: which model parts are necessary, and which are sufficient."""

from dataclasses import dataclass

import numpy as np

from transformer.ablation.patching import (
    GridRun,
    Patches,
    PatchingQuestion,
    PatchRun,
    head_patches,
    partner_positions,
    question_of,
    reversed_patches,
)
from transformer.errors import LessonError
from transformer.lessons.claims.decoding import token_name
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.evidence import Evidence
from transformer.running.runs.trace import TraceRun
from transformer.values.trace import Trace


@dataclass(frozen=True, eq=False)
class MinimalPair:
    """Two sentences that differ in one word, and two candidates for the next token.

    Attributes:
        a, b: traces of the lesson's sentence and of the other sentence, both with the translation of the lesson's
            sentence.
        question: the two sentences and the two candidates, for patching activations from `b` into `a`.
    """

    a: Trace
    b: Trace
    question: PatchingQuestion


def minimal_pair(evidence: Evidence, other: str, step: int = 0) -> MinimalPair:
    """Return the lesson's sentence and another sentence as a minimal pair.

    Args:
        evidence: the lesson's sentence and the model.
        other: the other sentence.
        step: 1-based decoding step to compare; 0 chooses the first step at which the model prefers different tokens
            for the two sentences.

    Raises:
        LessonError: the translation has no such step.
    """
    a = evidence.trace(details=True)
    b = evidence.runs.get(TraceRun(other, tuple(token.id for token in a.predicted_tokens), details=True))
    return MinimalPair(a, b, question_of(a, b, evidence.step(step) if step else None))


def effects_of(evidence: Evidence, at: MinimalPair, patches: Patches) -> tuple[float, float]:
    """Measure the effects of patches between the runs on the two sentences, in both directions.

    Returns:
        needed: effect of patching the other sentence's activations into the run on the lesson's sentence.
        enough: effect of patching in the opposite direction.

    Raises:
        LessonError: the two sentences have nearly equal logit differences at this step, so effects are undefined.
    """
    effects = [
        evidence.runs.get(PatchRun(question, each)).effects
        for question, each in ((at.question, patches), (at.question.reversed, reversed_patches(patches)))
    ]
    if effects[0] is None or effects[1] is None:
        raise LessonError("the two sentences hardly differ at this step, so effects are undefined: choose another step")
    return float(effects[0][0]), float(effects[1][0])


def effects_by_place(evidence: Evidence, at: MinimalPair) -> dict[str, tuple[float, float]]:
    """Patch several parts of the model; return the two effects (needed, enough) of patching each part, by part name.

    Raises:
        LessonError: no token differs between the sentences, or their logit differences are nearly equal at this step.
    """
    depth = evidence.runs.config.encoder_layers
    matched, changed = partner_positions("encoder.residual", at.a, at.b, at.question.step), changed_position(at)
    encoder: dict[int, Patches] = {one: ((("encoder.residual", depth, 0, one), matched[one]),) for one in matched}
    layer, head, _ = most_attending_head(at, changed)
    places: dict[str, Patches] = {
        "the changed word": encoder[changed],
        "all other words": tuple(pair for one in matched if one != changed for pair in encoder[one]),
        "all cross-attention heads": tuple(
            pair
            for one in range(evidence.runs.config.decoder_layers)
            for number in range(evidence.runs.config.heads)
            for pair in _head(at, one, number)
        ),
        "the head with the largest effect": _head(at, *strongest_head(evidence, at)),
        "the head that looks most at the changed word": _head(at, layer, head),
    }
    return {name: effects_of(evidence, at, patches) for name, patches in places.items()}


def changed_position(at: MinimalPair) -> int:
    """Return the position of the first source token that differs from the corresponding token of the other sentence.

    Raises:
        LessonError: no token differs.
    """
    matched = partner_positions("encoder.residual", at.a, at.b, at.question.step)
    changed = [one for one, other in matched.items() if at.a.source_tokens[one].id != at.b.source_tokens[other].id]
    if not changed:
        raise LessonError("no two corresponding tokens of the sentences differ: replace one word with another")
    return changed[0]


def strongest_head(evidence: Evidence, at: MinimalPair) -> tuple[int, int]:
    """Return the cross-attention head with the largest patching effect on the lesson's sentence, as (layer, head)."""
    contrasts = evidence.runs.get(GridRun(at.question, "cross.outputs"))
    sizes = np.abs(contrasts.patched - contrasts.run)
    layer, head = np.unravel_index(int(sizes.argmax()), sizes.shape)
    return int(layer), int(head)


def most_attending_head(at: MinimalPair, position: int) -> tuple[int, int, float]:
    """Return the cross-attention head that attends most to a source token: 0-based layer, 0-based head, and weight."""
    weights = at.a.cross[:, :, at.question.step, position]
    layer, head = np.unravel_index(int(weights.argmax()), weights.shape)
    return int(layer), int(head), float(weights.max())


@claim("needed", "enough", "rest", "word", "instead")
def changed_word_decides(evidence: Evidence, other: str) -> Finding:
    """The encoder output at the changed word is both needed and enough for the model's choice of the next word."""
    at = minimal_pair(evidence, other)
    effects = effects_by_place(evidence, at)
    (needed, enough), (rest, _) = effects["the changed word"], effects["all other words"]
    word, instead = token_names(evidence, at)
    return finding(needed > 0.9 and enough > 0.9, needed=needed, enough=enough, rest=rest, word=word, instead=instead)


@claim("all", "needed", "enough", "layer", "head", "count")
def no_head_is_enough(evidence: Evidence, other: str) -> Finding:
    """All cross-attention heads together determine the next token; the strongest one has less than half the effect."""
    at = minimal_pair(evidence, other)
    effects, (layer, head) = effects_by_place(evidence, at), strongest_head(evidence, at)
    needed, enough = effects["the head with the largest effect"]
    all_heads = effects["all cross-attention heads"][0]
    return finding(
        all_heads > 0.99 and max(needed, enough) < 0.5,
        all=all_heads,
        needed=needed,
        enough=enough,
        layer=layer + 1,
        head=head + 1,
        count=at.a.cross.shape[0] * at.a.cross.shape[1],
    )


@claim("weight", "needed", "most", "layer", "head")
def looking_is_not_deciding(evidence: Evidence, other: str) -> Finding:
    """The head that looks most at the changed word is not the head with the largest effect."""
    at = minimal_pair(evidence, other)
    effects = effects_by_place(evidence, at)
    layer, head, weight = most_attending_head(at, changed_position(at))
    needed = effects["the head that looks most at the changed word"][0]
    most = effects["the head with the largest effect"][0]
    return finding(
        weight > 0.5 and needed < most, weight=weight, needed=needed, most=most, layer=layer + 1, head=head + 1
    )


@claim("first", "second", "difference", "word", "instead")
def changed_word_hardly_matters(evidence: Evidence, other: str, step: int) -> Finding:
    """At a given step, changing one word hardly changes the model's choice, so the effect of a patch is undefined."""
    at = minimal_pair(evidence, other, step)
    contrasts = evidence.runs.get(PatchRun(at.question, ()))
    word, instead = token_names(evidence, at)
    return finding(
        contrasts.is_close,
        first=contrasts.run,
        second=contrasts.other,
        difference=abs(contrasts.other - contrasts.run),
        word=word,
        instead=instead,
    )


def token_names(evidence: Evidence, at: MinimalPair) -> tuple[str, str]:
    """Return the texts of the two candidate tokens."""
    one, other = (token_name(token) for token in evidence.runs.tokenizer.tokens(at.question.tokens))
    return one, other


def _head(at: MinimalPair, layer: int, head: int) -> Patches:
    return head_patches("cross.outputs", layer, head, partner_positions("cross.outputs", at.a, at.b, at.question.step))
