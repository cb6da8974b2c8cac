"""Implements `attention-atlas lessons`, which checks lesson files and their claims, and lists the possible claims."""

import argparse
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from transformer.checkpoints.available_models import model_folder
from transformer.commands.parser import CommandParser
from transformer.commands.terminal import errors_without_traceback
from transformer.errors import AtlasError, CheckpointError, LessonError
from transformer.lessons.claims import CLAIMS
from transformer.lessons.lesson import read_lesson
from transformer.lessons.result import broken_claims, values_not_in_figures
from transformer.running.remembered_runs import RememberedRuns
from transformer.running.translator import Translator


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(prog=prog, description="Check lesson files, which the app shows step by step.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="report errors in lessons")
    check.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a lesson file, *.toml")
    check.add_argument(
        "--model", type=Path, metavar="DIR", help="model folder (default: the model named in the lesson)"
    )
    check.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    commands.add_parser("claims", help="list the claims that a lesson can make, with their parameters and values")
    return parser


def list_claims() -> None:
    for name, claim in sorted(CLAIMS.items()):
        parameters = [one if one in claim.required else f"{one} (optional)" for one in claim.parameters]
        print(
            f"{name}\n  {claim.statement}\n  parameters: {', '.join(parameters) or 'none'}\n"
            f"  values: {', '.join(claim.values)}"
        )


def check(options: argparse.Namespace) -> None:
    """Check lesson files, and print one line for each correct lesson.

    Valid files are checked against the model even if other files have errors.

    Raises:
        AtlasError: a lesson has errors; the message has one line per error.
    """
    lessons, wrong = {}, []
    for path in options.files:
        try:
            lessons[path] = read_lesson(path)
        except LessonError as error:
            wrong.append(str(error))
        except OSError as error:
            wrong.append(f"{path.name}: the file cannot be read: {error.strerror}")
    load = cache(lambda folder: Translator.load(folder, options.device))
    for path, lesson in lessons.items():
        try:
            translator = load(options.model or model_folder(lesson.model).path)
        except CheckpointError as error:
            wrong.append(f"{path.name}: {error}")
            continue
        runs = RememberedRuns(translator)
        broken = broken_claims(lesson, runs) or values_not_in_figures(lesson, runs)
        wrong += [f"{path.name}: {one}" for one in broken]
        if not broken:
            print(f"{path.name}: {len(lesson.steps)} steps; every claim holds, and every value appears in its figure")
    if wrong:
        raise AtlasError("\n".join(wrong))


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "python -m transformer.lessons") -> None:
    options = parser(prog).parse_args(arguments)
    if options.command == "claims":
        list_claims()
    else:
        check(options)
