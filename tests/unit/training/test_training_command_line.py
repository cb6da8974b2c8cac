import json
import logging
import subprocess
import sys

import pytest

from tests.pipes import no_pipes, piped
from transformer.commands.language_model import main as language_model
from transformer.commands.measure import main as analysis
from transformer.commands.train import main, parser
from transformer.running.translator import MODEL
from transformer.training.data import read_pairs
from transformer.training.run_folder import read_data
from transformer.training.synthesis import plausible


def command(*arguments):
    """Run the training command in a new process, which takes seconds because it imports torch."""
    return subprocess.run(
        [sys.executable, "-m", "transformer.training", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


COMMANDS = (
    "prepare",
    "prepare-language-model",
    "train",
    "average",
    "synthesise",
    "evaluate",
    "samples",
    "vocabulary",
    "overlap",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_training_command_has_help(run_main, name):
    done = run_main(main, name, "--help")
    assert done.returncode == 0 and "--" in done.stdout


def test_training_commands_prepare_data_train_a_model_and_evaluate_it(tmp_path, tokenizer, run_main, caplog):
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"the dog number {i}\tder Hund Nummer {i}\n" for i in range(40)), encoding="utf-8")
    held_out = tmp_path / "held_out.tsv"
    held_out.write_text("the dog\tder Hund\nthe dog number 1\tHund 1\n", encoding="utf-8")
    run, given = tmp_path / "run", tmp_path / "given"
    given.mkdir()
    (given / "tokenizer.model").write_bytes(tokenizer.serialized)
    with caplog.at_level(logging.INFO):
        done = run_main(main, "prepare", "--run", run, "--data", data, "--validation", held_out, "--from", given)
    assert done.returncode == 0, done.stderr
    assert "39 training pairs; excluded 1 with" in caplog.text
    sizes = ("--d-model", 16, "--heads", 2, "--layers", 1, "--d-ff", 16, "--batch-pieces", 256)
    # Training changes the memory settings of its process, so use a separate process.
    done = command("train", "--run", run, "--device", "cpu", *sizes, "--steps", 2, "--warmup", 1)
    assert done.returncode == 0 and "step 2 of 2" in done.stderr, done.stderr
    done = run_main(
        main, "evaluate", "--model", run / "model", "--data", held_out, "--device", "cpu", "--beam", 2, "--json"
    )
    assert done.returncode == 0, done.stderr
    assert {"bleu", "chrf", "bleu_signature", "chrf_signature", "sentences"} <= json.loads(done.stdout).keys()


@pytest.mark.thorough
def test_synthesise_command_translates_each_distinct_sentence_once(tmp_path, run_main):
    """Sentences may come from either column and be translated in either direction."""
    data = tmp_path / "pairs.tsv"
    data.write_text("Yes.\tx\nYes.\n\nNo.\tz\n", encoding="utf-8")
    english = tmp_path / "english.tsv"
    english.write_text("x\tNo.\n", encoding="utf-8")
    output = tmp_path / "synthetic.tsv.gz"
    done = run_main(main, "synthesise", "--model", MODEL, "--data", data, "--output", output, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert read_pairs(output) == [("Yes.", "Ja."), ("No.", "Nein.")]
    back = ("--column", 2, "--back", "--beam", 2, "--output", output, "--device", "cpu")
    done = run_main(main, "synthesise", "--model", MODEL, "--data", english, *back)
    assert done.returncode == 0 and read_pairs(output) == [("Nein.", "No.")]
    done = run_main(main, "synthesise", "--model", MODEL, "--data", data, *back)
    assert done.returncode == 1 and done.stderr == f"error: {data}, line 2: there is no column 2\n"


def test_synthetic_pairs_exclude_failed_translations():
    """A failing model may write an empty translation, or one that never ends."""
    assert plausible(("I have a dream.", "Ich habe einen Traum."))
    assert not plausible(("I have a dream.", "")) and not plausible(("No.", "nicht " * 50))


def test_reversed_option_of_the_prepare_command_uses_the_target_as_the_source(tmp_path, tokenizer, run_main):
    for name in ("data", "dev"):
        (tmp_path / name).write_text(f"the {name}\tder {name}\n", encoding="utf-8")
    (tmp_path / "tokenizer.model").write_bytes(tokenizer.serialized)
    files = ("--data", tmp_path / "data", "--validation", tmp_path / "dev", "--from", tmp_path, "--reversed")
    assert run_main(main, "prepare", "--run", tmp_path / "run", *files).returncode == 0
    for name, text in {"train": "der data", "validation": "der dev"}.items():
        data, _ = read_data(tmp_path / "run" / f"{name}.safetensors", "prepare again")
        assert data.source[0].tolist() == tokenizer.encode_ids(text)


def test_every_command_line_option_has_a_description():
    for name in COMMANDS:
        command = next(action for action in parser("x")._actions if action.dest == "command").choices[name]
        assert all(len(action.help.split()) > 1 for action in command._actions), name


def test_vocabulary_and_overlap_commands_print_their_counts(tmp_path, run_main):
    data = tmp_path / "pairs.tsv"
    data.write_text("because the dog\tweil der Hund\n", encoding="utf-8")
    done = run_main(main, "vocabulary", "--model", MODEL, "--data", data)
    assert done.returncode == 0, done.stderr
    assert [line.split(" running")[0] for line in done.stdout.splitlines()] == ["source: 3", "target: 3"]
    done = run_main(main, "overlap", "--data", data, "--held-out", data)
    assert done.stdout.splitlines() == [
        "2 of 2 held-out sentences are in the training data",
        "because the dog",
        "weil der Hund",
    ]


def test_chosen_sentences_are_printed_in_model_card_format(tmp_path, run_main):
    file = tmp_path / "sentences.txt"
    file.write_text("I have a dream.\n\nThere are 365 days.\t365\nIt is two.\tzwölf / dreizehn\n", encoding="utf-8")
    done = run_main(main, "samples", "--model", MODEL, "--sentences", file, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    first, second, third, last = done.stdout.splitlines()
    assert first == "- I have a dream. → *Ich habe einen Traum.*"
    assert (
        second.endswith("✓ 365")
        and third.endswith("✗ zwölf / dreizehn")
        and last == "1 of 2 translations contain the expected text"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--sampled", -1), "--sampled must be at least 0"),
        (("--sampled", 10**12), "--sampled must be at least 0 and at most 1,000, not 1000000000000"),
        (("--vocabulary", 9_999_999_999_999), "--vocabulary must be at least 1 and at most 65,535, not 9999999999999"),
        (("--vocabulary", 0), "--vocabulary must be at least 1"),
        (("--vocabulary", 9000), "cannot train a vocabulary of 9000 tokens on this text; the maximum is"),
        (("--held-out", "nowhere.tsv"), "there is no file nowhere.tsv"),
    ],
)
def test_invalid_preparation_options_are_reported_in_one_line(tmp_path, run_main, given, message):
    for name in ("data", "dev"):
        (tmp_path / name).write_text(f"the {name}\tdas {name}\n", encoding="utf-8")
    files = ("--data", tmp_path / "data", "--validation", tmp_path / "dev")
    done = run_main(main, "prepare", "--run", tmp_path, *files, *given)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith(f"error: {message}")
    assert "Traceback" not in done.stderr


def prepare_two_pairs(folder, run_main, translation, command, *options):
    """Prepare a run with one training pair, and one validation pair with the given translation."""
    (folder / "data").write_text("a little dog\tein Hündchen\n", encoding="utf-8")
    (folder / "dev").write_text(f"a little cat\t{translation}\n", encoding="utf-8")
    files = ("--run", folder / "run", "--data", folder / "data", "--validation", folder / "dev", "--from", MODEL)
    return run_main(main, command, *files, *options)


def test_data_with_only_overlong_pairs_is_rejected(tmp_path, run_main):
    done = prepare_two_pairs(tmp_path, run_main, "eine kleine Katze " * 90, "prepare")
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == (
        "error: every pair in the validation data has a source or target of more than 256 tokens: write one sentence "
        "per line"
    )


@pytest.mark.parametrize("context", [1, 2])
def test_context_size_that_fits_no_text_is_rejected(tmp_path, run_main, context):
    done = prepare_two_pairs(tmp_path, run_main, "eine kleine Katze", "prepare-language-model", "--context", context)
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == (
        f"error: no text in the train data fits into a context of {context} tokens: choose a larger --context"
    )


def test_unreadable_input_file_is_reported_with_its_name(tmp_path, run_main, model_folder):
    latin, folder = tmp_path / "latin.txt", tmp_path / "folder"
    latin.write_bytes("A dog\tx\nGrün\ty\n".encode("latin-1"))
    (folder / "tokenizer.model").mkdir(parents=True)
    run = ("--run", tmp_path / "run")
    of_model = ("--model", model_folder)
    atlas = (*of_model, "--output", tmp_path / "o.json", "--device", "cpu")
    for program, arguments, said in (
        (main, ("samples", *of_model, "--sentences", latin), f"line 2 of {latin} is not UTF-8 text"),
        (main, ("samples", *of_model, "--sentences", folder), f"{folder} cannot be read (Is a directory)"),
        (main, ("prepare", *run, "--data", folder, "--validation", latin), f"{folder} cannot be read (Is a directory)"),
        (main, ("vocabulary", "--model", folder, "--data", latin), f"the vocabulary {folder}/tokenizer.model"),
        (language_model, ("continue", "--file", latin), f"line 2 of {latin} is not UTF-8 text"),
        (language_model, ("continue", "--file", folder), f"{folder} cannot be read (Is a directory)"),
        (analysis, ("gallery", "--sentences", latin, *atlas), f"line 2 of {latin} is not UTF-8 text"),
        (analysis, ("gallery", "--sentences", folder, *atlas), f"{folder} cannot be read (Is a directory)"),
    ):
        done = run_main(program, *arguments)
        assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith(f"error: {said}"), done.stderr


@no_pipes
@pytest.mark.parametrize("command", ["prepare", "prepare-language-model"])
def test_validation_data_is_read_from_a_pipe(tmp_path, run_main, command):
    data = tmp_path / "data"
    data.write_text("".join(f"The dog {n} sleeps.\tDer Hund {n} schläft.\n" for n in range(200)), encoding="utf-8")
    with piped("A dog reads.\tEin Hund liest.\n" * 3) as pipe:
        done = run_main(
            main, command, "--run", tmp_path / "run", "--data", data, "--validation", pipe, "--vocabulary", 380
        )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "validation.safetensors").exists()
