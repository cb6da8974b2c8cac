"""Records a model's BLEU and chrF as heads are removed cumulatively."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer.ablation.removal import without_heads
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.files.records import Record
from transformer.training.data import Pair
from transformer.training.evaluate import score, translate_all
from transformer.values.head_means import sentences_digest
from transformer.values.interventions import Head, Mode


@dataclass(frozen=True)
class Quality:
    """Translation quality of a model without some heads.

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
    """Result of `quality_curves`, as recorded in a file.

    Attributes:
        model: `Translator.version` of the model.
        mode: how a head's output was replaced.
        data: name of the file with the sentence pairs.
        pairs: number of translated pairs.
        digest: `pairs_digest` of the pairs.
        points: scores for each measured number of removed heads, one removal order after another.
    """

    model: str
    mode: Mode
    data: str
    pairs: int
    digest: str
    points: tuple[Quality, ...]


def pairs_digest(pairs: Sequence[Pair]) -> str:
    """Return 16 hexadecimal digits that change if a pair or the order of the pairs changes."""
    return sentences_digest(["\t".join(pair) for pair in pairs])


def quality_curves(
    folder: Path, device: str, pairs: Sequence[Pair], orders: Mapping[str, Sequence[Head]], *, every: int
) -> Iterator[Quality]:
    """Remove heads cumulatively (zero ablation), and score greedy translations of all sources after every few removals.

    Args:
        folder: model folder.
        device: "cpu", "cuda" or "mps".
        pairs: (source sentence, reference translation) pairs.
        orders: heads in removal order, by name of the order.
        every: number of heads to remove between two measurements. The first measurement is with all heads, the last
            without any.

    Yields:
        The scores, one removal order after another.
    """
    checkpoint = load_checkpoint(folder)
    model = checkpoint.model_on(device)
    sources = [source for source, _ in pairs]
    for name, order in orders.items():
        for removed in sorted({*range(0, len(order), every), len(order)}):
            translations = translate_all(
                model, checkpoint.tokenizer, sources, device, interventions=without_heads(order[:removed])
            )
            scores = score(translations, pairs)
            yield Quality(name, removed, scores.bleu, scores.chrf)
