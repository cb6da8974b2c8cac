"""Gradients of the sentence that is read, computed for one person at a time, while others translate, and cached."""

from __future__ import annotations

from collections.abc import Callable

from pages.ui.params.backpropagation import BackpropagationParams
from pages.ui.reading.sentence import Reading
from pages.ui.runs.inference import LONG_RUNS, RUNS, trace, turn, weights
from pages.ui.state import session
from transformer.backpropagation.finite_difference import finite_difference
from transformer.backpropagation.gradients import Batch, parameters_of
from transformer.backpropagation.norm_placement import GradientSizes, fresh_sizes, gradient_sizes
from transformer.backpropagation.sentence import SentenceGradients, sentence_batch, sentence_gradients
from transformer.backpropagation.stage import GradientStage
from transformer.running.translator import Translator
from transformer.values.cancellation import check_cancelled

TRAINED, PRE, POST = "this model, trained", "pre-norm, untrained", "post-norm, untrained"
# What a loss is asked of: a text, its translation (empty for the model's own), the step (-1 for all), and smoothing.
Asked = tuple[str, str, int, float]


def asked(reading: Reading) -> Asked:
    """The loss that the page is about."""
    params, own = session.params(BackpropagationParams), reading.trace
    step = min(params.step, len(own.predicted_pieces)) - 1
    return own.source_text, own.target_text if reading.given else "", step, params.smoothing


def gradients_of(reading: Reading, encoder_layer: int, decoder_layer: int) -> SentenceGradients:
    """The gradients, with everything of two layers."""
    return _gradients(reading.translator, asked(reading), encoder_layer, decoder_layer)


def difference_of(reading: Reading, stage: GradientStage, row: int, column: int) -> float:
    """The finite difference of one number of a stage."""
    point = stage.point
    return _difference(
        reading.translator, asked(reading), point.name, point.place(row, column), point.shape
    )


def sizes_of(reading: Reading) -> dict[str, GradientSizes]:
    """The size of gradients through this model, and through fresh ones with the norms in both places."""
    return _sizes(reading.translator, asked(reading))


def _batch(translator: Translator, loss: Asked) -> Batch:
    text, target, step, smoothing = loss
    return sentence_batch(
        trace(translator, text, target), step=None if step < 0 else step, label_smoothing=smoothing
    )


# 40 MB each for the model that ships: two layers, twice, in float64.
@RUNS.remember("Going backwards, by hand and by autograd …")
def _gradients(translator: Translator, loss: Asked, encoder_layer: int, decoder_layer: int) -> SentenceGradients:
    batch = _batch(translator, loss)
    with turn(LONG_RUNS):
        return sentence_gradients(
            weights(translator), batch, encoder_layer=encoder_layer, decoder_layer=decoder_layer
        )


@RUNS.remember()
def _difference(
    translator: Translator, loss: Asked, name: str, at: tuple[int, ...], shape: tuple[int, ...]
) -> float:
    batch = _batch(translator, loss)
    with turn(LONG_RUNS):
        return finite_difference(parameters_of(weights(translator)), translator.config, batch, name, at, shape)


@RUNS.remember("Computing the gradients of three models …")
def _sizes(translator: Translator, loss: Asked) -> dict[str, GradientSizes]:
    batch, config = _batch(translator, loss), translator.config
    models: dict[str, Callable[[], GradientSizes]] = {
        TRAINED: lambda: gradient_sizes(parameters_of(weights(translator)), config, batch),
        PRE: lambda: fresh_sizes(config, "pre", batch),
        POST: lambda: fresh_sizes(config, "post", batch),
    }
    sizes = {}
    with turn(LONG_RUNS):
        for name, measure in models.items():
            sizes[name] = measure()
            check_cancelled()
    return sizes
