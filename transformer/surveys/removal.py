"""Records BLEU and chrF of a model while its heads are removed, for a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer.ablation.removal import without
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.files.records import Record
from transformer.training.data import Pair
from transformer.training.evaluate import score, translate_all
from transformer.values.head_means import sentences_digest
from transformer.values.interventions import Head, Mode


@dataclass(frozen=True)
class Quality:
    """The scores of a model without some heads.

    Attributes:
        order: name of the order in which heads are removed.
        removed: number of removed heads.
        bleu, chrf: corpus scores, 0 to 100.
    """

    order: str
    removed: int
    bleu: float
    chrf: float


@dataclass(frozen=True)
class RemovalQuality(Record):
    """The result of `quality_curves`, as recorded in a file.

    Attributes:
        model: `Translator.version` of the model.
        mode: how a head was replaced.
        data: name of the file of pairs.
        pairs: number of translated pairs.
        digest: `pairs_digest` of them.
        points: the scores, order by order.
    """

    model: str
    mode: Mode
    data: str
    pairs: int
    digest: str
    points: tuple[Quality, ...]


def pairs_digest(pairs: Sequence[Pair]) -> str:
    """16 hexadecimal digits that change with any pair or their order."""
    return sentences_digest(["\t".join(pair) for pair in pairs])


def quality_curves(
    folder: Path, device: str, pairs: Sequence[Pair], orders: Mapping[str, Sequence[Head]], *, every: int
) -> Iterator[Quality]:
    """Remove heads (zero ablation) and translate all sources greedily each time.

    Args:
        folder: model folder.
        device: "cpu", "cuda" or "mps".
        pairs: source and reference.
        orders: by name, the heads, first removed first.
        every: number of heads between two measurements; the first is with every head, the last with none.

    Yields:
        The scores, order by order.
    """
    checkpoint = load_checkpoint(folder)
    model = checkpoint.model_on(device)
    sources = [source for source, _ in pairs]
    for name, order in orders.items():
        for removed in sorted({*range(0, len(order), every), len(order)}):
            translations = translate_all(
                model, checkpoint.tokenizer, sources, device, interventions=without(order[:removed])
            )
            scores = score(translations, pairs)
            yield Quality(name, removed, scores.bleu, scores.chrf)
