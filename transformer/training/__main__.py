"""python -m transformer.training prepare | train | evaluate | overlap"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import fields
from pathlib import Path

from transformer.training.data import overlap, read_pairs
from transformer.training.evaluate import evaluate
from transformer.training.memory import keep_freed_memory
from transformer.training.prepare import prepare
from transformer.training.processes import joined_processes
from transformer.training.recipe import Recipe
from transformer.training.trainer import Trainer


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m transformer.training", description="Train a translation model.")
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser("prepare", help="make a vocabulary and split sentence pairs into its pieces")
    command.add_argument("--run", type=Path, required=True, help="folder of the run, made if it is not there")
    command.add_argument("--data", type=Path, nargs="+", required=True, help="files: source, tab, target (.gz or not)")
    command.add_argument("--validation", type=Path, required=True, help="such a file, to watch the loss on")
    command.add_argument("--vocabulary", type=int, default=8000, help="pieces of the joint vocabulary (%(default)s)")
    command.add_argument(
        "--sampled", type=int, default=1, metavar="N",
        help="let every pair come N times more, split into pieces at random (%(default)s)",
    )
    command.add_argument("--from", dest="start", type=Path, metavar="MODEL", help="take this model's vocabulary")

    command = commands.add_parser("train", help="train in a prepared folder, or continue there")
    command.add_argument("--run", type=Path, required=True, help="folder that `prepare` made")
    command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="CUDA if it is there, else the CPU")
    command.add_argument("--from", dest="start", type=Path, metavar="MODEL", help="start with this model's weights")
    for field in fields(Recipe):
        command.add_argument(
            f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default,
            help="(%(default)s)",
        )

    command = commands.add_parser("evaluate", help="BLEU and chrF of a model on held-out pairs")
    command.add_argument("--model", type=Path, required=True, help="model folder")
    command.add_argument("--data", type=Path, required=True, help="file: source, tab, target (.gz or not)")
    command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="the best there is")
    command.add_argument("--beam", type=int, default=1, metavar="N", help="size of the beam; 1 is greedy (%(default)s)")
    command.add_argument("--careless", action="store_true", help="sources in lower case, without final punctuation")
    command.add_argument("--json", action="store_true", help="print one JSON object")

    command = commands.add_parser("overlap", help="count the held-out sentences that are in the training data")
    command.add_argument("--data", type=Path, nargs="+", required=True, help="files: source, tab, target (.gz or not)")
    command.add_argument("--held-out", type=Path, required=True, help="such a file")
    return parser


def main() -> None:
    options = vars(arguments().parse_args())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    command = options.pop("command")
    if command == "prepare":
        prepare(options.pop("run"), **options)
    elif command == "train":
        keep_freed_memory()
        run, device, start = options.pop("run"), options.pop("device"), options.pop("start")
        with joined_processes(device) as process:
            training = Trainer(run, Recipe(**options), process, start)
            try:
                training.train()
            except KeyboardInterrupt:
                sys.exit("interrupted: called again with the same options, it continues from its last checkpoint")
    elif command == "evaluate":
        as_json = options.pop("json")
        scores = evaluate(options.pop("model"), options.pop("data"), **options)
        print(json.dumps(scores.as_dict()) if as_json else scores)
    else:
        held_out = read_pairs(options["held_out"])
        shared = overlap([pair for path in options["data"] for pair in read_pairs(path)], held_out)
        print(f"{len(shared)} of {len(held_out)} held-out sources are in the training data", *shared, sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
