"""Implements `attention-atlas tasks`, which trains a small Transformer on a task or describes a saved training run."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from transformer.commands.parser import CommandParser
from transformer.commands.terminal import errors_without_traceback
from transformer.config import CHOICES
from transformer.errors import AtlasError
from transformer.files.atomic_writes import check_output
from transformer.tasks.answer import answer
from transformer.tasks.archive import load_run, save_run
from transformer.tasks.config import OPTIMIZERS, TaskConfig
from transformer.tasks.events import events
from transformer.tasks.registry import TASKS, task_named
from transformer.tasks.run import TaskRun
from transformer.tasks.trainer import TaskTrainer

REPORT_LINES = 10


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(prog=prog, description="Train a Transformer on small tasks, which it learns within seconds.")
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train on a task; with --output, save the training run")
    train.add_argument("task", metavar="TASK", help=", ".join(TASKS))
    train.add_argument("--output", type=Path, metavar="FILE", help="write the training run to this file, *.npz")
    train.add_argument(
        "--models", type=int, metavar="N", help="number of snapshots to save with weights (default: all)"
    )
    train.add_argument(
        "--watch", metavar="ITEM", help="item whose attention is recorded (default: the longest held-out item)"
    )
    train.add_argument("--optimizer", choices=OPTIMIZERS, default="adam", help="optimizer")
    train.add_argument("--positions", choices=CHOICES["positions"], default="sinusoidal", help="positional encoding")
    for field in fields(TaskConfig):
        if field.metadata:
            train.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=type(field.default),
                default=field.default,
                help=f"{field.metadata['help']}",
            )
    show = commands.add_parser("show", help="describe a saved training run")
    show.add_argument("file", type=Path, metavar="FILE", help="file written by `train --output`")
    show.add_argument("--ask", metavar="ITEM", help="item for the trained model to answer")
    return parser


def train(options: argparse.Namespace) -> None:
    given = vars(options)
    # Check the output path before training, which may take minutes.
    if options.output:
        check_output(options.output)
    if options.models is not None and options.models < 2:
        raise AtlasError(f"--models must be at least 2 (the first and the last snapshot), not {options.models}")
    config = TaskConfig(**{field.name: given[field.name] for field in fields(TaskConfig)})
    try:
        run = train_and_report(config, options.watch)
    except KeyboardInterrupt:
        sys.exit("interrupted: nothing was written")
    if options.output:
        save_run(run, options.output, options.models)
    report(run)


def train_and_report(config: TaskConfig, watch: str | None) -> TaskRun:
    trainer = TaskTrainer(config, watch)
    while not trainer.finished:
        trainer.advance(steps=-(-config.steps // REPORT_LINES))
        last = trainer.snapshots[-1]
        print(
            f"step {trainer.step:,} of {config.steps:,}, {trainer.seconds:.1f} s: loss {trainer.losses[-1]:.4f}, "
            f"held-out loss {last.held_out_loss:.4f}, exact match {last.exact_match:.1%} (step {last.step:,})",
            flush=True,
        )
    return trainer.run()


def report(run: TaskRun) -> None:
    task, last = task_named(run.config.task), run.snapshots[-1]
    print(
        f"{task.title}: {run.step:,} steps in {run.seconds:.1f} s, {last.exact_match:.1%} of {task.held_out:,} "
        "held-out items answered correctly"
    )
    print(*(event.text for event in events(run)), sep="\n")


def show(options: argparse.Namespace) -> None:
    run = load_run(options.file)
    report(run)
    if options.ask is not None:
        last = run.with_weights(len(run.snapshots) - 1)
        task, task_answer = task_named(run.config.task), answer(run.config, last, options.ask)
        verdict = (
            "right" if task_answer.is_right else f"wrong; the right answer is {task.write(task_answer.item.target)}"
        )
        print(f"{task.write(task_answer.item.source)} -> {task.write(task_answer.written)} ({verdict})")


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "python -m transformer.tasks") -> None:
    options = parser(prog).parse_args(arguments)
    (train if options.command == "train" else show)(options)
