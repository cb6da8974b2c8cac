"""Everything that decides how a training run goes, as one value that is stored with the run."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.config import TransformerConfig


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained; the defaults are how the model that ships was trained.

    Attributes:
        d_model, heads, layers, d_ff, dropout: of the model; `layers` on each side.
        batch_pieces: target pieces a micro-batch, padding included.
        micro_batches: micro-batches a step, shared out among the processes.
        steps: optimiser steps of the whole run.
        warmup: steps until the peak learning rate.
        cooldown: share of the steps on the way down to 0.
        learning_rate: at the peak.
        weight_decay: on matrices.
        clip: largest norm of the gradient of a step.
        label_smoothing: share of the target probability that is spread over the vocabulary.
        average: how many of the last checkpoints are averaged into the model.
        save_minutes: between two checkpoints.
        seed: of weights, order and dropout.
    """

    d_model: int = 256
    heads: int = 8
    layers: int = 6
    d_ff: int = 1024
    dropout: float = 0.1
    batch_pieces: int = 4096
    micro_batches: int = 1
    steps: int = 7_800
    warmup: int = 200
    cooldown: float = 0.47
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    clip: float = 1.0
    label_smoothing: float = 0.1
    average: int = 3
    save_minutes: float = 10.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("batch_pieces", "micro_batches", "steps", "average"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("warmup", "cooldown", "learning_rate", "weight_decay", "clip", "save_minutes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, as {getattr(self, name)} is")
        for name in ("dropout", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")

    def model(self, vocabulary: int) -> TransformerConfig:
        """The model's configuration, for a joint vocabulary of that many pieces."""
        return TransformerConfig(
            source_vocabulary=vocabulary, target_vocabulary=vocabulary, d_model=self.d_model, heads=self.heads,
            encoder_layers=self.layers, decoder_layers=self.layers, d_ff=self.d_ff, dropout=self.dropout,
            tied_embeddings="all",
        )
