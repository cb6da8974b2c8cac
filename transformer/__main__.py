"""python -m transformer translate | info"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from transformer.errors import AtlasError
from transformer.parameters import parameter_table
from transformer.trace import Trace
from transformer.translator import MODEL, Translator


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m transformer", description="Translate, and see how.")
    commands = parser.add_subparsers(dest="command", required=True)
    translate = commands.add_parser("translate", help="translate a sentence and keep the trace of the run")
    translate.add_argument("text")
    translate.add_argument("--target", help="read this translation instead of the model's own")
    translate.add_argument("--trace", type=Path, metavar="FILE.npz", help="write all attention weights there")
    translate.add_argument("--details", action="store_true", help="scores, queries, keys, values ... in the trace too")
    translate.add_argument("--json", action="store_true", help="print the whole trace as one JSON object")
    info = commands.add_parser("info", help="print the architecture and its parameters")
    for command in (translate, info):
        command.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="model folder (%(default)s)")
        command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="the fastest there is")
    return parser


def run(translator: Translator, options: argparse.Namespace) -> Trace:
    if options.target is None:
        return translator.translate(options.text, details=options.details)
    return translator.read(options.text, options.target, details=options.details)


def describe(translator: Translator) -> str:
    """The architecture and its parameter table, for a terminal."""
    settings = json.loads(translator.config.to_json())
    rows = [(part, f"{count:,}") for part, count in parameter_table(translator.config)]
    rows.append(("total", f"{translator.parameters:,}"))
    width = max(len(part) for part, _ in rows)
    return "\n".join(
        [f"{name:<{width}} {value}" for name, value in settings.items()]
        + ["", "parameters"]
        + [f"{part:<{width}} {count:>12}" for part, count in rows]
    )


def main() -> None:
    options = arguments().parse_args()
    translator = Translator.load(options.model, options.device)
    if options.command == "info":
        print(describe(translator))
        return
    trace = run(translator, options)
    print(trace.to_json() if options.json else trace.target_text)
    if options.trace is not None:
        trace.to_npz(options.trace)


if __name__ == "__main__":
    try:
        main()
    except (AtlasError, OSError) as error:
        sys.exit(f"error: {error}")
