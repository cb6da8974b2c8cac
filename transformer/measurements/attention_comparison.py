"""Trains language models that differ only in the type of attention, such as full or local, and measures the losses."""

import logging
import os
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch

from transformer.checkpoints.model_files import CONFIG, save_model
from transformer.config import Attention
from transformer.files.atomic_writes import check_output, write_errors_explained, write_text
from transformer.language_modelling.attention_losses import AttentionLoss, RecordedLosses
from transformer.language_modelling.cost import ATTENTIONS
from transformer.model.transformer import Transformer, build
from transformer.training.batching import Batch
from transformer.training.config import TrainConfig
from transformer.training.contexts import ContextBatches, Contexts
from transformer.training.loss import SummedLoss
from transformer.training.optimizer import Optimizer
from transformer.training.run_folder import RunFolder
from transformer.training.steps import DivergedError, Steps

log = logging.getLogger(__name__)

# A block is a sixteenth of the 256-token context. `transformer.language_modelling.cost` uses the same ratio: blocks of
# 256 for a text of at most 4,096 tokens.
BLOCK, STRIDE = 16, 3
WARMUP_SHARE = 10
LOG_STEPS = 100
# Maximum number of models per type of attention. Without a limit, a mistyped number could start weeks of training.
MAX_SEEDS = 100


def compare_attentions(
    run: Path, output: Path, *, steps: int = 500, seeds: int = 3, models: Path | None = None
) -> RecordedLosses:
    """Train a small model with each type of attention and each seed, on the same contexts in the same order.

    Args:
        run: folder that `prepare_language_model` created.
        output: file to write the results to.
        steps: number of steps per training run.
        seeds: number of models per type of attention.
        models: folder in which to save the model of the first seed for each type of attention; None saves no models.

    Raises:
        ValueError: the folder has no data for language models, a number is out of range, a file cannot be written, or
            training diverges.
        OSError: `models` cannot be created.
    """
    if not 1 <= seeds <= MAX_SEEDS:
        raise ValueError(f"--seeds must be at least 1 and at most {MAX_SEEDS}, not {seeds}")
    check_output(output)
    folder = RunFolder(run)
    tokenizer = folder.tokenizer()
    train, validation = (folder.data(name, tokenizer) for name in ("train", "validation"))
    if not isinstance(train, Contexts) or not isinstance(validation, Contexts):
        raise ValueError(f"{run} was prepared for a translation model: run `prepare-language-model --run {run}`")
    config = TrainConfig(
        d_model=64,
        heads=2,
        layers=2,
        d_ff=256,
        dropout=0.0,
        label_smoothing=0.0,
        batch_pieces=2048,
        steps=steps,
        warmup=max(1, steps // WARMUP_SHARE),
    )
    recorded = RecordedLosses(
        (),
        context=train.width,
        block=BLOCK,
        stride=STRIDE,
        tokens=int(validation.lengths.sum()),
        model=f"{config.layers} layers, {config.heads} heads, width {config.d_model}, {tokenizer.size:,} tokens",
        training=f"{steps:,} steps of {config.batch_pieces:,} tokens",
        machine=f"{torch.get_num_threads()} of {os.cpu_count()} CPU cores",
        command=f"python -m transformer.training compare-attention --run {run} --steps {steps} --seeds {seeds} "
        f"--output {output}" + (f" --models {models}" if models else ""),
    )
    if models is not None:
        for attention in ATTENTIONS:
            with write_errors_explained(models):
                (models / attention).mkdir(parents=True, exist_ok=True)
            check_output(models / attention / CONFIG)
    for seed in range(1, seeds + 1):
        for attention in ATTENTIONS:
            loss, model = _train_and_measure(replace(config, seed=seed), attention, train, validation, tokenizer.size)
            log.info("%s, seed %d: %.3f, %.0f s", attention, seed, loss.held_out, loss.seconds)
            recorded = replace(recorded, losses=(*recorded.losses, loss))
            if models is not None and seed == 1:
                weights = {name: each.detach() for name, each in model.named_parameters()}
                save_model(models / attention, model.config, weights, tokenizer)
        # Write the file after each seed, so that the results so far are kept if the script is stopped.
        write_text(output, recorded.to_json() + "\n")
    return recorded


def _train_and_measure(
    config: TrainConfig, attention: Attention, train: Contexts, validation: Contexts, vocabulary: int
) -> tuple[AttentionLoss, Transformer]:
    torch.manual_seed(config.seed)
    shape = replace(config.language_model(vocabulary, train.width), attention=attention, block=BLOCK, stride=STRIDE)
    model = build(shape)
    batches = ContextBatches(train, tokens=config.batch_pieces, seed=config.seed)
    began = time.monotonic()
    _train(model, batches, config)
    seconds = time.monotonic() - began
    model.eval()
    held_out = ContextBatches(validation, tokens=config.batch_pieces, seed=0)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return AttentionLoss(attention, config.seed, parameters, mean_loss(model, held_out), seconds), model


def _train(model: Transformer, batches: ContextBatches, config: TrainConfig) -> None:
    order = lru_cache(maxsize=1)(batches.epoch)
    count = len(order(0))
    loss = SummedLoss(model, label_smoothing=config.label_smoothing)
    steps = Steps(loss, Optimizer(model, config), config)
    for step in range(config.steps):
        epoch, index = divmod(step, count)
        batch = batches.load(order(epoch)[index])
        try:
            total, _ = steps.take(step, [batch], batch.tokens)
        except DivergedError as error:
            raise ValueError(f"the training diverged at step {step + 1}: choose a different --steps") from error
        if (step + 1) % LOG_STEPS == 0:
            log.info("step %d: %.3f", step + 1, total / batch.tokens)


@torch.inference_mode()
def mean_loss(model: Transformer, batches: Iterable[Batch]) -> float:
    """Return the mean loss over all batches, nats per token."""
    loss = SummedLoss(model, label_smoothing=0.0)
    total, tokens = 0.0, 0
    for batch in batches:
        total += float(loss(batch))
        tokens += batch.tokens
    return total / tokens
