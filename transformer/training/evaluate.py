"""BLEU and chrF of a model on held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sacrebleu
import torch
from torch import Tensor

from transformer.checkpoint import load_checkpoint
from transformer.decoding import beam_search, greedy, hypotheses
from transformer.model import Transformer
from transformer.tokenizer import PAD, Tokenizer
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


def evaluate(folder: Path, data: Path, *, device: str | None = None, beam: int = 1) -> Scores:
    """Translate the sources of a file of pairs and compare with its targets.

    Args:
        folder: model folder.
        data: tab-separated file.
        device: None takes the best there is.
        beam: size of the beam; 1 decodes greedily.

    Raises:
        ValueError: the beam's size is out of range.
    """
    checkpoint = load_checkpoint(folder)
    device = device or available_devices()[0]
    pairs = read_pairs(data)
    translations = translate_all(
        checkpoint.model.to(device), checkpoint.tokenizer, [source for source, _ in pairs], device, beam=beam
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
    model: Transformer, tokenizer: Tokenizer, sentences: Sequence[str], device: str, *, beam: int = 1
) -> list[str]:
    """Translate many sentences, those of similar length together; greedily if the beam's size is 1."""
    pieces = [tokenizer.encode_ids(sentence) for sentence in sentences]
    order = sorted(range(len(pieces)), key=lambda index: len(pieces[index]))
    translations = [""] * len(pieces)
    for start in range(0, len(order), BATCH):
        members = order[start : start + BATCH]
        rows = [torch.tensor(pieces[index]) for index in members]
        source = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        for index, ids in zip(members, _translate_batch(model, source, beam), strict=True):
            translations[index] = tokenizer.decode(ids)
    return translations


def _translate_batch(model: Transformer, source: Tensor, beam: int) -> list[Sequence[int]]:
    """Ids of the translations' pieces, special ones among them, for padded sources [B, S]."""
    real = source != PAD
    memory = model.encode(source, real)
    limit = 2 * source.shape[1] + 10
    if beam == 1:
        return torch.stack([step.predicted for step in greedy(model, memory, real, limit=limit)], dim=1).tolist()
    found = hypotheses(beam_search(model, memory, real, size=beam, limit=limit), len(source))
    return [best_first[0].pieces for best_first in found]
