"""Implements `python -m transformer.training`, which prepares data, and trains, averages and evaluates models."""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from transformer.commands.parser import PAIRS_HELP, CommandParser
from transformer.commands.terminal import errors_without_traceback
from transformer.measurements.attention_comparison import compare_attentions
from transformer.model.fast.malloc import keep_freed_memory
from transformer.text.tokenizer import VOCABULARY, Tokenizer
from transformer.training.averaging import average_models
from transformer.training.config import TrainConfig
from transformer.training.data import overlap, read_pairs
from transformer.training.distributed import process_group
from transformer.training.evaluate import evaluate
from transformer.training.prepare import prepare, prepare_language_model
from transformer.training.samples import translate_samples
from transformer.training.synthesis import synthesise
from transformer.training.trainer import Trainer
from transformer.training.vocabulary import coverage


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(prog=prog, description="Train a translation model or a language model.")
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser("prepare", help="build a vocabulary and tokenize sentence pairs")
    _add_data(command)
    command.add_argument("--vocabulary", type=int, default=24_000, help="tokens in the joint vocabulary")
    command.add_argument(
        "--sampled",
        type=int,
        default=0,
        metavar="N",
        help="add N copies of every pair, each split into tokens at random",
    )
    command.add_argument("--from", dest="start", type=Path, metavar="MODEL", help="use this model's vocabulary")
    command.add_argument(
        "--reversed",
        dest="turned",
        action="store_true",
        help="train the opposite direction: the second sentence of each pair is the source",
    )

    command = commands.add_parser(
        "prepare-language-model", help="build a vocabulary and tokenize the source texts, for a language model"
    )
    _add_data(command)
    command.add_argument("--vocabulary", type=int, default=8_000, help="tokens in the vocabulary")
    command.add_argument(
        "--context",
        type=int,
        default=128,
        metavar="N",
        help="tokens per context; a context contains as many whole texts as fit",
    )
    command.add_argument(
        "--repeated",
        type=float,
        default=0.2,
        metavar="P",
        help="probability that a text is followed by an earlier text of its context",
    )
    command.add_argument(
        "--patterns",
        type=float,
        default=0.2,
        metavar="P",
        help="extra contexts that repeat random tokens, as a fraction of all others",
    )
    command.add_argument("--from", dest="start", type=Path, metavar="MODEL", help="use this model's vocabulary")

    command = commands.add_parser("train", help="train a model in a prepared folder, or resume its training")
    command.add_argument("--run", type=Path, required=True, help="folder made by `prepare` or `prepare-language-model`")
    command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: CUDA if available, else the CPU")
    command.add_argument(
        "--from",
        dest="start",
        type=Path,
        metavar="MODEL",
        help="folder of the model to start from; its weights are adapted to the vocabulary of the training data",
    )
    for field in fields(TrainConfig):
        command.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=type(field.default),
            default=field.default,
            choices=field.metadata.get("choices"),
            help=field.metadata["help"],
        )

    command = commands.add_parser(
        "compare-attention",
        help="train small language models that differ only in attention type and seed, and write their losses",
    )
    command.add_argument("--run", type=Path, required=True, help="folder made by `prepare-language-model`")
    command.add_argument("--steps", type=int, default=500, help="steps of each training run")
    command.add_argument("--seeds", type=int, default=3, help="models per attention type")
    command.add_argument("--output", type=Path, required=True, help="file for the losses")
    command.add_argument("--models", type=Path, metavar="DIR", help="save the models of the first seed in this folder")

    command = commands.add_parser("average", help="average the weights of several models")
    command.add_argument(
        "--models",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="folders of translation models that began training with the same weights",
    )
    command.add_argument("--output", type=Path, required=True, metavar="DIR", help="model folder to write")

    command = commands.add_parser(
        "synthesise", help="translate sentences with a model, and write sentence pairs for training another model"
    )
    command.add_argument("--model", type=Path, required=True, help="model folder")
    command.add_argument("--data", type=Path, nargs="+", required=True, help="tab-separated files (plain or .gz)")
    command.add_argument("--column", type=int, default=1, help="column that contains the sentences, counted from 1")
    command.add_argument(
        "--back", action="store_true", help="write the translations as sources, to train the opposite direction"
    )
    command.add_argument("--output", type=Path, required=True, help="gzip-compressed file to write the pairs to")
    command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    command.add_argument("--beam", type=int, default=1, metavar="N", help="beam size; 1 means greedy decoding")

    command = commands.add_parser("evaluate", help="measure a model's BLEU and chrF on held-out pairs")
    command.add_argument("--model", type=Path, required=True, help="model folder")
    command.add_argument("--data", type=Path, required=True, help=PAIRS_HELP)
    command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    command.add_argument("--beam", type=int, default=1, metavar="N", help="beam size; 1 means greedy decoding")
    command.add_argument(
        "--careless", action="store_true", help="convert sources to lower case, and remove final punctuation"
    )
    command.add_argument("--json", action="store_true", help="print the scores as one JSON object")

    command = commands.add_parser("samples", help="translate sample sentences for a model card")
    command.add_argument("--model", type=Path, required=True, help="model folder")
    command.add_argument(
        "--sentences",
        type=Path,
        required=True,
        metavar="FILE",
        help="file with one sentence per line, optionally followed by a tab and text that should be in the translation",
    )
    command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    command.add_argument("--beam", type=int, default=1, metavar="N", help="beam size; 1 means greedy decoding")

    command = commands.add_parser(
        "vocabulary", help="count how many words of a text are a single token in a model's vocabulary"
    )
    command.add_argument("--model", type=Path, required=True, help="model folder")
    command.add_argument("--data", type=Path, nargs="+", required=True, help=PAIRS_HELP)

    command = commands.add_parser("overlap", help="count the held-out sentences that are in the training data")
    command.add_argument("--data", type=Path, nargs="+", required=True, help=PAIRS_HELP)
    command.add_argument("--held-out", type=Path, required=True, help="file of held-out pairs")
    return parser


