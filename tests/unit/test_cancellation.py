"""Tests that a model run reports progress to its own caller, and that only this caller's check cancels it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer.ablation.decisive_heads import decisive_heads
from transformer.ablation.effect import effect_of
from transformer.ablation.importance import head_importance
from transformer.ablation.removal import random_order, removal_curve
from transformer.attribution.attribution import Target
from transformer.backpropagation.sentence import sentence_batch, sentence_gradients
from transformer.running.runs.scores import ContrastsRun
from transformer.values.cancellation import cancellable, check_cancelled
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions

TEXT, TARGET = "The old man reads a book.", "Der alte Mann liest ein Buch."
OFF = Interventions(gates={("cross", 0, 0): 0.0})


class Left(BaseException):
    """Stands in for the exception that Streamlit raises in the thread of a page that the user left."""


def leave() -> None:
    raise Left


def attributed(model, method):
    trace = model.trace(TEXT, TARGET, details=True)
    return lambda: model.attribute(trace, method, [Target((0,))])


def deleted(model):
    trace = model.trace(TEXT, TARGET, details=True)
    attribution = model.attribute(trace, "weights", [Target((0,))])
    return lambda: model.deletion_curves(trace, attribution, (0, 1))


def sent_back(model):
    batch, weights = sentence_batch(model.trace(TEXT, TARGET)), model.weights()
    return lambda: sentence_gradients(weights, batch)


# Functions that prepare a model run, and return a function that starts it.
RUNS = {
    "translate": lambda model: lambda: model.translate(TEXT),
    "beam": lambda model: lambda: model.translate(TEXT, DecodingSettings("beam")),
    "sample": lambda model: lambda: model.trace_decoding(TEXT, DecodingSettings("sample")),
    "translate_variants": lambda model: lambda: model.translate_variants(TEXT, [OFF]),
    "trace": lambda model: lambda: model.trace(TEXT),
    "trace_decoding": lambda model: lambda: model.trace_decoding(TEXT),
    "score": lambda model: lambda: model.score(TEXT, TARGET, [OFF]),
    "compare": lambda model: lambda: model.compare(TEXT, TARGET, [OFF]),
    "erasure": lambda model: attributed(model, "erasure"),
    "frozen_gradient": lambda model: attributed(model, "frozen_gradient"),
    "integrated_gradients": lambda model: attributed(model, "integrated_gradients"),
    "deletion_curves": deleted,
    "effect_of": lambda model: lambda: effect_of(model, TEXT, OFF, TARGET),
    "head_importance": lambda model: lambda: head_importance(model, TEXT, TARGET),
    "removal_curve": lambda model: lambda: removal_curve(model, TEXT, TARGET, random_order(model.config, 0)),
    "decisive_heads": lambda model: lambda: decisive_heads(model, TEXT),
    "sentence_gradients": sent_back,
}


@pytest.mark.parametrize("name", RUNS)
def test_every_model_run_with_several_steps_can_be_cancelled(small_translator, name):
    run = RUNS[name](small_translator)
    steps = []
    with cancellable(lambda: steps.append(name)):
        assert run() is not None
    assert steps
    with pytest.raises(Left), cancellable(leave):
        run()
    assert run() is not None, "what was set is gone with its block"


def test_patching_in_batches_reports_increasing_progress_up_to_one(small_translator):
    shares = []
    read = tuple(token.id for token in small_translator.trace(TEXT, TARGET).predicted_tokens)
    with cancellable(None, shares.append):
        small_translator.get(ContrastsRun(TEXT, read, 2, (5, 6), (OFF,) * 200))
    assert len(shares) > 2 and shares == sorted(shares) and shares[-1] == 1.0


def test_inner_cancellation_block_overrides_the_outer_block():
    calls: list[str] = []
    check_cancelled()
    with cancellable(lambda: calls.append("outer")):
        check_cancelled()
        with cancellable(lambda: calls.append("inner")):
            check_cancelled()
        with cancellable(None):
            check_cancelled()
        with pytest.raises(Left), cancellable(leave):
            check_cancelled()
        check_cancelled()
    check_cancelled()
    assert calls == ["outer", "inner", "outer"]


def test_cancelling_one_thread_does_not_cancel_another_thread():
    with cancellable(leave), ThreadPoolExecutor(1) as somebody_else:
        assert somebody_else.submit(check_cancelled).result() is None
        with pytest.raises(Left):
            check_cancelled()
