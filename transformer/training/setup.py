"""Bundles a model with its data and its loss, so that `Trainer` can treat translation and language models alike."""

import itertools
from dataclasses import replace
from pathlib import Path

import torch

from transformer.checkpoints.checkpoint import load_checkpoint, load_language_model
from transformer.checkpoints.memory import memory_available
from transformer.model.transformer import Transformer, build
from transformer.text.tokenizer import Tokenizer
from transformer.training.batching import Batches
from transformer.training.config import TrainConfig
from transformer.training.contexts import ContextBatches, Contexts
from transformer.training.data import TokenData
from transformer.training.evaluate import score, translate_all
from transformer.training.loss import SummedLoss
from transformer.training.run_folder import RunFolder
from transformer.training.size import check_size

# Number of validation pairs to translate per checkpoint. Translating
# all would take as long as the training steps between two checkpoints.
TRANSLATED = 200
Data = TokenData | Contexts


class TrainingSetup:
    """A model with random initial weights, and the data to train it on.

    Args:
        train, validation: sentence pairs for a translation model, or contexts for a language model.
        tokenizer: tokenizer that produced the data.
        config: training settings.

    Attributes:
        model: translation model or language model, sized for the tokenizer's vocabulary.
        loss: module that computes the loss of a batch in nats, summed over the tokens.
        batches: batches of the training data.
        validation: batches of the validation data.

    Raises:
        ValueError: the data is empty, or the model is too large for this machine.
    """

    def __init__(self, train: Data, validation: Data, tokenizer: Tokenizer, config: TrainConfig) -> None:
        self.tokenizer = tokenizer
        self.batches, self.validation = (_batches(data, config) for data in (train, validation))
        shape = (
            config.language_model(tokenizer.size, train.width)
            if isinstance(train, Contexts)
            else config.model(tokenizer.size)
        )
        check_size(shape, memory_available())
        torch.manual_seed(config.seed)
        self.model = build(shape)
        self.loss = SummedLoss(self.model, label_smoothing=config.label_smoothing)

    def chrf(self, device: torch.device) -> float | None:
        """Return chrF, 0 to 100, for greedy translations of the first validation pairs; None for a language model."""
        if isinstance(self.validation, ContextBatches):
            return None
        watched = itertools.islice(self.validation.data, TRANSLATED)
        pairs = [
            (self.tokenizer.decode(source.tolist()), self.tokenizer.decode(target.tolist()))
            for source, target in watched
        ]
        sources = [source for source, _ in pairs]
        return score(translate_all(self.model, self.tokenizer, sources, device), pairs).chrf

    def weights_in(self, folder: Path) -> tuple[Transformer, Tokenizer]:
        """Load a model and its tokenizer; the model's shape must match `self.model`, except for the vocabulary size.

        Raises:
            CheckpointError: the folder cannot be read, or contains the wrong type of model (language or translation).
            ValueError: the model has a different shape, or its tokenizer is not of the class `Tokenizer`.
        """
        config = self.model.config
        loaded = load_checkpoint(folder) if config.encoder_layers else load_language_model(folder, "cpu")
        sizes = {name: getattr(config, name) for name in ("source_vocabulary", "target_vocabulary", "dropout")}
        if not isinstance(loaded.tokenizer, Tokenizer) or replace(loaded.config, **sizes) != config:
            raise ValueError(
                f"the model in {folder} differs from this run in shape or in the type of its tokenizer: train with the "
                f"model's shape, {loaded.config}, or start from another model"
            )
        return loaded.model, loaded.tokenizer


def training_setup(folder: RunFolder, tokenizer: Tokenizer, config: TrainConfig) -> TrainingSetup:
    """Return the model and data of a run folder; the model is a language model if the data consists of contexts.

    Raises:
        ValueError: the data is missing, damaged, empty or of two types, or the model is too large for this machine.
    """
    train, validation = (folder.data(name, tokenizer) for name in ("train", "validation"))
    if type(train) is not type(validation):
        raise ValueError(
            f"the training and validation data in {folder.path} are for different types of models: run "
            f"`prepare --run {folder.path}` again"
        )
    return TrainingSetup(train, validation, tokenizer, config)


def _batches(data: Data, config: TrainConfig) -> Batches | ContextBatches:
    if isinstance(data, Contexts):
        return ContextBatches(data, tokens=config.batch_pieces, seed=config.seed)
    return Batches(data, tokens=config.batch_pieces, seed=config.seed)
