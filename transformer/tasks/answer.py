"""Runs a training snapshot's model on one task item, and records the answer and the attention weights."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from transformer.decoding.greedy import greedy
from transformer.model.transformer import Transformer
from transformer.tasks.config import TaskConfig
from transformer.tasks.items import Items
from transformer.tasks.measurement import recorded_attention
from transformer.tasks.registry import task_named
from transformer.tasks.run import Snapshot
from transformer.tasks.task import Item, Tokens
from transformer.tasks.trainer import seeded_model
from transformer.text.vocabulary import OWN_SYMBOLS
from transformer.values.kinds import Kind

START, END = "<s>", "</s>"


@dataclass(frozen=True, eq=False)
class TaskAnswer:
    """A model's answer to a task item.

    Attributes:
        item: task item with the correct answer.
        written: generated tokens, without the end symbol; "?" stands for a padding, start or unknown symbol.
        ended: whether the model generated the end symbol.
        probabilities: probability of each generated token, including the end symbol if generated.
        sources, reads: input tokens of the encoder and the decoder, which label the attention maps.
        attention: attention weights by attention kind, float32 [L, H, rows, columns].
    """

    item: Item
    written: Tokens
    ended: bool
    probabilities: tuple[float, ...]
    sources: Tokens
    reads: Tokens
    attention: Mapping[Kind, np.ndarray]

    @property
    def is_right(self) -> bool:
        return self.ended and self.written == self.item.target


def model_at(config: TaskConfig, snapshot: Snapshot) -> Transformer:
    """Build a model in evaluation mode with the weights stored in a snapshot.

    Raises:
        ValueError: the snapshot has no weights.
    """
    if snapshot.weights is None:
        raise ValueError(f"the weights of step {snapshot.step} were not saved")
    model = seeded_model(config).eval()
    torch.nn.utils.vector_to_parameters(torch.from_numpy(snapshot.weights.astype(np.float32)), model.parameters())
    return model


@torch.inference_mode()
def answer(config: TaskConfig, snapshot: Snapshot, text: str) -> TaskAnswer:
    """Return a snapshot's greedily decoded answer to an item typed by the user.

    Raises:
        TaskError: the text is not an item of the task.
    """
    task = task_named(config.task)
    item = task.parse(text)
    items = Items(task, config.seed)
    model = model_at(config, snapshot)
    source = torch.tensor([items.encode(item.source)])
    steps = list(greedy(model, model.start_cache(model.encode(source, None), None), limit=task.longest_target + 1))
    ids = [int(step.predicted) for step in steps]
    reads = torch.tensor([[OWN_SYMBOLS.start, *ids[:-1]]])
    return TaskAnswer(
        item,
        items.decode(ids),
        ids[-1] == OWN_SYMBOLS.end,
        tuple(float(step.log_prob.exp()) for step in steps),
        (*item.source, END),
        (START, *items.decode(ids[:-1])),
        {kind: weights[0] for kind, weights in recorded_attention(model, source, reads).items()},
    )
