"""Implements `attention-atlas language-model`, which continues and scores texts, and evaluates models and heads."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.commands.parser import PAIRS_HELP, CommandParser
from transformer.commands.terminal import errors_without_traceback
from transformer.files.atomic_writes import check_output, write_text
from transformer.files.paths import LANGUAGE_MODEL
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.evaluation import evaluate, evaluate_baselines, split_by_length
from transformer.language_modelling.head_scores import NAMES, THRESHOLD, head_scores
from transformer.language_modelling.scoring import score_text
from transformer.text.vocabulary import label_parts
from transformer.training.contexts import texts_of
from transformer.training.data import read_lines, read_pairs, without_held_out
from transformer.values.decoding_settings import METHODS, DecodingSettings

DEFAULTS = DecodingSettings()
# Number of heads to print for each score, starting with the best.
PRINTED_HEADS = 3
# Highest value of --limit. Models without learned positions have no limit of their own, but generating this many
# tokens takes minutes.
MAX_LIMIT = 65_536


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(prog=prog, description="Continue and score texts with a decoder-only Transformer.")
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser("continue", help="continue texts")
    command.add_argument("beginnings", nargs="*", metavar="TEXT", help="start of a text; may be empty")
    command.add_argument("--file", type=Path, metavar="FILE", help="a file with the start of a text on each line")
    command.add_argument("--method", choices=METHODS, default=DEFAULTS.method, help="decoding method")
    command.add_argument("--beam", type=int, default=DEFAULTS.beam_size, metavar="N", help="beam size")
    for name, kind, what in (
        ("temperature", float, "a value below 1 sharpens the distribution; a value above 1 flattens it"),
        ("top-k", int, "number of most likely tokens to choose from; 0 for all"),
        ("top-p", float, "choose from the fewest tokens whose probabilities add up to at least this"),
        ("seed", int, "random seed"),
    ):
        default = getattr(DEFAULTS, name.replace("-", "_"))
        command.add_argument(f"--{name}", type=kind, default=default, help=f"sampling: {what}")
    command.add_argument("--limit", type=int, default=40, metavar="N", help="maximum number of tokens to generate")

    command = commands.add_parser("score", help="print the log-probability of texts, in total and token by token")
    command.add_argument("texts", nargs="+", metavar="TEXT", help="a text of at least one character")

    command = commands.add_parser("evaluate", help="measure perplexity and bits per byte on held-out texts")
    command.add_argument("--data", type=Path, nargs="+", required=True, help=f"{PAIRS_HELP}; only the sources are used")
    command.add_argument(
        "--baseline",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="files in the format of --data; for comparison, the texts of --data are also predicted from the "
        "counts of tokens and token pairs in these files; texts that are also in --data are not counted",
    )

    command = commands.add_parser(
        "heads",
        help="find the heads that look at the previous token, continue a pattern, or look at an earlier occurrence of "
        "the current token",
    )
    command.add_argument("--output", type=Path, metavar="FILE", help="also write all scores to this file, as JSON")

    for command in commands.choices.values():
        command.add_argument("--model", type=Path, default=LANGUAGE_MODEL, help="model folder")
        command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    return parser


def continue_texts(loaded: LanguageModel, options: argparse.Namespace) -> None:
    beginnings = options.beginnings
    if options.file:
        beginnings = [line for _, line in read_lines(options.file)]
    if options.limit > MAX_LIMIT:
        raise ValueError(f"--limit must be at most {MAX_LIMIT:,}, not {options.limit:,}")
    settings = DecodingSettings(
        method=options.method,
        beam_size=options.beam,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        seed=options.seed,
    )
    for beginning in beginnings or [""]:
        continuation = continue_text(loaded.model, loaded.tokenizer, beginning, settings, limit=options.limit)
        print(continuation.text + ("" if continuation.complete else " …"))


def score(loaded: LanguageModel, texts: Sequence[str]) -> None:
    for text in texts:
        text_score = score_text(loaded.model, loaded.tokenizer, text)
        print(
            f"{text}\nlog-probability {text_score.log_prob:.2f}, perplexity {text_score.perplexity:.2f} per token, "
            f"{text_score.bits_per_byte:.3f} bits per byte"
        )
        for token, log_prob in zip(text_score.tokens, text_score.log_probs, strict=True):
            print(f"{log_prob:8.2f}  {' '.join(filter(None, label_parts(token, text_score.text)))}")


def measure_likelihood(loaded: LanguageModel, data: Sequence[Path], baseline: Sequence[Path]) -> None:
    pairs = [pair for path in data for pair in read_pairs(path)]
    texts, too_long = split_by_length(loaded, texts_of(pairs))
    if too_long:
        print(f"left out {len(too_long)} texts that have more tokens than the model has positions")
    print(f"this model: {evaluate(loaded, texts)}")
    if baseline:
        training = texts_of(without_held_out([pair for path in baseline for pair in read_pairs(path)], pairs))
        for name, likelihood in zip(
            ("single tokens", "token pairs"), evaluate_baselines(loaded, texts, training), strict=True
        ):
            print(f"{name}: {likelihood}")


def name_heads(loaded: LanguageModel, output: Path | None) -> None:
    scores = head_scores(loaded.model)
    names_of_heads = {}
    for kind, name in NAMES.items():
        each = getattr(scores, kind)
        best_first = sorted(((float(score), index) for index, score in enumerate(each.flat)), reverse=True)
        places = [(*divmod(index, each.shape[1]), score) for score, index in best_first]
        print(
            f"{name}: "
            + ", ".join(
                f"layer {layer + 1} head {head + 1} {score:.2f}{'' if score > THRESHOLD else ' (too low for the name)'}"
                for layer, head, score in places[:PRINTED_HEADS]
            )
        )
        names_of_heads[kind] = {
            "named": [[layer + 1, head + 1, round(score, 4)] for layer, head, score in places if score > THRESHOLD],
            "scores": each.round(4).tolist(),
        }
    if output:
        text = json.dumps({"model": loaded.version, "threshold": THRESHOLD, **names_of_heads}, indent=1)
        write_text(output, text + "\n")


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "python -m transformer.language_modelling") -> None:
    options = parser(prog).parse_args(arguments)
    if options.command == "heads" and options.output:
        check_output(options.output)
    loaded = load_language_model(options.model, options.device)
    if options.command == "continue":
        continue_texts(loaded, options)
    elif options.command == "score":
        score(loaded, options.texts)
    elif options.command == "evaluate":
        measure_likelihood(loaded, options.data, options.baseline)
    else:
        name_heads(loaded, options.output)
