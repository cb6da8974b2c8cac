"""Implements `attention-atlas align`, which aligns the words in sentence pairs."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from transformer.analysis.aligned_pair import UNITS, AlignedPair
from transformer.analysis.aligner import STEPS, Aligner
from transformer.commands.parser import PAIRS_HELP, CommandParser
from transformer.commands.terminal import errors_without_traceback
from transformer.commands.translate import in_language
from transformer.errors import AtlasError
from transformer.measurements.alignments import GoldAlignments, align_all, aligner_of, dictionary
from transformer.measurements.corpus import check_corpus
from transformer.model.devices import use_one_thread
from transformer.running.translator import MODEL, Translator
from transformer.training.data import read_lines
from transformer.values.interventions import parse_head

COLUMNS = ("line", "source index", "target index", "source", "target", "weight")


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=prog,
        description="Align the words in sentence pairs, using the cross-attention heads that align best. Each "
        "target word is linked to one source word.",
    )
    parser.add_argument("pairs", type=Path, help=f"{PAIRS_HELP}; with --own, the target may be left out")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="pharaoh",
        help="pharaoh: links such as 0-0 1-2, one line per sentence pair; tsv: one line per link; dictionary: pairs of "
        "a source word and a target word, each with its number of links",
    )
    parser.add_argument(
        "--own", action="store_true", help="align the model's own translations instead of those in the file"
    )
    parser.add_argument(
        "--unit",
        choices=UNITS,
        help="unit to align: spaces (words separated by white space; default for pharaoh), words (like spaces, "
        "but with punctuation split off; default for tsv and dictionary) or tokens (the model's tokens)",
    )
    parser.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help="file of reference links, for measuring the alignment error rate (AER); either one line per sentence "
        "pair, such as 0-0 1?2 (? or p marks a possible link), or one line per link, such as 1 3 2 P (numbers of the "
        "pair, source word and target word; S for sure or P for possible)",
    )
    parser.add_argument(
        "--gold-first",
        type=int,
        choices=(0, 1),
        default=0,
        help="index of a sentence's first word in a --gold file with one line per sentence pair",
    )
    parser.add_argument(
        "--heads",
        nargs="+",
        metavar="cross.LAYER.HEAD",
        help="align with these heads, which must be in the same layer; layers and heads are numbered from 1",
    )
    parser.add_argument(
        "--step",
        choices=STEPS,
        help="with --heads: decoding step whose attention aligns a target token; predicted: the step that predicts the "
        "token; read: the step that reads the token (default: read)",
    )
    parser.add_argument("--language", metavar="CODE", help="target language, such as fra, for a multilingual model")
    parser.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="model folder")
    parser.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    return parser


def rows_of(path: Path, *, own_translation: bool) -> Iterator[tuple[str, str | None]]:
    """Yield the (source, target) pairs in a file; with `own_translation`, every target is None.

    Raises:
        FileNotFoundError: as in `read_lines`.
        ValueError: as in `read_lines`, or a line has no tab.
    """
    for number, line in read_lines(path):
        source, tab, rest = line.partition("\t")
        if not tab and not own_translation:
            raise ValueError(f"line {number} of {path} has no tab: put a tab between source and target")
        yield source, None if own_translation else rest.partition("\t")[0]


def chosen_aligner(heads: Sequence[str], step: str | None, translator: Translator) -> Aligner:
    """Return an aligner that uses the heads named by the user.

    Raises:
        ValueError: the heads are not cross-attention heads of a single layer of the model.
    """
    kinds, layers, numbers = zip(*map(parse_head, heads), strict=True)
    fits = layers[0] < translator.config.decoder_layers and max(numbers) < translator.config.heads
    if set(kinds) != {"cross"} or len(set(layers)) > 1 or not fits:
        raise ValueError(f"--heads needs cross-attention heads of a single layer of the model, not {' '.join(heads)}")
    return Aligner(layers[0], numbers, "predicted" if step == "predicted" else "read", 1.0, 0)


def write_pharaoh(pairs: Iterable[AlignedPair | None]) -> None:
    for pair in pairs:
        print(" ".join(f"{source}-{target}" for source, target in sorted(pair.links)) if pair else "")


def write_tsv(pairs: Iterable[AlignedPair | None]) -> None:
    print(*COLUMNS, sep="\t")
    for line, pair in enumerate(pairs, start=1):
        if pair:
            for (source, target), weight in zip(pair.links, pair.weights, strict=True):
                print(line, source, target, pair.source[source], pair.target[target], f"{weight:.4f}", sep="\t")


def write_dictionary(pairs: Iterable[AlignedPair | None]) -> None:
    for each in dictionary(pair for pair in pairs if pair):
        print(*each, sep="\t")


FORMATS: dict[str, Callable[[Iterable[AlignedPair | None]], None]] = {
    "pharaoh": write_pharaoh,
    "tsv": write_tsv,
    "dictionary": write_dictionary,
}


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "attention-atlas align") -> None:
    options = parser(prog).parse_args(arguments)
    if options.own and options.gold:
        raise ValueError("the links in --gold refer to the translations in the file of sentence pairs: leave out --own")
    if options.step and not options.heads:
        raise ValueError("--step needs --heads: without --heads, the command chooses both the heads and the step")
    check_corpus(options.pairs)
    gold = GoldAlignments(options.gold, options.gold_first) if options.gold else None
    # The operations are so small that a second thread costs more time than it saves.
    use_one_thread()
    translator = Translator.load(options.model, options.device)

    def rows() -> Iterator[tuple[str, str | None]]:
        for source, target in rows_of(options.pairs, own_translation=options.own):
            yield in_language(translator, source, options.language) if options.language else source, target

    if options.heads:
        aligner = chosen_aligner(options.heads, options.step, translator)
    else:
        aligner = aligner_of(translator, (source for source, _ in rows() if source.strip()))
    print(f"aligned with {aligner}", file=sys.stderr)
    errors: dict[int, AtlasError] = {}

    def aligned() -> Iterator[AlignedPair | None]:
        unit = options.unit or ("spaces" if options.format == "pharaoh" else "words")
        for number, pair in enumerate(align_all(translator, rows(), aligner, unit)):
            if isinstance(pair, AtlasError):
                errors[number + 1], pair = pair, None
            if gold:
                gold.note(number, pair)
            yield pair

    FORMATS[options.format](aligned())
    if errors:
        line, error = next(iter(errors.items()))
        print(f"{len(errors)} pairs were not aligned; the first error is on line {line}: {error}", file=sys.stderr)
    if gold:
        print(f"AER: {gold.error_rate():.4f}", file=sys.stderr)
