"""The training loop: steps, checkpoints that a run continues from, and the model averaged from the last of them."""

from __future__ import annotations

import itertools
import json
import logging
import time
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer.checkpoint import (
    CURVE,
    VOCABULARY,
    copy_weights,
    load_checkpoint,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from transformer.model import build
from transformer.tokenizer import Tokenizer
from transformer.training.batching import Batches
from transformer.training.curve import Curve, Validation
from transformer.training.data import PieceData
from transformer.training.evaluate import score, translate_all
from transformer.training.loss import SummedLoss
from transformer.training.optimizer import Optimizer
from transformer.training.processes import Process, has_bfloat16
from transformer.training.recipe import Recipe
from transformer.training.schedule import trapezoid

STATE = "state.safetensors"
MODEL = "model"
LOG_STEPS = 25
# So many validation pairs are translated with every checkpoint; all of them would take as long as the steps between.
TRANSLATED = 200
# What may be changed when a run is resumed: its end, and how often and how many checkpoints are kept.
MOVABLE = ("steps", "cooldown", "average", "save_minutes")

log = logging.getLogger(__name__)


class Trainer:
    """Trains one model in a run folder.

    The folder holds what `prepare` wrote (tokenizer.model, train.npz, validation.npz) and gets `state.safetensors`
    (to continue from), the last weights, and `model/`, the model so far with its learning curve.

    Every random choice of a step follows from the seed and the step's number, so a run that was interrupted and
    resumed takes the steps of an uninterrupted one. Checkpoints, and so what is averaged, go by the clock.

    Args:
        run: the run folder.
        recipe: how to train. A run may be resumed with another end (see MOVABLE).
        process: which process this is, and its device.
        start: model folder whose weights a new run starts with, instead of random ones.

    Raises:
        ValueError: the micro-batches cannot be shared out among the processes, the run was started with another
            recipe or has gone further, or the model to start with has another vocabulary or shape.
    """

    def __init__(self, run: Path, recipe: Recipe, process: Process, start: Path | None = None) -> None:
        if recipe.micro_batches % process.count:
            raise ValueError(
                f"{recipe.micro_batches} micro-batches cannot be shared out evenly among {process.count} processes"
            )
        self.run = run
        self.recipe = recipe
        self.process = process
        self.curve = Curve(run / MODEL / CURVE)
        self.tokenizer = Tokenizer.load(run / VOCABULARY)
        data = PieceData.load(run / "train.npz")
        self.batches = Batches(data, pieces=recipe.batch_pieces, seed=recipe.seed)
        self.validation = Batches(
            PieceData.load(run / "validation.npz"), pieces=recipe.batch_pieces, seed=recipe.seed
        )
        self.order = lru_cache(maxsize=2)(self.batches.epoch)
        self.per_epoch = len(self.order(0))
        torch.manual_seed(recipe.seed)
        self.model = build(recipe.model(self.tokenizer.size)).to(process.device)
        self.optimizer = Optimizer(self.model, recipe)
        self.loss = SummedLoss(self.model, label_smoothing=recipe.label_smoothing)
        self.step = 0
        self.seconds = 0.0
        if (run / STATE).exists():
            self._resume()
        elif start:
            self._start_with(start)
        if process.rank == 0:
            self._forget_what_comes_later()
        self.objective: nn.Module = self.loss
        if process.count > 1:
            self.objective = DistributedDataParallel(self.loss)

    def train(self) -> None:
        """Take the steps that are left, and leave the finished model in `model/`."""
        recipe = self.recipe
        saved = logged = time.monotonic()
        started = saved - self.seconds
        losses, pieces = 0.0, 0
        while self.step < recipe.steps:
            loss, count, norm = self.take_step()
            losses, pieces = losses + loss, pieces + count
            now = time.monotonic()
            self.seconds = now - started
            finished = self.step == recipe.steps
            if not (finished or self.step % LOG_STEPS == 0):
                continue
            # Checkpoints only where a loss is noted, so that each stands beside the mean of as many steps.
            save = self.process.rank == 0 and (finished or now - saved > 60 * recipe.save_minutes)
            validation = self.validate() if save else None
            self._report(losses / pieces, validation, norm, pieces / (now - logged))
            losses, pieces, logged = 0.0, 0, time.monotonic()
            if save:
                self._save()
                saved = time.monotonic()

    def take_step(self) -> tuple[float, int, float]:
        """One step of the optimiser.

        Returns:
            The summed loss in nats and the number of target pieces, of all processes, and the norm of the gradient.
        """
        recipe, process = self.recipe, self.process
        self.objective.train()
        torch.manual_seed((recipe.seed * 1_000_003 + self.step) * process.count + process.rank)
        members = [self._members(self.step * recipe.micro_batches + i) for i in range(recipe.micro_batches)]
        # The mean over all pieces of the step, whoever computes them; DistributedDataParallel divides by the
        # number of processes, hence the factor.
        pieces = sum(int(self.batches.data.target.lengths[m].sum()) for m in members)
        scale = process.count / pieces
        own = members[process.rank :: process.count]
        total = 0.0
        for number, indices in enumerate(own, start=1):
            batch = self.batches.load(indices)
            # Processes exchange their gradients once a step, with the last micro-batch.
            waits = isinstance(self.objective, DistributedDataParallel) and number < len(own)
            with self.objective.no_sync() if waits else nullcontext():
                with self._autocast():
                    loss = self.objective(batch.to(process.device))
                (loss * scale).backward()
            total += float(loss.detach())
        factor = trapezoid(self.step, steps=recipe.steps, warmup=recipe.warmup, cooldown=recipe.cooldown)
        norm = self.optimizer.step(factor)
        self.step += 1
        return process.sum(total), pieces, norm

    @torch.no_grad()
    def validate(self) -> Validation:
        """How good the weights of this step are on the validation pairs."""
        self.loss.eval()
        total, pieces = 0.0, 0
        for batch in self.validation:
            with self._autocast():
                total += float(self.loss(batch.to(self.process.device)))
            pieces += batch.pieces
        watched = itertools.islice(self.validation.data, TRANSLATED)
        pairs = [(self.tokenizer.decode(source.tolist()), self.tokenizer.decode(target.tolist()))
                 for source, target in watched]
        sources = [source for source, _ in pairs]
        translations = translate_all(self.model, self.tokenizer, sources, self.process.device)
        return Validation(total / pieces, score(translations, pairs).chrf)

    def _autocast(self) -> torch.autocast:
        device = self.process.device
        return torch.autocast(device.type, torch.bfloat16, enabled=has_bfloat16(device))

    def _members(self, number: int) -> np.ndarray:
        """The pairs of micro-batch `number` of the run."""
        epoch, index = divmod(number, self.per_epoch)
        return self.order(epoch)[index]

    def _weights(self) -> dict[str, Tensor]:
        return {name: parameter.detach().cpu() for name, parameter in self.model.named_parameters()}

    def _save(self) -> None:
        weights = self._weights()
        write_tensors(self.run / f"weights-{self.step:07d}.safetensors", weights, {})
        kept = sorted(self.run.glob("weights-*.safetensors"))
        for old in kept[: -self.recipe.average]:
            old.unlink()
        averaged = average([read_tensors(path)[0] for path in kept[-self.recipe.average :]])
        save_checkpoint(self.run / MODEL, self.model.config, averaged, self.tokenizer)
        state = {f"weights.{name}": weight for name, weight in weights.items()}
        state |= {f"optimizer.{name}": value.cpu() for name, value in self.optimizer.state().items()}
        progress = {"step": self.step, "seconds": self.seconds, "recipe": asdict(self.recipe)}
        write_tensors(self.run / STATE, state, {"progress": json.dumps(progress)})

    def _forget_what_comes_later(self) -> None:
        """Drop what an interrupted run noted and saved after the step it continues from: it takes those steps again."""
        self.curve.go_back(self.step)
        for path in self.run.glob("weights-*.safetensors"):
            if int(path.stem.removeprefix("weights-")) > self.step:
                path.unlink()

    def _start_with(self, folder: Path) -> None:
        given = load_checkpoint(folder)
        if given.tokenizer.fingerprint != self.tokenizer.fingerprint:
            raise ValueError(f"{folder} has another vocabulary than {self.run}: give --from {folder} to `prepare` too")
        config = self.model.config
        if replace(given.model.config, dropout=config.dropout) != config:
            raise ValueError(f"the model in {folder} is not of the shape that is to be trained: {given.model.config}")
        copy_weights(dict(given.model.named_parameters()), self.model)

    def _resume(self) -> None:
        state, metadata = read_tensors(self.run / STATE)
        progress = json.loads(metadata["progress"])
        for name, value in asdict(self.recipe).items():
            if value != progress["recipe"][name] and name not in MOVABLE:
                raise ValueError(
                    f"the run in {self.run} was started with {name} {progress['recipe'][name]}, not {value}: "
                    "give it that again, or take another folder"
                )
        self.step, self.seconds = progress["step"], progress["seconds"]
        if self.step > self.recipe.steps:
            raise ValueError(
                f"the run in {self.run} has taken {self.step} steps already, more than {self.recipe.steps}: give it "
                "more, or take another folder"
            )
        copy_weights(strip(state, "weights."), self.model)
        self.optimizer.load_state(strip(state, "optimizer."))
        log.info("continuing at step %d", self.step)

    def _report(self, training: float, validation: Validation | None, norm: float, speed: float) -> None:
        if self.process.rank:
            return
        recipe = self.recipe
        rate = recipe.learning_rate * trapezoid(
            self.step - 1, steps=recipe.steps, warmup=recipe.warmup, cooldown=recipe.cooldown
        )
        epoch = self.step * recipe.micro_batches / self.per_epoch
        left = self.seconds / self.step * (recipe.steps - self.step)
        measured = f" (validation {validation.loss:.3f}, chrF {validation.chrf:.1f})" if validation else ""
        log.info(
            "step %d of %d, epoch %.2f, loss %.3f%s, %.0f pieces/s, %.0f minutes left", self.step, recipe.steps,
            epoch, training, measured, speed, left / 60,
        )
        row = {
            "step": str(self.step), "epoch": f"{epoch:.4f}", "seconds": f"{self.seconds:.1f}",
            "training_loss": f"{training:.4f}", "gradient_norm": f"{norm:.3f}", "learning_rate": f"{rate:.3e}",
            "pieces_per_second": f"{speed:.0f}",
        }
        self.curve.add(row, validation)


def strip(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, by the rest of their names."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def average(checkpoints: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of weights (section 6.1 averages the last checkpoints)."""
    return {
        name: torch.stack([weights[name] for weights in checkpoints]).mean(dim=0) for name in checkpoints[0]
    }
