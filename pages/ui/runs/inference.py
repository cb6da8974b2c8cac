"""Runs of the model, computed once and shared by everybody who asks for the same."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from pages.ui.runs.script_runs import SCRIPT_RUNS
from pages.ui.runs.shared import SharedResults, end_if_left, place_shown
from pages.ui.runs.turns import Turns
from transformer.ablation.continuation import Continuation, continue_from
from transformer.ablation.continuation import reread as read_again
from transformer.ablation.effect import Effect, effect_of
from transformer.ablation.importance import MeasuredImportance, head_importance
from transformer.ablation.removal import RemovalCurve, least_important_first, random_order, removal_curve
from transformer.ablation.telling import TellingHeads, first_that_changes
from transformer.ablation.telling import telling_heads as find_telling_heads
from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.attribution.attribution import Attribution, Method, Target
from transformer.attribution.deletion import DeletionCurves
from transformer.attribution.direct_logits import DirectLogits
from transformer.attribution.direct_logits import direct_logits as components_of_logits
from transformer.checkpoints.checkpoint import Checkpoint, LanguageModel
from transformer.running.scoring import Scores
from transformer.running.translator import Translator
from transformer.serving.client import RemoteTranslator
from transformer.values.cancellation import cancellable
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions, Mode
from transformer.values.trace import Kind, Trace
from transformer.values.translation import TracedTranslation, Translation
from transformer.values.weights import Weights

MODEL_LOCK = Turns(show_place=place_shown, meanwhile=SCRIPT_RUNS)
# What takes seconds for a long sentence has turns of its own, so that nobody waits for it who wants a translation.
LONG_RUNS = Turns(show_place=place_shown, meanwhile=SCRIPT_RUNS)
# A model computes the same as another one with the same weights on the same device.
IDENTITY = {
    kind: lambda model: (model.version, model.device) for kind in (Translator, RemoteTranslator, Checkpoint)
}
# Hundreds of usual sentences, or five at the limit on length with all that is recorded of them.
RUNS = SharedResults(limit=160 * 2**20, identity=IDENTITY, waiting=SCRIPT_RUNS.given_up)
# On the CPU they are the model's own memory, so they go when it goes.
WEIGHTS: WeakKeyDictionary[Translator | LanguageModel, Weights] = WeakKeyDictionary()


@contextmanager
def turn(turns: Turns = MODEL_LOCK) -> Iterator[None]:
    """A turn at a model of this process, for one run.

    Between its steps, the run ends if its page was left, and lets others go first if it takes long.
    """

    def between_steps() -> None:
        end_if_left()
        turns.make_way()

    with turns, cancellable(between_steps):
        yield


@contextmanager
def turn_at(translator: Translator, turns: Turns = MODEL_LOCK) -> Iterator[None]:
    """As `turn`; if the model is elsewhere, a server gives the turns there, and others go on here meanwhile."""
    if not isinstance(translator, RemoteTranslator):
        with turn(turns):
            yield
        return
    with SCRIPT_RUNS.given_up(), cancellable(end_if_left):
        yield


def trace(translator: Translator, text: str, target: str = "", interventions: Interventions = AS_TRAINED) -> Trace:
    """The trace of reading a translation of `text`, or of writing one.

    Nobody can change a trace, so that all sessions share it.

    Args:
        target: the translation; empty for the one that this run writes.
        interventions: what the run changes.

    Raises:
        AtlasError: a text cannot be read; the message says what to do.
    """
    return _trace(translator, text, target, interventions)


@RUNS.remember("Translating …")
def _trace(translator: Translator, text: str, target: str, interventions: Interventions) -> Trace:
    if not target and interventions == AS_TRAINED and not isinstance(translator, RemoteTranslator):
        # What a hall full of people asks for.
        return MODEL_LOCK.together((translator.version, translator.device), text, translator.trace_together)
    with turn_at(translator):
        return translator.trace(text, target or None, interventions=interventions)


@RUNS.remember("Computing the scores …")
def detailed_trace(translator: Translator, text: str, target: str, interventions: Interventions) -> Trace:
    """As `trace`, with scores, queries, keys, values, head outputs and the residual stream."""
    with turn_at(translator):
        return translator.trace(text, target or None, details=True, interventions=interventions)


@RUNS.remember()
def metrics(translator: Translator, text: str, target: str, kind: Kind) -> HeadMetrics:
    """What every head of a kind does in a trace.

    Args:
        text, target: of `trace`.
        kind: of attention.
    """
    return head_metrics(trace(translator, text, target), kind, translator.tokenizer.key_scores(kind))


def weights(model: Translator | LanguageModel) -> Weights:
    """The model's parameters, which nobody can change."""
    found = WEIGHTS.get(model)
    if found is None:
        # Of two that are made at once one stays.
        found = WEIGHTS.setdefault(model, model.weights())
    return found


@RUNS.remember("Decoding …")
def trace_decoding(
    translator: Translator, text: str, settings: DecodingSettings, forced: tuple[int, ...], suppressed: Set[int]
) -> TracedTranslation:
    """A translation that was decoded, and all that was computed for it.

    Args:
        settings: how it is decoded.
        forced: ids of the pieces that it begins with.
        suppressed: ids that are never taken.

    Raises:
        AtlasError: there is no such translation; the message says what to do.
    """
    with turn_at(translator):
        return translator.trace_decoding(text, settings, prefix=forced, suppressed=suppressed)


@RUNS.remember("Decoding …")
def translate(translator: Translator, text: str, settings: DecodingSettings) -> Translation:
    """A translation alone; otherwise as `trace_decoding`."""
    with turn_at(translator):
        return translator.translate(text, settings)


