"""Translates the sources in a file of sentence pairs, and computes BLEU and chrF of the translations."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sacrebleu
import torch
from torch import Tensor

from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.decoding.beam import beam_search
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.model.devices import chosen_device
from transformer.model.edits import edits_of
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary
from transformer.training.data import Pair, read_rows, without_case_and_punctuation
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions

# Sentences per batch, by device type. Smaller batches leave a GPU idle; larger ones are no faster on a CPU.
BATCH_SIZES = {"cuda": 512, "mps": 64, "cpu": 64}
# Ranges of source length, in words.
LENGTH_RANGES = ((1, 5), (6, 12), (13, 20), (21, 40))
BLEU, CHRF = sacrebleu.BLEU(), sacrebleu.CHRF()


@dataclass(frozen=True)
class CorpusScores:
    """BLEU and chrF of a corpus, 0 to 100, each with the sacrebleu signature that describes the computation.

    Every pair in the file counts, so that the scores are comparable with those of other programs. An empty source has
    an empty translation, and an empty target is a reference like any other.

    Attributes:
        sentences: number of pairs.
        empty_sources, empty_targets: number of pairs whose source or target is empty.
        length_ratio: number of characters in all translations, divided by the number in all references.
        by_length: scores for each range in LENGTH_RANGES that contains a pair; the keys are names such as "6-12".
    """

    sentences: int
    empty_sources: int
    empty_targets: int
    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    length_ratio: float
    by_length: Mapping[str, LengthScores]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{name}: {value}" for name, value in self.as_dict().items() if name != "by_length"]
        parts = [
            f"{name} words: {part.sentences} sentences, BLEU {part.bleu:.2f}, chrF {part.chrf:.2f}, "
            f"length ratio {part.length_ratio:.2f}"
            for name, part in self.by_length.items()
        ]
        return "\n".join(lines + parts)


@dataclass(frozen=True)
class LengthScores:
    """Scores for the sentence pairs in one source-length range; the fields are described in `CorpusScores`."""

    sentences: int
    bleu: float
    chrf: float
    length_ratio: float


def evaluate(
    folder: Path, data: Path, *, device: str | None = None, beam: int = 1, careless: bool = False
) -> CorpusScores:
    """Translate the source sentences in a file of sentence pairs, and score the translations against the targets.

    Args:
        folder: model folder.
        data: tab-separated file of pairs.
        device: device to use; None means the fastest available.
        beam: beam size; 1 means greedy decoding.
        careless: whether to convert the sources to lower case and remove their final punctuation first.

    Raises:
        ValueError: the beam size is out of range, this machine does not have `device`, or the file cannot be read.
    """
    checkpoint = load_checkpoint(folder)
    device = chosen_device(device)
    pairs = read_rows(data)
    if careless:
        pairs = [without_case_and_punctuation(pair) for pair in pairs]
    sources = [source for source, _ in pairs]
    translations = translate_all(checkpoint.model_on(device), checkpoint.tokenizer, sources, device, beam=beam)
    return score(translations, pairs)


def score(translations: Sequence[str], pairs: Sequence[Pair]) -> CorpusScores:
    """Compute BLEU (Papineni et al. 2002) and chrF (Popović 2015) with sacrebleu (Post 2018)."""
    by_length = {}
    for least, most in LENGTH_RANGES:
        members = [index for index, (source, _) in enumerate(pairs) if least <= len(source.split()) <= most]
        if members:
            by_length[f"{least}-{most}"] = _length_scores(
                [translations[index] for index in members], [pairs[index][1] for index in members]
            )
    all_scores = _length_scores(translations, [target for _, target in pairs])
    return CorpusScores(
        **asdict(all_scores),
        empty_sources=sum(not source for source, _ in pairs),
        empty_targets=sum(not target for _, target in pairs),
        bleu_signature=str(BLEU.get_signature()),
        chrf_signature=str(CHRF.get_signature()),
        by_length=by_length,
    )


def _length_scores(translations: Sequence[str], references: Sequence[str]) -> LengthScores:
    return LengthScores(
        sentences=len(references),
        bleu=BLEU.corpus_score(translations, [references]).score,
        chrf=CHRF.corpus_score(translations, [references]).score,
        length_ratio=sum(map(len, translations)) / max(1, sum(map(len, references))),
    )


@torch.inference_mode()
def translate_all(
    model: Transformer,
    tokenizer: Vocabulary,
    sentences: Sequence[str],
    device: str | torch.device,
    *,
    beam: int = 1,
    interventions: Interventions = AS_TRAINED,
) -> list[str]:
    """Translate sentences, batching those of similar length; a `beam` of 1 means greedy decoding.

    The interventions apply to every sentence. An empty sentence has an empty translation.
    """
    located = [tokenizer.encode_source(sentence) for sentence in sentences]
    tokens = [[token.id for token in each] for each in located]
    readable = (index for index, each in enumerate(located) if not all(token.special for token in each))
    order = sorted(readable, key=lambda index: len(tokens[index]))
    translations = [""] * len(tokens)
    size = BATCH_SIZES[torch.device(device).type]
    for start in range(0, len(order), size):
        members = order[start : start + size]
        rows = [torch.tensor(tokens[index]) for index in members]
        source = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=model.symbols.pad).to(device)
        for index, ids in zip(members, _translate_batch(model, tokenizer, source, beam, interventions), strict=True):
            translations[index] = tokenizer.decode(ids)
    return translations


def _translate_batch(
    model: Transformer, tokenizer: Vocabulary, source: Tensor, beam: int, interventions: Interventions
) -> list[Sequence[int]]:
    """Return the translations' token ids, including special tokens, for padded source ids [B, S]."""
    real = source != model.symbols.pad
    edits = edits_of([interventions] * len(source), model.config, device=source.device)
    cache = model.start_cache(model.encode(source, real, edits=edits), real, edits=edits)
    limit = min(2 * source.shape[1] + 10, model.config.position_limit or sys.maxsize)
    constraints = Constraints(spelling=tokenizer.spelling)
    if beam == 1:
        steps = greedy(model, cache, limit=limit, constraints=constraints)
        return torch.stack([step.predicted for step in steps], dim=1).tolist()
    size = DecodingSettings("beam", beam_size=beam).beam_size
    steps = beam_search(model, cache, beam_size=size, limit=limit, constraints=constraints)
    return [best_first[0].tokens for best_first in hypotheses(steps, len(source))]
