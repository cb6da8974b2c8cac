"""python -m transformer.analysis --sentences FILE --output FILE.json"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from transformer.analysis.names import head_names
from transformer.analysis.statistics import Statistics, statistics_of
from transformer.errors import AtlasError
from transformer.translator import MODEL, Translator


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m transformer.analysis", description="Measure every head of a model over many sentences."
    )
    parser.add_argument("--sentences", type=Path, required=True, metavar="FILE", help="text, one sentence a line")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.json", help="write the averages there")
    parser.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="model folder (%(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda", "mps"), help="the fastest there is")
    return parser


def read_sentences(path: Path) -> list[str]:
    """The lines of a file that are not blank.

    Raises:
        ValueError: there is none, or the file is no UTF-8 text.
    """
    sentences = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not sentences:
        raise ValueError(f"{path} has no sentence: write one a line")
    return sentences


def describe(statistics: Statistics) -> str:
    """Which heads have a name, for a terminal."""
    lines = [f"{statistics.sentences} sentences"]
    for kind, metrics in statistics.heads.items():
        for layer, heads in enumerate(head_names(metrics), start=1):
            for head, names in enumerate(heads, start=1):
                lines += [f"{kind} layer {layer} head {head}: {', '.join(names)}"] if names else []
    return "\n".join(lines)


def main() -> None:
    options = arguments().parse_args()
    sentences = read_sentences(options.sentences)
    if not options.output.parent.is_dir():
        raise ValueError(f"there is no folder {options.output.parent} to write {options.output.name} into")
    translator = Translator.load(options.model, options.device)
    traces = (translator.translate(sentence) for sentence in sentences)
    statistics = statistics_of(traces, translator.tokenizer.scores, translator.version)
    options.output.write_text(statistics.to_json() + "\n", encoding="utf-8")
    print(describe(statistics))


if __name__ == "__main__":
    try:
        main()
    except (AtlasError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")