@RUNS.remember("Asking what mattered …")
def attribution(
    translator: Translator, text: str, target: str, method: Method, targets: tuple[Target, ...], words: bool
) -> Attribution:
    """What mattered for pieces that a trace predicts, by one method.

    Args:
        text, target: of `trace`.
        method, targets, words: of `Translator.attribute`; no targets are all pieces.
    """
    detailed = detailed_trace(translator, text, target, AS_TRAINED)
    with turn(LONG_RUNS):
        return translator.attribute(detailed, method, targets or None, words=words)


@RUNS.remember("Deleting words …")
def deletion_curves(
    translator: Translator, text: str, target: str, method: Method, explained: Target, words: bool,
    columns: tuple[int, ...],
) -> DeletionCurves:
    """How fast the prediction falls when words go in the order of a method.

    Args:
        text, target: of `trace`.
        method, explained, words: of `attribution`.
        columns: of the source, to be deleted.
    """
    scores = attribution(translator, text, target, method, (explained,), words)
    detailed = detailed_trace(translator, text, target, AS_TRAINED)
    with turn(LONG_RUNS):
        return translator.deletion_curves(detailed, scores, columns)


@RUNS.remember("Taking the logit apart …")
def direct_logits(translator: Translator, text: str, target: str, explained: Target) -> DirectLogits:
    """What every component of the decoder adds to a logit.

    Args:
        text, target: of `trace`.
        explained: which logit.

    Raises:
        ValueError: the model is post-norm.
    """
    detailed, arrays = detailed_trace(translator, text, target, AS_TRAINED), weights(translator)
    with turn(LONG_RUNS):
        return components_of_logits(detailed, arrays, [explained])


@RUNS.remember("Translating without them …")
def effect(translator: Translator, text: str, target: str, interventions: Interventions, draws: int) -> Effect:
    """A sentence with and without interventions.

    Args:
        text, target: of `trace`.
        draws: of the mode "resample".

    Raises:
        AtlasError: the model has no such part; the message says what to do.
    """
    # Each of the draws is an answer.
    turns = LONG_RUNS if interventions.mode == "resample" else MODEL_LOCK
    with turn_at(translator, turns):
        return effect_of(translator, text, interventions, target or None, draws=draws)


@RUNS.remember("Looking for heads that change the words …")
def telling_heads(translator: Translator, text: str) -> TellingHeads:
    """The fewest heads to switch off for another translation of a text, of a few that are tried."""
    with turn_at(translator):
        return find_telling_heads(translator, text)


@RUNS.remember("Looking for a change of the words …")
def telling_change(translator: Translator, text: str, variants: tuple[Interventions, ...]) -> int | None:
    """The number of the first of some changes under which the model writes another translation, from 0."""
    own = [piece.id for piece in trace(translator, text).predicted_pieces]
    with turn_at(translator):
        found = first_that_changes(translator, text, own, variants)
    return None if found is None else found[0]


@RUNS.remember("Running the changed model …")
def reread(translator: Translator, text: str, target: str, interventions: Interventions) -> Trace:
    """What a changed model computes when it reads the translation that `trace` has.

    Raises:
        AtlasError: the model or the sentence has no such part; the message says what to do.
    """
    before = trace(translator, text, target)
    with turn_at(translator):
        return read_again(translator, before, interventions)


@RUNS.remember()
def changed_metrics(
    translator: Translator, text: str, target: str, interventions: Interventions, kind: Kind
) -> HeadMetrics:
    """What every head of a kind does in a trace of `reread`."""
    return head_metrics(reread(translator, text, target, interventions), kind, translator.tokenizer.key_scores(kind))


@RUNS.remember("Writing on from there …")
def continuation(
    translator: Translator, text: str, target: str, interventions: Interventions, step: int | None
) -> Continuation:
    """How a changed model writes the translation on.

    Args:
        text, target, interventions: of `reread`.
        step: of `transformer.ablation.continuation.continue_from`.

    Raises: those of `reread`.
    """
    before, after = trace(translator, text, target), reread(translator, text, target, interventions)
    with turn_at(translator):
        return continue_from(translator, before, after, step)


@RUNS.remember("Switching every head off …")
def importance(
    translator: Translator, text: str, target: str, mode: Mode, seed: int, draws: int
) -> MeasuredImportance:
    """What every head is worth to a translation.

    Args:
        text, target: of `trace`.
        mode: what is put in the place of a head.
        seed, draws: of the mode "resample".
    """
    with turn_at(translator, LONG_RUNS):
        return head_importance(translator, text, target or None, mode=mode, seed=seed, draws=draws)


@RUNS.remember("Switching heads off …")
def score(translator: Translator, text: str, target: str, variants: tuple[Interventions, ...]) -> Scores:
    """How the model, changed in many ways, reads one translation.

    Args:
        text, target: of `trace`.
        variants: the changes.
    """
    with turn_at(translator, LONG_RUNS):
        return translator.score(text, target or None, variants)


@RUNS.remember("Removing the heads one after the other …")
def removal_curves(
    translator: Translator, text: str, target: str, mode: Mode, seed: int, draws: int, orders: int
) -> tuple[RemovalCurve, ...]:
    """The log-probability of a translation while heads are removed: first those of which `importance` measures the
    least, then those of which its gradient does, then so many random orders.

    Args:
        text, target, mode, seed, draws: of `importance`; of the draws the curves take the first.
        orders: how many random ones.
    """
    found, config = importance(translator, text, target, mode, seed, draws), translator.config
    ranked = [least_important_first(config, found.measured), least_important_first(config, found.estimated)]
    ranked += [random_order(config, number) for number in range(orders)]
    written = target or [piece.id for piece in trace(translator, text).predicted_pieces]
    with turn_at(translator, LONG_RUNS):
        return tuple(removal_curve(translator, text, written, order, mode=mode, seed=seed) for order in ranked)
