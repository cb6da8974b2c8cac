"""Creates synthetic training pairs, each consisting of a real text and a model's translation of it."""

import gzip
import logging
from collections.abc import Sequence
from pathlib import Path

from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.files.atomic_writes import check_output, write_errors_explained
from transformer.model.devices import chosen_device
from transformer.training.data import Pair, read_sentences
from transformer.training.evaluate import translate_all

# Discard a translation if its length differs from the sentence's length by more than this factor.
LONGEST = 3.0

log = logging.getLogger(__name__)


def synthesise(
    model: Path,
    *,
    data: Sequence[Path],
    output: Path,
    column: int = 1,
    back: bool = False,
    beam: int = 1,
    device: str | None = None,
) -> None:
    """Translate the distinct sentences in the files, and write sentence pairs.

    With `back`, a target-to-source model writes sources for real targets. This is back-translation (Sennrich et al.
    2016, "Improving Neural Machine Translation Models with Monolingual Data", section 3). Without `back`, a
    source-to-target model writes targets for real sources. Training on both types of pairs is data
    diversification (Nguyen et al. 2020, "Data Diversification: A Simple Strategy For Neural Machine Translation",
    section 3).

    Args:
        model: model folder.
        data: files with one sentence per line, or with tab-separated columns.
        output: gzip-compressed file to write, with tab-separated sources and targets.
        column: 1-based number of the column that contains the sentences.
        back: whether the translations become sources instead of targets.
        beam: beam size; 1 means greedy decoding.
        device: device to use; None means the fastest available.

    Raises:
        ValueError: a file cannot be read or has no such column (see `read_sentences`), there is no such device, the
            beam size is out of range, or `output` cannot be created (see `check_output`).
        OSError: `output` cannot be written.
    """
    if column < 1:
        raise ValueError(f"--column must be at least 1, not {column}")
    check_output(output)
    checkpoint = load_checkpoint(model)
    device = chosen_device(device)
    sentences = list(dict.fromkeys(sentence for path in data for sentence in read_sentences(path, column)))
    translations = translate_all(checkpoint.model_on(device), checkpoint.tokenizer, sentences, device, beam=beam)
    pairs = [pair for pair in zip(sentences, translations, strict=True) if plausible(pair)]
    log.info("%d sentences, %d of them with a plausible translation", len(sentences), len(pairs))
    with write_errors_explained(output), gzip.open(output, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(reversed(pair) if back else pair) + "\n" for pair in pairs)


def plausible(pair: Pair) -> bool:
    """Return whether each text of a pair has at most LONGEST times as many characters as the other."""
    sentence, translation = map(len, pair)
    return translation > 0 and 1 / LONGEST <= sentence / translation <= LONGEST
