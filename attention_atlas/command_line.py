"""The `attention-atlas` command: starts the app, or runs a command of the library.

Without installation, `python -m attention_atlas` runs the same command.
"""

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec

from attention_atlas.lecture import announce, lecture_options, port_of
from transformer import __version__
from transformer.commands.terminal import errors_without_traceback

PROG = "attention-atlas"
# Module in `transformer.commands` and one-line help for each command, listed here so that --help need not import the
# modules, which takes seconds.
COMMANDS = {
    "translate": ("translate", "translate a sentence, and save the trace of the run"),
    "info": ("translate", "print a model's architecture and the number of its parameters"),
    "import": ("translate", "convert a Hugging Face translation model to a model folder"),
    "export": ("translate", "convert a model for use in another program"),
    "align": ("align", "align the words in sentence pairs"),
    "prepare": ("train", "build a vocabulary and tokenize sentence pairs"),
    "prepare-language-model": ("train", "build a vocabulary and tokenize texts for a language model"),
    "train": ("train", "train a model in a prepared folder, or resume its training"),
    "compare-attention": ("train", "train one small language model per attention type"),
    "average": ("train", "average the weights of several models"),
    "synthesise": ("train", "translate sentences with a model, to train another model"),
    "evaluate": ("train", "compute BLEU and chrF of a model on held-out pairs"),
    "samples": ("train", "translate sample sentences for a model card"),
    "vocabulary": ("train", "count the words that are a single token in a model's vocabulary"),
    "overlap": ("train", "count the held-out sentences that are in the training data"),
    "measure": ("measure", "measure what every head looks at, over many sentences"),
    "gallery": ("measure", "find heads with a clear function, over many sentences"),
    "match": ("measure", "for each head, find the most similar head of another model"),
    "means": ("measure", "compute every head's mean output, and save it in the model folder"),
    "importance": ("measure", "switch off one head at a time, and measure the effect over many sentences"),
    "effects": ("measure", "save arrays of every head's attention and effects in each of many sentences"),
    "removal": ("measure", "compute BLEU and chrF as more and more heads are removed"),
    "agreement": ("measure", "measure how well attribution methods agree, over many sentences"),
    "paths": ("measure", "test how well attribution graphs predict the effects of cutting paths"),
    "lessons": ("lessons", "check a lesson, or list the claims that a lesson can make"),
    "verify": ("verify", "rerun saved experiments, and compare the numbers"),
    "serve": ("serve", "serve the model to many apps, on one machine or on several"),
    "language-model": ("language_model", "continue or score texts, or find copying heads"),
    "tasks": ("tasks", "train a small Transformer to copy, reverse, sort or add"),
}
# Packages in requirements.txt. LIBRARY lists those that every command imports, PACKAGES all that the app imports.
LIBRARY = ("torch", "numpy", "scipy", "sentencepiece", "tokenizers", "safetensors", "msgspec")
PACKAGES = (*LIBRARY, "streamlit", "plotly", "altair", "pandas", "PIL", "segno", "starlette")
OPTIONS = ("--lecture", "--processes")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Show everything that a Transformer's attention does.",
        epilog=f"{PROG} COMMAND --help lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"{PROG} {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser(
        "app",
        add_help=False,
        help="start the app (default); accepts --lecture [ADDRESS] "
        "(opens the app to the network), --processes N, and the options of `streamlit run`",
    )
    for name, (_, purpose) in COMMANDS.items():
        commands.add_parser(name, add_help=False, help=purpose)
    return parser


def start_app(options: Sequence[str]) -> None:
    """Serve the app from one process or, in lecture mode or with --processes, from several processes behind one URL."""
    check_packages(PACKAGES, "app")
    # These modules import some of the packages checked above.
    from attention_atlas import app_process, app_processes

    parser = argparse.ArgumentParser(
        prog=PROG,
        usage="%(prog)s [--lecture [ADDRESS]] [--processes N] [options of `streamlit run`]",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("--processes", type=int, metavar="N")
    known, others = parser.parse_known_args(options)
    if known.processes is not None and not 1 <= known.processes <= app_processes.MAX_PROCESSES:
        raise SystemExit(
            f"error: --processes must be a number from 1 to {app_processes.MAX_PROCESSES}, not {known.processes}"
        )
    # Check the port here, because Streamlit would report an invalid port with a traceback.
    port_of(others)
    others, hall = lecture_options(others)
    check_spelling(others)
    count = known.processes or (app_processes.default_process_count() if hall else 1)
    if count > 1 or hall:
        opened = announce if hall else lambda here: print(f"\n  Open {here}\n", flush=True)
        app_processes.run(count, others, opened, hall)
    else:
        app_process.run(others)


def check_packages(names: Sequence[str], extra: str) -> None:
    """Check that packages are installed, without importing them.

    Args:
        names: names of the packages.
        extra: extra in pyproject.toml that installs the packages.

    Raises:
        SystemExit: a package is missing.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise SystemExit(
            f"error: {sys.executable} has no {', '.join(missing)}. If you installed attention-atlas, "
            f"run `pip install 'attention-atlas[{extra}]'`; if you run app.py from its folder, "
            "run `pip install -r requirements.txt` in that folder"
        )


def check_spelling(options: Sequence[str]) -> None:
    """Reject misspelled options of this command before they are passed on to Streamlit.

    Streamlit would answer a misspelled option with its own usage message, which does not list this command's options.

    Raises:
        SystemExit: an unknown option resembles an option of this command.
    """
    for option in options:
        name = option.partition("=")[0]
        # Streamlit's own options contain a dot.
        meant = get_close_matches(name, OPTIONS, n=1) if name.startswith("-") and "." not in name else []
        if meant:
            raise SystemExit(f"error: there is no option {name}; did you mean {meant[0]}?")


@errors_without_traceback()
def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")):
        arguments = ["app", *arguments]
    command = parser().parse_args(arguments[:1]).command
    if command == "app":
        start_app(arguments[1:])
        return
    check_packages(LIBRARY, "train")
    module, _ = COMMANDS[command]
    # These modules implement one command each; all other modules have one parser for several commands.
    has_own_parser = module in ("align", "lessons", "tasks", "language_model", "serve", "verify")
    import_module(f"transformer.commands.{module}").main(
        arguments[has_own_parser:], f"{PROG} {command}" if has_own_parser else PROG
    )
