"""Implements `python -m transformer`, which translates a sentence, describes a model, and imports or exports models."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transformer.ablation.effect import effect_of
from transformer.ablation.estimate import mean_over_draws
from transformer.ablation.patching import patch_interventions
from transformer.commands.parser import CommandParser
from transformer.commands.terminal import errors_without_traceback
from transformer.decoding.texts import not_written
from transformer.errors import InterventionError, TextError
from transformer.files.atomic_writes import check_output, write_errors_explained
from transformer.interop.exporter import export_huggingface
from transformer.interop.importer import import_model
from transformer.model.parameter_counts import parameter_table
from transformer.running.translator import MODEL, Translator
from transformer.text.vocabulary import split_code, with_code
from transformer.values.interventions import DEFAULT_DRAWS, MODES, Interventions, parse_head
from transformer.values.patches import parse_patch
from transformer.values.trace import Trace


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(prog=prog, description="Translate, and inspect how the model does it.")
    commands = parser.add_subparsers(dest="command", required=True)
    translate = commands.add_parser("translate", help="translate a sentence; with --trace, write the trace of the run")
    translate.add_argument("text")
    translate.add_argument("--language", metavar="CODE", help="target language, such as fra, for a multilingual model")
    translate.add_argument("--target", help="translation for the model to read instead of its own")
    translate.add_argument(
        "--off",
        action="append",
        default=[],
        metavar="KIND.LAYER.HEAD",
        help="switch off a head, such as cross.1.8; layers and heads are numbered from 1; repeat the option for more "
        "heads",
    )
    translate.add_argument(
        "--mode",
        choices=MODES,
        default="zero",
        help="what replaces the output of a head that is off: zeros, its mean output, its output with uniform "
        "attention, or its output for another sentence",
    )
    translate.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help=f"with --mode resample: number of other sentences to take head outputs from (default: {DEFAULT_DRAWS})",
    )
    translate.add_argument("--seed", type=int, metavar="N", help="with --mode resample: random seed (default: 0)")
    translate.add_argument(
        "--patch",
        action="append",
        default=[],
        metavar="SITE.LAYER.HEAD~POSITION",
        help="copy this activation, such as cross.outputs.4.8~10 or encoder.residual.3~7, from the run on --other; "
        "layers, heads and positions are numbered from 1; repeat the option for more activations",
    )
    translate.add_argument(
        "--other",
        metavar="TEXT",
        help="sentence to copy activations from; the model reads it with the translation of the main sentence",
    )
    translate.add_argument("--trace", type=Path, metavar="FILE.npz", help="write all attention weights to this file")
    translate.add_argument(
        "--details", action="store_true", help="also save scores, queries, keys, values and more in the trace"
    )
    translate.add_argument("--json", action="store_true", help="print the whole trace as one JSON object")
    info = commands.add_parser("info", help="print the architecture and the number of parameters of each part")
    importing = commands.add_parser("import", help="convert a Hugging Face translation model to a model folder")
    importing.add_argument(
        "source", metavar="FOLDER-OR-NAME", help="name such as Helsinki-NLP/opus-mt-en-fr, or a folder"
    )
    for side, text in (("source", "reads"), ("target", "writes")):
        importing.add_argument(
            f"--{side}",
            dest=f"{side}_language",
            metavar="CODE",
            help=f"code of the language that the model {text}, such as en, if the folder does not state it",
        )
    importing.add_argument("--revision", help="branch, tag or commit on the Hub (default: the newest)")
    importing.add_argument(
        "--allow-pickle-weights", action="store_true", help="read pytorch_model.bin if there is no safetensors file"
    )
    importing.add_argument(
        "--tie",
        action="store_true",
        help="if config.json ties two embeddings that differ in the weights file, use the target embedding for both",
    )
    export = commands.add_parser("export", help="convert a model for use in another program")
    export.add_argument("--format", choices=("huggingface",), required=True, help="format of the other program")
    for command in (importing, export):
        command.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder to write")
    export.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="model folder")
    for command in (translate, info):
        command.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="model folder")
        command.add_argument("--device", choices=("cpu", "cuda", "mps"), help="default: the fastest available")
    return parser


def describe(translator: Translator) -> str:
    """Format the architecture and the parameter table for a terminal."""
    settings = json.loads(translator.config.to_json())
    rows = [(part, f"{count:,}") for part, count in parameter_table(translator.config)]
    rows.append(("total", f"{translator.parameters:,}"))
    width = max(len(part) for part, _ in rows)
    return "\n".join(
        [f"{name:<{width}} {value}" for name, value in settings.items()]
        + ["", "parameters"]
        + [f"{part:<{width}} {count:>12}" for part, count in rows]
    )


def in_language(translator: Translator, text: str, language: str) -> str:
    """Prefix a source text with a target language code.

    Args:
        translator: translator with a multilingual vocabulary.
        text: source text.
        language: target language code, "fra" or ">>fra<<".

    Raises:
        TextError: the model does not support the language, or the text already has a different code.
    """
    codes = translator.tokenizer.codes
    inside = language.removeprefix(">>").removesuffix("<<")
    code = f">>{inside}<<"
    if code not in codes:
        raise not_written(inside, codes, translator.languages)
    own = next((each for each in split_code(text, codes)[0].split() if each.startswith(">>")), "")
    if own not in ("", code):
        raise TextError(f"The text begins with {own}, but --language is {language}: leave out one of them.")
    return with_code(text, code, codes)


def patched(translator: Translator, text: str, options: argparse.Namespace) -> Interventions:
    """Return interventions with the patches requested on the command line.

    Raises:
        InterventionError: only one of --patch and --other is given.
    """
    if not (options.patch and options.other):
        raise InterventionError(
            "--patch and --other must be used together: give an activation and the sentence to copy it from."
        )
    read = translator.trace(text, options.target).predicted_tokens
    other = translator.trace(options.other, [token.id for token in read])
    return patch_interventions(dict(map(parse_patch, options.patch)), other)


def resample(translator: Translator, text: str, interventions: Interventions, options: argparse.Namespace) -> Trace:
    """Print each draw's translation, and how the draws change the log-probability of a reference translation.

    Returns:
        Trace of the first draw, for the given translation or, if none is given, for the draw's own translation.

    Raises:
        InterventionError: no head is resampled, or there are fewer than two draws.
    """
    draws = DEFAULT_DRAWS if options.draws is None else options.draws
    if not options.off or draws < 2:
        raise InterventionError("--mode resample needs at least one head (--off) and at least 2 draws (--draws).")
    effect = effect_of(translator, text, interventions, options.target, details=options.details, draws=draws)
    trace = effect.free if options.target is None else effect.after
    change = mean_over_draws(effect.scores.change)
    if options.json:
        draw_texts = {
            "seed": interventions.seed,
            "draws": draws,
            "reference": translator.means and translator.means.sentences,
            "translations": effect.translations,
            "unchanged": effect.unchanged,
            "changes": effect.scores.change.tolist(),
            **{name: float(value) for name, value in vars(change).items()},
        }
        print(json.dumps({**json.loads(trace.to_json()), "resampled": draw_texts}))
        return trace
    for translation, count in Counter(effect.translations).most_common():
        print(f"{count} of {draws} draws: {translation}")
    read = "the translation with every head on" if options.target is None else "the given translation"
    print(
        f"The log-probability of {read} changes by {change.mean:+.4f} nats on average (95 % interval {change.low:+.4f} "
        f"to {change.high:+.4f}; seed {interventions.seed})."
    )
    return trace


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "python -m transformer") -> None:
    options = parser(prog).parse_args(arguments)
    if options.command == "import":
        print(
            import_model(
                options.source,
                options.output,
                revision=options.revision,
                allow_pickle=options.allow_pickle_weights,
                tie=options.tie,
                languages=(options.source_language, options.target_language),
                say=print,
            )
        )
        return
    if options.command == "export":
        export_huggingface(options.model, options.output)
        print(f"written to {options.output}")
        return
    if options.command == "translate" and options.trace is not None:
        check_output(options.trace)
    translator = Translator.load(options.model, options.device)
    if options.command == "info":
        print(describe(translator))
        return
    text = options.text if options.language is None else in_language(translator, options.text, options.language)
    if options.mode != "resample" and (options.draws is not None or options.seed is not None):
        raise InterventionError(
            f"--draws and --seed have no effect with --mode {options.mode}: leave them out, or use --mode resample."
        )
    interventions = Interventions({parse_head(name): 0.0 for name in options.off}, options.mode, seed=options.seed or 0)
    if options.patch or options.other:
        changed = patched(translator, text, options)
        interventions = replace(interventions, patches=changed.patches, other=changed.other)
    if options.mode == "resample":
        trace = resample(translator, text, interventions, options)
    else:
        trace = translator.trace(text, options.target, details=options.details, interventions=interventions)
        print(trace.to_json() if options.json else trace.target_text)
    if options.trace is not None:
        with write_errors_explained(options.trace):
            trace.to_npz(options.trace)
