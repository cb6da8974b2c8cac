"""Measures a model on task items: loss, exact matches, head scores and attention."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer
from transformer.tasks.items import Items
from transformer.tasks.scores import head_scores
from transformer.tasks.spectrum import fourier_spectrum
from transformer.tasks.task import FIRST_ID, Item, Task
from transformer.text.vocabulary import OWN_SYMBOLS
from transformer.values.kinds import KINDS, Kind

# Number of held-out items used for head scores; more items hardly change the scores.
SCORED_ITEMS = 32


@dataclass(frozen=True, eq=False)
class Measurement:
    """Result of `measure`; the fields are described in `Snapshot`."""

    held_out_loss: float
    exact_match: float
    training_match: float
    attention: dict[Kind, np.ndarray]
    scores: dict[str, dict[Kind, np.ndarray]]
    spectrum: np.ndarray | None


def measure(model: Transformer, items: Items, seen: Sequence[Item], watched: Item) -> Measurement:
    """Measure a model on held-out and training items.

    Args:
        model: model in evaluation mode.
        items: items of the model's training run.
        seen: items on which the model may have been trained.
        watched: item for which to record attention.
    """
    loss, matches, _ = teacher_forcing(model, items, items.held_out)
    scored = items.held_out[:SCORED_ITEMS]
    source, target = _input_ids(items, scored)
    scores = head_scores(
        attention(model, items, scored),
        source.numpy(),
        target.numpy(),
        [(len(item.source), len(item.target)) for item in scored],
    )
    rows, columns = len(watched.target) + 1, len(watched.source) + 1
    shape = {"encoder": (columns, columns), "decoder": (rows, rows), "cross": (rows, columns)}
    return Measurement(
        loss,
        matches,
        teacher_forcing(model, items, seen)[1],
        {
            kind: weights[0, :, :, : shape[kind][0], : shape[kind][1]].astype(np.float16)
            for kind, weights in attention(model, items, [watched]).items()
        },
        scores,
        spectrum(model, items.task),
    )


def spectrum(model: Transformer, task: Task) -> np.ndarray | None:
    """Return the Fourier spectrum of the number embeddings, float32 [F]; None for a task without numbers modulo p."""
    if not task.modulus:
        return None
    embedding = model.target_embedding.weight[FIRST_ID : FIRST_ID + task.modulus]
    return fourier_spectrum(embedding.detach().numpy()).astype(np.float32)


@torch.inference_mode()
def teacher_forcing(model: Transformer, items: Items, tested: Sequence[Item]) -> tuple[float, float, np.ndarray]:
    """Measure loss and exact matches with teacher forcing.

    Greedy decoding gives the correct answer if and only if every token of this answer is the most likely one after
    the tokens before it. One teacher-forced pass therefore counts the same matches as decoding token by token.

    Returns:
        Mean loss per token in nats; share of exact matches, 0 to 1; and whether each item is an exact match, bool [N].
    """
    batch = items.batch(tested)
    logits = model(batch.source, batch.target, source_mask=batch.source != OWN_SYMBOLS.pad)
    loss = F.cross_entropy(logits.flatten(0, 1), batch.predicted.flatten(), ignore_index=OWN_SYMBOLS.pad)
    logits[..., list(OWN_SYMBOLS.never_predicted)] = -torch.inf
    right = ((logits.argmax(dim=-1) == batch.predicted) | (batch.predicted == OWN_SYMBOLS.pad)).all(dim=-1)
    return float(loss), float(right.double().mean()), right.numpy()


def attention(model: Transformer, items: Items, tested: Sequence[Item]) -> dict[Kind, np.ndarray]:
    """Return attention weights by kind, float32 [N, L, H, rows, columns], recorded with teacher forcing."""
    return recorded_attention(model, *_input_ids(items, tested))


def _input_ids(items: Items, tested: Sequence[Item]) -> tuple[Tensor, Tensor]:
    """Return the input ids of the encoder, [N, S], and of the decoder, [N, T]."""
    batch = items.batch(tested)
    assert batch.source is not None, "every item has a source"
    return batch.source, batch.target


@torch.inference_mode()
def recorded_attention(model: Transformer, source: Tensor, target: Tensor) -> dict[Kind, np.ndarray]:
    """Return attention weights by kind, float32 [N, L, H, rows, columns], for input ids [N, S] and [N, T]."""
    mask = source != OWN_SYMBOLS.pad
    record = Recorder(details=False)
    model.decode(target, model.encode(source, mask, record=record), mask, record=record)
    return {kind: torch.stack(record.tensors[f"{kind}.weights"], dim=1).numpy() for kind in KINDS}