def _add_data(command: argparse.ArgumentParser) -> None:
    """Add the options shared by `prepare` and `prepare-language-model`."""
    command.add_argument("--run", type=Path, required=True, help="folder of the run; created if missing")
    command.add_argument("--data", type=Path, nargs="+", required=True, help=PAIRS_HELP)
    command.add_argument("--validation", type=Path, required=True, help="file of pairs for the validation loss")
    command.add_argument(
        "--held-out",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="files of test pairs; training pairs that share a sentence with these or with --validation are removed",
    )


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "python -m transformer.training") -> None:
    options = vars(parser(prog).parse_args(arguments))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    command = options.pop("command")
    if command == "prepare":
        prepare(options.pop("run"), **options)
    elif command == "prepare-language-model":
        prepare_language_model(options.pop("run"), **options)
    elif command == "train":
        keep_freed_memory()
        run, device, start = options.pop("run"), options.pop("device"), options.pop("start")
        with process_group(device) as process:
            training = Trainer(run, TrainConfig(**options), process, start)
            try:
                training.train()
            except KeyboardInterrupt:
                sys.exit("interrupted: run the same command again to continue from the last checkpoint")
    elif command == "compare-attention":
        keep_freed_memory()
        compare_attentions(options.pop("run"), options.pop("output"), **options)
    elif command == "average":
        average_models(options["models"], options["output"])
        print(f"wrote the mean of {len(options['models'])} models to {options['output']}")
    elif command == "synthesise":
        synthesise(options.pop("model"), **options)
    elif command == "evaluate":
        as_json = options.pop("json")
        scores = evaluate(options.pop("model"), options.pop("data"), **options)
        print(json.dumps(scores.as_dict()) if as_json else scores)
    elif command == "samples":
        samples = translate_samples(options.pop("model"), options.pop("sentences"), **options)
        print(*samples, sep="\n")
        if asked := [sample for sample in samples if sample.expected]:
            print(f"{sum(sample.survives for sample in asked)} of {len(asked)} translations contain the expected text")
    elif command == "vocabulary":
        tokenizer = Tokenizer.load(options["model"] / VOCABULARY)
        sources, targets = zip(*(pair for path in options["data"] for pair in read_pairs(path)), strict=True)
        print(f"source: {coverage(tokenizer, sources)}", f"target: {coverage(tokenizer, targets)}", sep="\n")
    else:
        held_out = read_pairs(options["held_out"])
        shared = overlap([pair for path in options["data"] for pair in read_pairs(path)], held_out)
        print(f"{len(shared)} of {2 * len(held_out)} held-out sentences are in the training data", *shared, sep="\n")
