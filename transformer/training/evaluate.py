"""BLEU and chrF of a model on held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sacrebleu
import torch

from transformer.checkpoint import load_checkpoint
from transformer.decoding import greedy
from transformer.model import Transformer
from transformer.tokenizer import END, PAD, Tokenizer
from transformer.training.data import read_pairs
from transformer.translator import available_devices

BATCH = 64


@dataclass(frozen=True)
class Scores:
    """Corpus scores, 0 to 100, each with the signature that says how it was computed.

    Attributes:
        length_ratio: characters of all translations over characters of all references.
    """

    sentences: int
    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    length_ratio: float

    def as_dict(self) -> dict[str, int | float | str]:
        return asdict(self)


def evaluate(folder: Path, data: Path, *, device: str | None = None) -> Scores:
    """Translate the sources of a file of pairs greedily and compare with its targets.

    Args:
        folder: model folder.
        data: tab-separated file.
        device: None takes the best there is.
    """
    checkpoint = load_checkpoint(folder)
    device = device or available_devices()[0]
    pairs = read_pairs(data)
    translations = translate_all(
        checkpoint.model.to(device), checkpoint.tokenizer, [source for source, _ in pairs], device
    )
    return score(translations, [target for _, target in pairs])


def score(translations: Sequence[str], references: Sequence[str]) -> Scores:
    """BLEU (Papineni et al. 2002) and chrF (Popović 2015), by sacrebleu (Post 2018)."""
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    return Scores(
        sentences=len(references),
        bleu=bleu.corpus_score(translations, [references]).score,
        bleu_signature=str(bleu.get_signature()),
        chrf=chrf.corpus_score(translations, [references]).score,
        chrf_signature=str(chrf.get_signature()),
        length_ratio=sum(map(len, translations)) / max(1, sum(map(len, references))),
    )


@torch.inference_mode()
def translate_all(
    model: Transformer, tokenizer: Tokenizer, sentences: Sequence[str], device: str
) -> list[str]:
    """Translate many sentences greedily, those of similar length together."""
    pieces = [tokenizer.encode_ids(sentence) for sentence in sentences]
    order = sorted(range(len(pieces)), key=lambda index: len(pieces[index]))
    translations = [""] * len(pieces)
    for start in range(0, len(order), BATCH):
        members = order[start : start + BATCH]
        rows = [torch.tensor(pieces[index]) for index in members]
        source = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        real = source != PAD
        steps = greedy(model, model.encode(source, real), real, limit=2 * source.shape[1] + 10)
        predicted = torch.stack([step.predicted for step in steps], dim=1).tolist()
        for index, ids in zip(members, predicted, strict=True):
            translations[index] = tokenizer.decode([piece for piece in ids if piece not in (PAD, END)])
    return translations
