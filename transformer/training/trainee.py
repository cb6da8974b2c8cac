"""What `Trainer` trains: a model with what it learns from. It takes steps with either kind and knows of none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self

import numpy as np
import torch
from torch import nn

from transformer.checkpoints.checkpoint import load_checkpoint, load_language_model
from transformer.files.memory import memory_available
from transformer.model.transformer import Transformer, build
from transformer.text.tokenizer import Tokenizer
from transformer.training.batching import Batches
from transformer.training.config import TrainConfig
from transformer.training.contexts import ContextBatches, Contexts
from transformer.training.data import PieceData
from transformer.training.evaluate import score, translate_all
from transformer.training.loss import ContextLoss, SummedLoss
from transformer.training.run_folder import RunFolder
from transformer.training.size import check_size

# So many validation pairs are translated with every checkpoint; all of them would take as long as the steps between.
TRANSLATED = 200


class TrainingBatch(Protocol):
    """Some items to learn from."""

    @property
    def pieces(self) -> int:
        """Pieces to predict, padding left out."""
        ...

    def to(self, device: torch.device | str) -> Self: ...


class TrainingBatches(Protocol):
    """All items of a data set, batch by batch."""

    def epoch(self, number: int) -> list[np.ndarray]:
        """The batches of an epoch as arrays of item indices; the same for the same number."""
        ...

    def count(self, members: np.ndarray) -> int:
        """Pieces to predict of the items `members`."""
        ...

    def load(self, members: np.ndarray) -> TrainingBatch: ...

    def __iter__(self) -> Iterator[TrainingBatch]:
        """Every item once."""
        ...


class Trainee(Protocol):
    """One kind of model."""

    @property
    def model(self) -> Transformer:
        """With fresh weights."""
        ...

    @property
    def loss(self) -> nn.Module:
        """A batch's loss, summed over its pieces, in nats."""
        ...

    @property
    def batches(self) -> TrainingBatches:
        """What it learns from."""
        ...

    @property
    def validation(self) -> TrainingBatches:
        """What its loss is watched on."""
        ...

    def chrf(self, device: torch.device) -> float | None:
        """chrF, 0 to 100, of greedy translations of the first validation pairs; None if it does not translate."""
        ...

    def weights_in(self, folder: Path) -> tuple[Transformer, Tokenizer]:
        """A model of the same kind from a folder, with its vocabulary.

        Raises:
            ValueError: it is not of the shape that is to be trained.
        """
        ...


class TranslationTrainee:
    """A `Trainee` that learns to translate sentence pairs."""

    def __init__(self, train: PieceData, validation: PieceData, tokenizer: Tokenizer, config: TrainConfig) -> None:
        self.tokenizer = tokenizer
        self.batches, self.validation = (
            Batches(data, pieces=config.batch_pieces, seed=config.seed) for data in (train, validation)
        )
        shape = config.model(tokenizer.size)
        check_size(shape, memory_available())
        torch.manual_seed(config.seed)
        self.model = build(shape)
        self.loss = SummedLoss(self.model, label_smoothing=config.label_smoothing)

    def chrf(self, device: torch.device) -> float:
        watched = itertools.islice(self.validation.data, TRANSLATED)
        pairs = [(self.tokenizer.decode(source.tolist()), self.tokenizer.decode(target.tolist()))
                 for source, target in watched]
        sources = [source for source, _ in pairs]
        return score(translate_all(self.model, self.tokenizer, sources, device), pairs).chrf

    def weights_in(self, folder: Path) -> tuple[Transformer, Tokenizer]:
        given = load_checkpoint(folder)
        config = self.model.config
        vocabulary = {"source_vocabulary": self.tokenizer.size, "target_vocabulary": self.tokenizer.size}
        if replace(given.model.config, dropout=config.dropout, **vocabulary) != config:
            raise ValueError(f"the model in {folder} is not of the shape that is to be trained: {given.model.config}")
        assert isinstance(given.tokenizer, Tokenizer), "imported models have another shape, and end above"
        return given.model, given.tokenizer


class LanguageModelTrainee:
    """A `Trainee` that learns to write texts."""

    def __init__(self, train: Contexts, validation: Contexts, tokenizer: Tokenizer, config: TrainConfig) -> None:
        self.tokenizer = tokenizer
        self.batches, self.validation = (
            ContextBatches(data, pieces=config.batch_pieces, seed=config.seed) for data in (train, validation)
        )
        shape = config.language_model(tokenizer.size, train.width)
        check_size(shape, memory_available())
        torch.manual_seed(config.seed)
        self.model = build(shape)
        self.loss = ContextLoss(self.model, label_smoothing=config.label_smoothing)

    def chrf(self, device: torch.device) -> None:
        return None

    def weights_in(self, folder: Path) -> tuple[Transformer, Tokenizer]:
        given = load_language_model(folder, "cpu")
        config = self.model.config
        if (
            not isinstance(given.tokenizer, Tokenizer)
            or replace(given.model.config, dropout=config.dropout, vocabulary=self.tokenizer.size) != config
        ):
            raise ValueError(f"the model in {folder} is not of the shape that is to be trained: {given.model.config}")
        return given.model, given.tokenizer


def trainee_of(folder: RunFolder, tokenizer: Tokenizer, config: TrainConfig) -> Trainee:
    """The model that a run trains: whichever kind its data is for.

    Raises:
        ValueError: the data is missing, damaged or empty, or the model is too large for this machine.
    """
    train, validation = (folder.data(name, tokenizer) for name in ("train", "validation"))
    if isinstance(train, Contexts) and isinstance(validation, Contexts):
        return LanguageModelTrainee(train, validation, tokenizer, config)
    if isinstance(train, PieceData) and isinstance(validation, PieceData):
        return TranslationTrainee(train, validation, tokenizer, config)
    raise ValueError(
        f"the data in {folder.path} is for two kinds of models: call `prepare --run {folder.path}` again"
    )
