"""Implements `python -m transformer.analysis`, which measures heads and attribution methods over many sentences."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformer.ablation.removal import least_important_first, random_order
from transformer.analysis.heads.gallery import gallery_of
from transformer.analysis.heads.statistics import Statistics
from transformer.commands.descriptions import (
    describe_agreement,
    describe_gallery,
    describe_heads,
    describe_importance,
    describe_matches,
    describe_paths,
)
from transformer.commands.parser import PAIRS_HELP, CommandParser
from transformer.commands.progress import ProgressReport, resumable
from transformer.commands.terminal import errors_without_traceback
from transformer.files.atomic_writes import atomic_file, check_output, write_text
from transformer.files.paths import ASSETS
from transformer.files.records import Record
from transformer.measurements.agreement import agreement_statistics
from transformer.measurements.corpus import BATCH_SIZE, PART_SIZE, check_corpus, measure_corpus, sentences_of
from transformer.measurements.effects import effects_of_file
from transformer.measurements.importance import ImportanceStatistics, importance_statistics
from transformer.measurements.matching import match_heads
from transformer.measurements.paths import path_statistics
from transformer.measurements.removal import RemovalQuality, pairs_digest, quality_curves
from transformer.model.devices import use_one_thread
from transformer.running.translator import MODEL, Translator
from transformer.training.data import read_pairs
from transformer.values.head_means import FILE, HeadMeans, sentences_digest
from transformer.values.interventions import DEFAULT_DRAWS, MODES

SENTENCES = ASSETS / "sentences.txt"
# Every process loads a copy of the model, so a mistyped number of processes could fill the memory.
MAX_PROCESSES = 256
# Number of random orders in which to remove heads.
SEEDS = 3


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(prog=prog, description="Measure every head of a model over many sentences.")
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("measure", help="measure what every head looks at")
    gallery = commands.add_parser("gallery", help="find heads with a clear function, and sentences that show it")
    match = commands.add_parser("match", help="for each head, find the most similar head of another model")
    match.add_argument("--other", type=Path, required=True, metavar="DIR", help="folder of the other model")
    means = commands.add_parser("means", help=f"write every head's mean output into the model folder, as {FILE}")
    where = measure.add_mutually_exclusive_group()
    where.add_argument(
        "--processes",
        type=int,
        default=1,
        metavar="N",
        help="number of processes, each with its own copy of the model (default: %(default)s)",
    )
    where.add_argument(
        "--cluster", metavar="ADDRESS", help='address of a Ray cluster to measure on; "auto": the one on this machine'
    )
    importance = commands.add_parser("importance", help="measure the effect of switching off one head at a time")
    importance.add_argument(
        "--mode", choices=MODES, default="zero", help="what replaces the output of a head that is off"
    )
    importance.add_argument(
        "--draws",
        type=int,
        default=DEFAULT_DRAWS,
        metavar="N",
        help="with --mode resample: number of other sentences from which to take head outputs",
    )
    importance.add_argument("--seed", type=int, default=0, metavar="N", help="with --mode resample: random seed")
    effects = commands.add_parser(
        "effects",
        help="measure where each head looks in each sentence, and how the head affects the logits and the translation",
    )
    effects.add_argument(
        "--output", type=Path, required=True, metavar="FILE.npz", help="write the numbers to this file"
    )
    removal = commands.add_parser("removal", help="compute BLEU and chrF as heads are removed, least important first")
    removal.add_argument("--data", type=Path, required=True, help=PAIRS_HELP)
    removal.add_argument(
        "--importance", type=Path, required=True, metavar="FILE.json", help="file written by `importance`"
    )
    removal.add_argument("--pairs", type=int, default=500, metavar="N", help="use only the first N pairs")
    removal.add_argument(
        "--every", type=int, default=8, metavar="N", help="number of heads to remove before each new score"
    )
    agreement = commands.add_parser(
        "agreement", help="compare how attribution methods rank the source words, for one translated word per sentence"
    )
    paths = commands.add_parser(
        "paths",
        help="measure the effects of cutting edges of attribution graphs, and compare them with the effects that the "
        "graphs predict",
    )
    for command in (measure, match, gallery, means, importance, effects, agreement, paths):
        command.add_argument(
            "--sentences", type=Path, default=SENTENCES, metavar="FILE", help="text file, one sentence per line"
        )
    for command in (measure, match, gallery, importance, removal, agreement, paths):
        command.add_argument(
            "--output", type=Path, required=True, metavar="FILE.json", help="write the results to this file"
        )
    for command in (measure, match, gallery, means, importance, effects, removal, agreement, paths):
        command.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="model folder")
        command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    return parser


def read_sentences(path: Path) -> list[str]:
    """Return the lines of a file, without blank lines.

    Raises:
        ValueError: every line is blank, or a line is not UTF-8.
    """
    sentences = list(sentences_of(path))
    if not sentences:
        raise ValueError(f"{path} has no sentences: write one per line")
    return sentences


def model_of(options: argparse.Namespace) -> Translator:
    """Load the model to measure. Callers check all other input first, because loading takes a while."""
    return Translator.load(options.model, options.device)


def measure(options: argparse.Namespace) -> None:
    if not 1 <= options.processes <= MAX_PROCESSES:
        raise ValueError(f"--processes must be at least 1 and at most {MAX_PROCESSES}, not {options.processes}")
    state = state_of(options)
    translator = model_of(options)
    clock = ProgressReport(options.sentences, options.processes)
    with resumable(state, PART_SIZE):
        metrics = measure_corpus(
            translator,
            options.sentences,
            state,
            processes=options.processes,
            cluster=options.cluster,
            report=clock.report,
        )
    if metrics.skipped:
        print(f"{metrics.skipped} sentences were left out, because the model cannot read them", file=sys.stderr)
    statistics = Statistics(translator.version, metrics.sentences, metrics.heads)
    write_text(options.output, statistics.to_json() + "\n")
    # Delete the state only after the result is written. Otherwise, a full disk could cost half a day of measurements.
    state.unlink(missing_ok=True)
    print(describe_heads(statistics))


def match(options: argparse.Namespace) -> None:
    state = state_of(options)
    use_one_thread()
    first, second = model_of(options), Translator.load(options.other, options.device)
    with resumable(state, BATCH_SIZE):
        matches = match_heads(first, second, options.sentences, state, ProgressReport(options.sentences, 1).report)
    if matches.skipped:
        print(
            f"{matches.skipped} sentences were left out, because at least one of the two models cannot read them",
            file=sys.stderr,
        )
    write_text(options.output, matches.to_json() + "\n")
    state.unlink(missing_ok=True)
    print(describe_matches(matches))


def state_of(options: argparse.Namespace) -> Path:
    """Check that the state file can be written and the sentences can be read; return the path to the state file."""
    state = options.output.with_name(f"{options.output.name}.partial")
    check_output(state)
    check_corpus(options.sentences)
    return state


def gallery(options: argparse.Namespace) -> None:
    sentences, translator = read_sentences(options.sentences), model_of(options)
    traces = (translator.trace(sentence) for sentence in sentences)
    record = gallery_of(traces, translator.version, translator.languages)
    write_text(options.output, record.to_json() + "\n")
    print(describe_gallery(record, translator.languages))


def means(options: argparse.Namespace) -> None:
    sentences, translator = read_sentences(options.sentences), model_of(options)
    traces = (translator.trace(sentence, details=True) for sentence in sentences)
    HeadMeans.over(traces, translator.version, sentences_digest(sentences)).save(options.model)
    print(f"wrote the heads' mean outputs over {len(sentences)} sentences to {options.model / FILE}")


def importance(options: argparse.Namespace) -> None:
    sentences = read_sentences(options.sentences)
    statistics = importance_statistics(
        model_of(options), sentences, mode=options.mode, seed=options.seed, draws=options.draws
    )
    write_text(options.output, statistics.to_json() + "\n")
    print(describe_importance(statistics))


def effects(options: argparse.Namespace) -> None:
    state = state_of(options)
    translator = model_of(options)
    with resumable(state, 1):
        record = effects_of_file(translator, options.sentences, state, ProgressReport(options.sentences, 1).report)
    if record.skipped:
        print(f"{len(record.skipped)} sentences were left out, because the model cannot read them", file=sys.stderr)
    with atomic_file(options.output) as new, new.open("wb") as file:
        record.to_npz(file)
    state.unlink(missing_ok=True)
    print(f"wrote the effects of every head on {len(record.texts)} sentences to {options.output}")


def survey(options: argparse.Namespace) -> None:
    compute, describe = SURVEYS[options.command]
    sentences = read_sentences(options.sentences)
    statistics = compute(model_of(options), sentences)
    write_text(options.output, statistics.to_json() + "\n")
    print(describe(statistics))


def removal(options: argparse.Namespace) -> None:
    if options.pairs < 1 or options.every < 1:
        raise ValueError(f"--pairs and --every must be at least 1, not {options.pairs} and {options.every}")
    pairs = read_pairs(options.data)[: options.pairs]
    try:
        statistics = ImportanceStatistics.from_json(options.importance.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise ValueError(
            f"cannot read head importance from {options.importance} ({reason}): create the file with "
            "`importance --output`"
        ) from error
    translator = model_of(options)
    if statistics.model != translator.version:
        raise ValueError(
            f"the head importance in {options.importance} was measured on another model: run `importance` with "
            f"--model {options.model}"
        )
    orders = {
        name: least_important_first(translator.config, {kind: each.mean for kind, each in estimates.items()})
        for name, estimates in (("measured", statistics.measured), ("gradient", statistics.estimated))
    }
    orders |= {f"random {seed}": random_order(translator.config, seed) for seed in range(SEEDS)}
    points = []
    for point in quality_curves(options.model, translator.device, pairs, orders, every=options.every):
        print(f"{point.order}, {point.removed} removed: BLEU {point.bleu:.2f}, chrF {point.chrf:.2f}", flush=True)
        points.append(point)
    record = RemovalQuality(
        translator.version, "zero", options.data.name, len(pairs), pairs_digest(pairs), tuple(points)
    )
    write_text(options.output, record.to_json() + "\n")


# Maps each command to a function that measures and a function that describes the result in words.
SURVEYS: dict[str, tuple[Callable[[Translator, list[str]], Record], Callable[[Any], str]]] = {
    "agreement": (agreement_statistics, describe_agreement),
    "paths": (path_statistics, describe_paths),
}
COMMANDS = {
    "measure": measure,
    "match": match,
    "gallery": gallery,
    "means": means,
    "importance": importance,
    "effects": effects,
    "removal": removal,
    **dict.fromkeys(SURVEYS, survey),
}


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "python -m transformer.analysis") -> None:
    options = parser(prog).parse_args(arguments)
    check_output(options.model / FILE if options.command == "means" else options.output)
    COMMANDS[options.command](options)
