"""The training loop: takes steps, saves checkpoints to resume from, and averages the last checkpoints."""

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from transformer.checkpoints.learning_curve import Curve, Validation
from transformer.checkpoints.model_files import copy_weights, save_model
from transformer.training.averaging import average
from transformer.training.config import TrainConfig
from transformer.training.distributed import Process, has_bfloat16
from transformer.training.optimizer import Optimizer
from transformer.training.run_folder import STATE, RunFolder, TrainingState
from transformer.training.schedule import trapezoid
from transformer.training.setup import training_setup
from transformer.training.shared_state import shared_state
from transformer.training.steps import DivergedError, Steps
from transformer.training.vocabulary_transfer import transfer

LOG_STEPS = 25
# Settings that may change when a run is resumed: its length, its cooldown, and how checkpoints are saved.
CHANGEABLE_SETTINGS = ("steps", "cooldown", "average", "save_minutes")

log = logging.getLogger(__name__)


class Trainer:
    """Trains one model in a run folder (see `RunFolder`).

    Every random choice in a step depends only on the seed, the step number and the process. A training run that is
    interrupted and resumed with the same number of processes therefore takes the same steps as an uninterrupted run.
    Only the averaged model may differ, because the clock decides when checkpoints are saved.

    Args:
        run: run folder.
        config: training settings. A resumed run may change only the settings in CHANGEABLE_SETTINGS.
        process: this process and its device.
        start: model folder with initial weights for a new run; None means random weights. If the vocabularies differ,
            the weights are transferred to the run's vocabulary.

    Raises:
        ValueError: the micro-batches outnumber the batches or cannot be divided evenly among the processes; the
            processes differ in config, vocabulary or data; or the model to start with has a different shape. Also
            raised if the run to resume had another config, vocabulary or data, or has already taken more steps.
    """

    def __init__(self, run: Path, config: TrainConfig, process: Process, start: Path | None = None) -> None:
        if config.micro_batches % process.count:
            raise ValueError(
                f"{config.micro_batches} micro-batches cannot be divided evenly among {process.count} processes"
            )
        self.folder = RunFolder(run)
        self.config = config
        self.process = process
        self.curve = Curve(self.folder.curve)
        self.tokenizer = self.folder.tokenizer()
        self.setup = training_setup(self.folder, self.tokenizer, config)
        self.fingerprints = self.folder.fingerprints(self.tokenizer)
        self.batches, self.validation = self.setup.batches, self.setup.validation
        self.order = lru_cache(maxsize=2)(self.batches.epoch)
        self.batches_per_epoch = len(self.order(0))
        if config.micro_batches > self.batches_per_epoch:
            raise ValueError(
                f"--micro-batches must be at most {self.batches_per_epoch}, the number of batches in the data, not "
                f"{config.micro_batches}"
            )
        self.model = self.setup.model.to(process.device)
        self.optimizer = Optimizer(self.model, config)
        self.loss = self.setup.loss
        self.step = 0
        self.seconds = 0.0
        state = shared_state(self.folder, config, self.fingerprints, process)
        if state:
            self._resume(state)
        elif start:
            self._start_with(start)
        process.run_in_first(partial(self._tidy, state))
        objective = DistributedDataParallel(self.loss) if process.count > 1 else self.loss
        mixed = has_bfloat16(process.device)
        self.steps = Steps(objective, self.optimizer, config, process, mixed=mixed)

    def train(self) -> None:
        """Take the remaining steps, and write the finished model to `model/`.

        Raises:
            DivergedError: a loss, a gradient or a weight is not finite. The last checkpoint stays unchanged.
            OSError: a file cannot be written. The last checkpoint stays unchanged.
        """
        try:
            self._take_steps()
            if self.process.rank == 0:
                self._finish()
        except OSError as error:
            raise OSError(f"{error}: run the same command again to continue from the last checkpoint") from error

    def _take_steps(self) -> None:
        saved = time.monotonic()
        started = saved - self.seconds
        while self.step < self.config.steps:
            # Save a checkpoint only after a log report, so that every
            # logged loss is a mean over the same number of steps.
            loss, norm, speed = self._take_reported_steps(started)
            finished = self.step == self.config.steps
            due = finished or time.monotonic() - saved > 60 * self.config.save_minutes
            save = self.process.rank == 0 and due
            self._report(loss, self.validate() if save else None, norm, speed)
            if save:
                self._save()
                saved = time.monotonic()

    def _take_reported_steps(self, started: float) -> tuple[float, float, float]:
        """Take steps until the next log report is due.

        Args:
            started: `time.monotonic()` at the start of training, shifted so that interruptions are not counted.

        Returns:
            Mean loss in nats per token; norm of the last gradient; and tokens per second.
        """
        losses, tokens, began = 0.0, 0, time.monotonic()
        while True:
            loss, count, norm = self.take_step()
            losses, tokens = losses + loss, tokens + count
            self.seconds = time.monotonic() - started
            if self.step == self.config.steps or self.step % LOG_STEPS == 0:
                return losses / tokens, norm, tokens / (time.monotonic() - began)

    def take_step(self) -> tuple[float, int, float]:
        """Take one optimiser step.

        Returns:
            The loss in nats, summed over the tokens of all processes; the number of these tokens; and the norm of the
            gradient.

        Raises:
            DivergedError: the loss or the gradient is not finite; the weights stay unchanged.
        """
        config, process = self.config, self.process
        torch.manual_seed((config.seed * 1_000_003 + self.step) * process.count + process.rank)
        members = [self._members(self.step * config.micro_batches + i) for i in range(config.micro_batches)]
        tokens = sum(map(self.batches.count, members))
        own_batches = [self.batches.load(member) for member in members[process.rank :: process.count]]
        try:
            total, norm = self.steps.take(self.step, own_batches, tokens)
        except DivergedError as error:
            raise self._diverged(str(error)) from error
        self.step += 1
        return total, tokens, norm

    @torch.no_grad()
    def validation_loss(self) -> float:
        """Return the mean loss on the validation data in nats per token, including label smoothing."""
        self.loss.eval()
        total, tokens = 0.0, 0
        for batch in self.validation:
            with self.steps.autocast():
                total += float(self.loss(batch.to(self.process.device)))
            tokens += batch.tokens
        return total / tokens

    def validate(self) -> Validation:
        """Evaluate the current weights on the validation data."""
        return Validation(self.validation_loss(), self.setup.chrf(self.process.device))

    def _members(self, number: int) -> np.ndarray:
        """Return the indices of the items in micro-batch `number`, counted from the start of the run."""
        epoch, index = divmod(number, self.batches_per_epoch)
        return self.order(epoch)[index]

    def _weights(self) -> dict[str, Tensor]:
        return {name: parameter.detach().cpu() for name, parameter in self.model.named_parameters()}

    def _save(self) -> None:
        """Save a checkpoint, and write the average of the kept checkpoints as the current model."""
        weights = self._weights()
        # The model file stores float16, so the weights must be finite in float16.
        if not all(weight.half().isfinite().all() for weight in weights.values()):
            raise self._diverged(f"the weights are not finite in half precision after step {self.step}")
        self.folder.save_weights(self.step, weights, keep=self.config.average)
        self._save_model(average(self.folder.last_weights()))
        tensors = {f"weights.{name}": weight for name, weight in weights.items()}
        tensors |= {f"optimizer.{name}": value.cpu() for name, value in self.optimizer.state().items()}
        progress = {
            "step": self.step,
            "seconds": self.seconds,
            "config": asdict(self.config),
            "fingerprints": self.fingerprints,
        }
        self.folder.save_state(TrainingState(tensors, progress))

    def _save_model(self, weights: dict[str, Tensor]) -> None:
        save_model(self.folder.model, self.model.config, weights, self.tokenizer)

    def _finish(self) -> None:
        """Save the average of the last n checkpoints as the model, and choose n for the lowest validation loss."""
        last_weights = self.folder.last_weights()
        candidates = {}
        for count in range(1, len(last_weights) + 1):
            weights = average(last_weights[-count:])
            copy_weights(weights, self.model)
            loss = self.validation_loss()
            log.info("average of the last %d checkpoints: validation loss %.4f", count, loss)
            candidates[loss] = count, weights
        count, weights = candidates[min(candidates)]
        copy_weights(last_weights[-1], self.model)
        self._save_model(weights)
        log.info("the model in %s is the average of the last %d checkpoints", self.folder.model, count)

    def _diverged(self, what: str) -> DivergedError:
        saved = self.folder.state()
        checkpoint = (
            f"the last checkpoint is from step {saved.progress['step']}" if saved else "no checkpoint exists yet"
        )
        return DivergedError(
            f"training has diverged: {what}; {checkpoint}. Train in another folder with a lower --learning-rate or a "
            "longer --warmup"
        )

    def _start_with(self, folder: Path) -> None:
        loaded, tokenizer = self.setup.weights_in(folder)
        weights = dict(loaded.named_parameters())
        if tokenizer.fingerprint != self.tokenizer.fingerprint:
            log.info("transferring %s to the vocabulary of %s", folder, self.folder.path)
            weights = transfer(weights, tokenizer, self.tokenizer)
        copy_weights(weights, self.model)

    def _resume(self, state: TrainingState) -> None:
        progress = state.progress
        for name, fingerprint in self.fingerprints.items():
            if progress["fingerprints"][name] != fingerprint:
                raise ValueError(
                    f"the run in {self.folder.path} was started with a different {name}: prepare the original {name} "
                    f"again, delete {STATE} in this folder to restart with the current {name}, or use another folder"
                )
        # Configs saved by older versions have no "positions".
        began = {"positions": "", **progress["config"]}
        for name, value in asdict(self.config).items():
            if value != began[name] and name not in CHANGEABLE_SETTINGS:
                raise ValueError(
                    f"the run in {self.folder.path} was started with {name} {began[name]}, not {value}: "
                    "use the original value, or use another folder"
                )
        self.step, self.seconds = progress["step"], progress["seconds"]
        if self.step > self.config.steps:
            raise ValueError(
                f"the run in {self.folder.path} has already taken {self.step} steps, more than {self.config.steps}: "
                "choose a larger --steps, or use another folder"
            )
        copy_weights(without_prefix(state.tensors, "weights."), self.model)
        self.optimizer.load_state(without_prefix(state.tensors, "optimizer."))
        log.info("continuing at step %d", self.step)

    def _tidy(self, state: TrainingState | None) -> None:
        """Check that the run can continue; delete anything recorded after the last saved state."""
        self.curve.truncate(self.step)
        self.folder.check_weights(self.step, self._weights() if state else {})

    def _report(self, training: float, validation: Validation | None, norm: float, speed: float) -> None:
        if self.process.rank:
            return
        config = self.config
        rate = config.learning_rate * trapezoid(
            self.step - 1, steps=config.steps, warmup=config.warmup, cooldown=config.cooldown
        )
        epoch = self.step * config.micro_batches / self.batches_per_epoch
        remaining = self.seconds / self.step * (config.steps - self.step)
        validation_text = f" (validation {validation})" if validation else ""
        log.info(
            "step %d of %d, epoch %.2f, loss %.3f%s, %.0f tokens/s, %.0f minutes left",
            self.step,
            config.steps,
            epoch,
            training,
            validation_text,
            speed,
            remaining / 60,
        )
        row = {
            "step": str(self.step),
            "epoch": f"{epoch:.4f}",
            "seconds": f"{self.seconds:.1f}",
            "training_loss": f"{training:.4f}",
            "gradient_norm": f"{norm:.3f}",
            "learning_rate": f"{rate:.3e}",
            "pieces_per_second": f"{speed:.0f}",
        }
        self.curve.add(row, validation)


def without_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with `prefix`, keyed by their names without `prefix`."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
