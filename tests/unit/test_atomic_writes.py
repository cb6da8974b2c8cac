"""Tests that a failed write is reported in one line that names the file, and never leaves a half-written file."""

import logging

import pytest

from tests.full_disk import full_disk
from transformer.commands.language_model import main as language_model
from transformer.commands.measure import main as analysis
from transformer.commands.tasks import main as tasks
from transformer.commands.train import main as training
from transformer.commands.translate import main as atlas
from transformer.files.atomic_writes import atomic_file, check_output, write_text


@pytest.fixture
def files(tmp_path, model_folder, tokenizer):
    """Write input files, and return each command's main function and arguments, by the command's name."""
    (tmp_path / "pairs.tsv").write_text("".join(f"the dog {n}\tder Hund {n}\n" for n in range(40)), encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("a cat\teine Katze\n", encoding="utf-8")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "tokenizer.model").write_bytes(tokenizer.serialized)
    return {
        "prepare": (
            training,
            "prepare",
            "--run",
            tmp_path / "run",
            "--data",
            tmp_path / "pairs.tsv",
            "--validation",
            tmp_path / "dev.tsv",
            "--from",
            tmp_path / "given",
        ),
        "average": (training, "average", "--models", model_folder, model_folder, "--output", tmp_path / "mean"),
        "synthesise": (
            training,
            "synthesise",
            "--model",
            model_folder,
            "--data",
            tmp_path / "pairs.tsv",
            "--output",
            tmp_path / "made.gz",
            "--device",
            "cpu",
        ),
        "tasks": (
            tasks,
            "train",
            "copy",
            "--steps",
            2,
            "--d-model",
            8,
            "--items",
            4,
            "--snapshots",
            1,
            "--output",
            tmp_path / "copy.npz",
        ),
        "measure": (
            analysis,
            "measure",
            "--model",
            model_folder,
            "--sentences",
            tmp_path / "dev.tsv",
            "--output",
            tmp_path / "heads.json",
            "--device",
            "cpu",
        ),
        "gallery": (
            analysis,
            "gallery",
            "--model",
            model_folder,
            "--sentences",
            tmp_path / "dev.tsv",
            "--output",
            tmp_path / "gallery.json",
            "--device",
            "cpu",
        ),
        "translate": (atlas, "translate", "A dog.", "--model", model_folder, "--trace", tmp_path / "dog.npz"),
    }


@pytest.mark.parametrize(
    ("name", "room", "file"),
    [
        ("prepare", 10, "run/tokenizer.model"),
        ("average", 50_000, "mean/model.safetensors"),
        ("synthesise", 10, "made.gz"),
        ("tasks", 1000, "copy.npz"),
        ("measure", 10, "heads.json.partial"),
        ("gallery", 10, "gallery.json"),
        ("translate", 10, "dog.npz"),
    ],
)
def test_full_disk_error_names_the_file(files, tmp_path, run_main, name, room, file, caplog):
    caplog.set_level(logging.CRITICAL)
    main, *arguments = files[name]
    with full_disk(room):
        done = run_main(main, *arguments)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"error: {tmp_path / file} could not be written (") and "has space" in said
    assert not list(tmp_path.rglob("*.unfinished"))


def test_command_that_failed_on_a_full_disk_succeeds_once_there_is_space(files, run_main):
    main, *arguments = files["average"]
    with full_disk(50_000):
        assert run_main(main, *arguments).returncode == 1
    assert run_main(main, *arguments).returncode == 0


def test_error_while_writing_keeps_the_existing_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_file(path) as file:
        file.write_text("new")
        raise ZeroDivisionError
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"] and path.read_text() == "old"


def test_atomically_written_file_has_the_default_permissions(tmp_path):
    """Covers a file that was made private while it was being written."""
    (tmp_path / "other.txt").touch()
    with atomic_file(tmp_path / "a.txt") as file:
        file.write_text("new")
        file.chmod(0o600)
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "other.txt").stat().st_mode


@pytest.fixture
def no_files(tmp_path):
    """Return paths that cannot be output files, with the expected message for each."""
    (tmp_path / "file").touch()
    return {
        tmp_path: "is a folder: name a file",
        ".": "is a folder: name a file",
        "": "is a folder: name a file",
        "/": "is a folder: name a file",
        tmp_path / ("a" * 300): "name too long",
        tmp_path / "none" / "a.npz": "there is no folder",
        tmp_path / "file" / "a.npz": "there is no folder",
    }


@pytest.mark.parametrize(
    "command",
    [
        (training, "synthesise", "--model", "none", "--data", "none"),
        (training, "compare-attention", "--run", "none"),
        (analysis, "measure", "--model", "none"),
        (language_model, "heads", "--model", "none"),
        (tasks, "train", "copy", "--steps", 1_000_000),
        (atlas, "translate", "A dog.", "--model", "none"),
    ],
    ids=lambda command: command[1],
)
def test_unwritable_output_is_reported_before_anything_is_read_or_computed(command, no_files, run_main):
    main, *arguments = command
    for output, said in no_files.items():
        done = run_main(main, *arguments, "--trace" if main is atlas else "--output", output)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and said in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1 and "[Errno" not in done.stderr


def test_folder_with_an_impossible_name_is_reported_in_one_line(tmp_path, model_folder, run_main):
    output = tmp_path / ("a" * 300)
    for main, *arguments in (
        (training, "average", "--models", model_folder, model_folder),
        (atlas, "import", model_folder),
        (atlas, "export", "--format", "huggingface", "--model", model_folder),
    ):
        done = run_main(main, *arguments, "--output", output)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"error: {output} could not be written (File name too long)")
    done = run_main(atlas, "import", output, "--output", tmp_path / "x")
    assert done.stderr.startswith(f"error: {output} is neither a folder nor a name on the Hugging Face Hub, such as ")
    done = run_main(atlas, "info", "--model", output)
    assert done.stderr.startswith(f"error: The file {output / 'config.json'} cannot be read (File name too long).")


def test_output_path_that_passes_the_check_can_be_written(tmp_path):
    (tmp_path / "old").touch()
    (tmp_path / "link").symlink_to("made")
    for name in ("new", "old", "link"):
        check_output(tmp_path / name)
        write_text(tmp_path / name, "a")
    assert (tmp_path / "made").read_text() == "a"
