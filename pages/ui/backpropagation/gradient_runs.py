"""Cached gradients of the current sentence's loss.

Gradients are computed for one user at a time; meanwhile, other users can still translate.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pages.ui.params.backpropagation import BackpropagationParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from transformer.backpropagation.finite_difference import finite_difference
from transformer.backpropagation.gradients import LossInputs, parameters_of
from transformer.backpropagation.norm_placement import GradientSizes, gradient_sizes, initial_gradient_sizes
from transformer.backpropagation.sentence import SentenceGradients, sentence_batch, sentence_gradients
from transformer.backpropagation.stage import GradientStage
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.values.cancellation import check_cancelled
from transformer.values.run import Result, Run
from transformer.values.trace import Trace

TRAINED, PRE, POST = "this model, trained", "pre-norm, untrained", "post-norm, untrained"


@dataclass(frozen=True)
class Loss:
    """The loss to differentiate.

    Attributes:
        trace: the model run that traces the translation.
        step: the 0-based translation step; None for the loss summed over all steps.
        smoothing: the label smoothing, between 0 and 1.
    """

    trace: TraceRun
    step: int | None
    smoothing: float

    def batch(self, trace: Trace) -> LossInputs:
        return sentence_batch(trace, step=self.step, label_smoothing=self.smoothing)


@dataclass(frozen=True)
class _LossRun(Run[Result]):
    """Base class of runs that compute or estimate gradients of a loss, and use the model's weights."""

    loss: Loss

    uses = "weights"
    long = True

    @property
    def needs(self) -> tuple[TraceRun]:
        return (self.loss.trace,)


@dataclass(frozen=True)
class SentenceGradientsRun(_LossRun[SentenceGradients]):
    """Run that computes the gradients by hand and by autograd.

    The result stores only one encoder layer and one decoder layer completely. For the shipped model, each
    set of float64 gradients takes 40 MB.
    """

    encoder_layer: int
    decoder_layer: int

    message = "Running the backward pass, by hand and by autograd …"

    def compute(self, runs: Translator, trace: Trace) -> SentenceGradients:
        return sentence_gradients(
            runs.weights(), self.loss.batch(trace), encoder_layer=self.encoder_layer, decoder_layer=self.decoder_layer
        )


@dataclass(frozen=True)
class DifferenceRun(_LossRun[float]):
    """Run that estimates one entry of a gradient by a finite difference."""

    name: str
    at: tuple[int, ...]
    shape: tuple[int, ...]

    def compute(self, runs: Translator, trace: Trace) -> float:
        parameters, batch = parameters_of(runs.weights()), self.loss.batch(trace)
        return finite_difference(parameters, runs.config, batch, self.name, self.at, self.shape)


@dataclass(frozen=True)
class GradientSizesRun(_LossRun[dict[str, GradientSizes]]):
    """Run that computes gradient norms in the trained model and in untrained pre-norm and post-norm models."""

    message = "Computing the gradients of three models …"

    def compute(self, runs: Translator, trace: Trace) -> dict[str, GradientSizes]:
        batch, config = self.loss.batch(trace), runs.config
        models: dict[str, Callable[[], GradientSizes]] = {
            TRAINED: lambda: gradient_sizes(parameters_of(runs.weights()), config, batch),
            PRE: lambda: initial_gradient_sizes(config, "pre", batch),
            POST: lambda: initial_gradient_sizes(config, "post", batch),
        }
        sizes = {}
        for name, measure in models.items():
            sizes[name] = measure()
            check_cancelled()
        return sizes


def chosen_loss(reading: Reading) -> Loss:
    """Return the loss that the user chose: over one translation step or all steps, with the chosen label smoothing."""
    params = session.params(BackpropagationParams)
    step = min(params.step, len(reading.trace.predicted_tokens)) - 1
    return Loss(reading.run, None if step < 0 else step, params.smoothing)


def gradients_of(reading: Reading, encoder_layer: int, decoder_layer: int) -> SentenceGradients:
    """Return the gradients of the chosen loss, complete only for the given encoder layer and decoder layer."""
    return reading.runs.get(SentenceGradientsRun(chosen_loss(reading), encoder_layer, decoder_layer))


def finite_difference_of(reading: Reading, stage: GradientStage, row: int, column: int) -> float:
    """Return the finite-difference estimate of one entry in a stage's gradient matrix."""
    point = stage.point
    return reading.runs.get(DifferenceRun(chosen_loss(reading), point.name, point.place(row, column), point.shape))


def sizes_of(reading: Reading) -> dict[str, GradientSizes]:
    """Return gradient norms of the trained model and of untrained pre-norm and post-norm models, by model name."""
    return reading.runs.get(GradientSizesRun(chosen_loss(reading)))
