"""Implements `attention-atlas verify`, which reruns saved experiments and compares the results with the saved ones."""

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from transformer.checkpoints.available_models import is_language_model, language_model_folders, model_folders
from transformer.checkpoints.checkpoint import load_language_model
from transformer.commands.parser import CommandParser
from transformer.commands.terminal import errors_without_traceback
from transformer.errors import AtlasError
from transformer.experiments.checking import Report, check, check_model
from transformer.experiments.experiment import MAX_FIGURE_BYTES, Experiment
from transformer.files.paths import MODEL
from transformer.files.small_files import read_small
from transformer.running.remembered_runs import RememberedRuns
from transformer.running.translator import Translator

SAME, DIFFERENT, NOT_POSSIBLE = 0, 1, 2


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=prog,
        description="Rerun saved experiments, and compare the new results with the saved ones.",
        epilog=f"Exit status: {SAME} if all numbers match, {DIFFERENT} if any differs, {NOT_POSSIBLE} if a file "
        "cannot be checked.",
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="an experiment (.json), or a figure or list of slides that contains experiments",
    )
    parser.add_argument(
        "--model-dir", type=Path, metavar="DIR", help="model folder (default: the model named in the experiment)"
    )
    parser.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    return parser


def verify(path: Path, load: Any, folder: Path | None) -> list[Report]:
    """Rerun the experiments in a file, and compare the results with the saved ones.

    Raises:
        AtlasError, OSError, ValueError: an experiment cannot be read or rerun.
    """
    folders, reports = {**language_model_folders(), **model_folders()}, []
    for experiment in Experiment.read_all(read_small(path, MAX_FIGURE_BYTES)):
        used = folder or (folders[experiment.name].path if experiment.name in folders else MODEL)
        model = load(used)
        check_model(experiment, model.version, used.name)
        reports.append(check(experiment, RememberedRuns(model)))
    return reports


@errors_without_traceback()
def main(arguments: Sequence[str] | None = None, prog: str = "attention-atlas verify") -> None:
    options = parser(prog).parse_args(arguments)

    @cache
    def load(folder: Path) -> Any:
        return (load_language_model if is_language_model(folder) else Translator.load)(folder, options.device)

    status = SAME
    for path in options.files:
        try:
            reports = verify(path, load, options.model_dir)
        except (AtlasError, OSError, ValueError) as error:
            message = f"the file cannot be read: {error.strerror}" if isinstance(error, OSError) else error
            print(f"error: {path.name}: {message}", file=sys.stderr)
            status = NOT_POSSIBLE
            continue
        for number, report in enumerate(reports, start=1):
            which = f", experiment {number} of {len(reports)}" if len(reports) > 1 else ""
            print(f"{path.name}{which}: {report}")
            status = max(status, DIFFERENT if report.differing else SAME)
    sys.exit(status)
