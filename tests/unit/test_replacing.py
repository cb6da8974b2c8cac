"""What cannot be written is told by name, in one line, and leaves nothing half written."""

from __future__ import annotations

import logging

import pytest

from tests.full_disk import full_disk
from transformer.__main__ import main as atlas
from transformer.analysis.__main__ import main as analysis
from transformer.replacing import replaced
from transformer.tasks.__main__ import main as tasks
from transformer.training.__main__ import main as training


@pytest.fixture
def files(tmp_path, model_folder, tokenizer):
    """What the commands below are given."""
    (tmp_path / "pairs.tsv").write_text("".join(f"the dog {n}\tder Hund {n}\n" for n in range(40)), encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("a cat\teine Katze\n", encoding="utf-8")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "tokenizer.model").write_bytes(tokenizer.serialized)
    return {
        "prepare": (
            training, "prepare", "--run", tmp_path / "run", "--data", tmp_path / "pairs.tsv", "--validation",
            tmp_path / "dev.tsv", "--from", tmp_path / "given",
        ),
        "average": (training, "average", "--models", model_folder, model_folder, "--output", tmp_path / "mean"),
        "synthesise": (
            training, "synthesise", "--model", model_folder, "--data", tmp_path / "pairs.tsv", "--output",
            tmp_path / "made.gz", "--device", "cpu",
        ),
        "tasks": (
            tasks, "train", "copy", "--steps", 2, "--d-model", 8, "--items", 4, "--snapshots", 1, "--output",
            tmp_path / "copy.npz",
        ),
        "measure": (
            analysis, "measure", "--model", model_folder, "--sentences", tmp_path / "dev.tsv", "--output",
            tmp_path / "heads.json", "--device", "cpu",
        ),
        "gallery": (
            analysis, "gallery", "--model", model_folder, "--sentences", tmp_path / "dev.tsv", "--output",
            tmp_path / "gallery.json", "--device", "cpu",
        ),
        "translate": (atlas, "translate", "A dog.", "--model", model_folder, "--trace", tmp_path / "dog.npz"),
    }


@pytest.mark.parametrize(("name", "room", "file"), [
    ("prepare", 10, "run/tokenizer.model"), ("average", 10, "mean/tokenizer.model"),
    ("average", 50_000, "mean/model.safetensors"), ("synthesise", 10, "made.gz"), ("tasks", 10, "copy.npz"),
    ("tasks", 1000, "copy.npz"), ("measure", 10, "heads.json.partial"), ("gallery", 10, "gallery.json"),
    ("translate", 10, "dog.npz"), ("translate", 1000, "dog.npz"),
])
def test_a_full_disk_is_told_with_the_file(files, tmp_path, run_main, name, room, file, caplog):
    caplog.set_level(logging.CRITICAL)
    main, *arguments = files[name]
    with full_disk(room):
        done = run_main(main, *arguments)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"error: {tmp_path / file} could not be written (") and "has room" in said
    assert not list(tmp_path.rglob("*.unfinished"))


def test_what_failed_for_want_of_room_works_once_there_is_some(files, run_main):
    main, *arguments = files["average"]
    with full_disk(50_000):
        assert run_main(main, *arguments).returncode == 1
    assert run_main(main, *arguments).returncode == 0


def test_the_old_file_stays_whatever_happens_to_the_new_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replaced(path) as file:
        file.write_text("new")
        raise ZeroDivisionError
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"] and path.read_text() == "old"
