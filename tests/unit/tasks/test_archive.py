"""Runs in files: written, read, and refused in one line when something is wrong with them."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import zipfile

import numpy as np
import pytest

from transformer.commands.tasks import main
from transformer.errors import TaskError
from transformer.tasks import archive
from transformer.tasks.answer import answer
from transformer.tasks.archive import load_run, save_run
from transformer.tasks.config import TaskConfig
from transformer.tasks.events import events
from transformer.tasks.trainer import TaskTrainer


@pytest.fixture(scope="module")
def stored(small_run, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "copy.npz"
    save_run(small_run, path)
    return path


def test_is_read_as_it_was_written(small_run, stored):
    found = load_run(stored)
    assert (found.config, found.item, found.seconds) == (small_run.config, small_run.item, small_run.seconds)
    np.testing.assert_array_equal(found.losses, small_run.losses)
    for one, other in zip(found.snapshots, small_run.snapshots, strict=True):
        assert (one.step, one.exact_match, one.held_out_loss) == (other.step, other.exact_match, other.held_out_loss)
        np.testing.assert_array_equal(one.weights, other.weights)
        for kind, weights in other.attention.items():
            np.testing.assert_array_equal(one.attention[kind], weights)
            for name, scores in other.scores.items():
                np.testing.assert_allclose(one.scores[name][kind], scores[kind], rtol=1e-6)
    assert events(found) == events(small_run)
    assert stored.stat().st_size < 2_000_000


def test_an_unfinished_run_is_kept_too(small_config, tmp_path):
    trainer = TaskTrainer(small_config)
    trainer.advance(steps=4)
    save_run(trainer.run(), tmp_path / "half.npz")
    found = load_run(tmp_path / "half.npz")
    assert found.step == 4 and [snapshot.step for snapshot in found.snapshots] == [0, 3] and not found.finished


def test_a_file_may_keep_the_weights_of_a_few_moments(small_run, tmp_path):
    path = tmp_path / "few.npz"
    save_run(small_run, path, models=3)
    found = load_run(path)
    assert [index for index, each in enumerate(found.snapshots) if each.weights is not None] == [0, 2, 4]
    assert [each.held_out_loss for each in found.snapshots] == [each.held_out_loss for each in small_run.snapshots]
    assert (found.with_weights(1).step, found.with_weights(2).step, found.with_weights(4).step) == (0, 6, 12)
    assert [found.index_at(step) for step in (0, 2, 3, 11, 12, 99)] == [0, 0, 1, 3, 4, 4]
    with pytest.raises(ValueError, match="step 3 were not kept"):
        answer(found.config, found.snapshots[1], "abc")
    # Written again, it is the same run.
    save_run(found, tmp_path / "again.npz")
    assert [each.step for each in load_run(tmp_path / "again.npz").snapshots if each.weights is not None] == [0, 6, 12]


def altered(stored, path, **parts):
    """A copy with some parts replaced, or left out where None."""
    with zipfile.ZipFile(stored) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            part = parts.get(name.removesuffix(".npy"), ...)
            if part is ...:
                target.writestr(name, source.read(name))
            elif part is not None:
                file = io.BytesIO()
                np.lib.format.write_array(file, part, allow_pickle=part.dtype.hasobject)
                target.writestr(name, file.getvalue())
    return path


def refused(path):
    with pytest.raises(TaskError) as caught:
        load_run(path)
    message = str(caught.value)
    assert "\n" not in message and message.startswith(path.name), message
    return message


def text(value):
    return np.frombuffer(value.encode(), dtype=np.uint8)


def test_parts_that_do_not_fit_are_refused(small_run, stored, tmp_path):
    path, config = tmp_path / "x.npz", json.loads(small_run.config.to_json())
    weights = np.stack([snapshot.weights for snapshot in small_run.snapshots])
    for parts, message in (
        ({"weights": None}, "weights"),
        ({"weights": weights[:, :-1]}, "should be float16"),
        ({"weights": weights.astype(np.float32)}, "should be float16"),
        ({"weights": np.full_like(weights, np.inf)}, "no numbers"),
        ({"weights": np.array([{}], dtype=object)}, "weights"),
        ({"losses": np.zeros(13, dtype=np.float32)}, "at most 12 numbers"),
        ({"exact_match": np.full(5, 1.5)}, "no share"), ({"exact_match": np.full(5, 0.5)}, "not as it was written"),
        ({"kept": np.zeros(5, dtype=np.uint32)}, "which snapshots"), ({"kept": np.zeros(0, dtype=np.uint32)}, "which"),
        ({"kept": np.arange(1, 6, dtype=np.uint32)}, "which"), ({"digest": None}, "digest"),
        ({"item": text("ponml")}, "not as it was written"),
        ({"config": text("{}")}, "configuration"),
        ({"config": text(json.dumps({**config, "steps": 10**9}))}, "--steps"),
        ({"config": text(json.dumps({**config, "d_model": "x"}))}, "--d-model"),
        ({"config": np.zeros(20_000, dtype=np.uint8)}, "config"), ({"config": np.array([255], dtype=np.uint8)}, ""),
        ({"item": text("ß")}, "does not know"), ({"item": text("abc")}, "attention_encoder"),
    ):
        assert message in refused(altered(stored, path, **parts))


def test_a_part_that_is_there_twice_is_refused(stored, tmp_path):
    """Which of the two counts, programs decide differently."""
    path = shutil.copy(stored, tmp_path / "twice.npz")
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("losses.npy", archive.read("losses.npy"))
    assert "a part is there twice" in refused(path)


def test_the_spectra_of_a_modular_task_are_kept_and_checked(tmp_path):
    config = TaskConfig(task="modular", d_model=8, items=8, steps=2, snapshots=2)
    trainer = TaskTrainer(config)
    trainer.advance()
    path = tmp_path / "modular.npz"
    save_run(trainer.run(), path)
    for one, other in zip(load_run(path).snapshots, trainer.snapshots, strict=True):
        np.testing.assert_array_equal(one.spectrum, other.spectrum)
    spectra = np.stack([snapshot.spectrum for snapshot in trainer.snapshots])
    for spectrum, message in (
        (None, "spectrum"), (spectra[:, 1:], "should be float32"), (spectra * np.float32("nan"), "no numbers"),
        (spectra + 1, "not as it was written"),
    ):
        assert message in refused(altered(path, tmp_path / "x.npz", spectrum=spectrum))


def test_damaged_files_are_refused(stored, tmp_path):
    """Cut off anywhere, or with bytes changed: read as before, or refused in one line."""
    data, path = stored.read_bytes(), tmp_path / "x.npz"
    rng = random.Random(1)
    for share in (0, 0.01, 0.3, 0.9, 0.999):
        path.write_bytes(data[: int(share * len(data))])
        refused(path)
    # The directory of a zip is at its end, and the headers of its parts at their beginnings.
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(3):
            place = rng.choice((rng.randrange(len(data)), len(data) - 1 - rng.randrange(1_500), rng.randrange(200)))
            changed[place] = rng.randrange(256)
        path.write_bytes(changed)
        try:
            load_run(path)
        except TaskError as error:
            assert "\n" not in str(error)


def test_damaged_headers_are_refused(stored, tmp_path):
    """With right checksums, as somebody would write them on purpose."""
    path, rng = tmp_path / "x.npz", random.Random(2)
    with zipfile.ZipFile(stored) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    for _ in range(100):
        name = rng.choice(list(parts))
        changed = bytearray(parts[name])
        changed[rng.randrange(min(len(changed), 128))] = rng.randrange(256)
        with zipfile.ZipFile(path, "w") as target:
            for each, data in parts.items():
                target.writestr(each, bytes(changed) if each == name else data)
        try:
            load_run(path)
        except TaskError as error:
            assert "\n" not in str(error)


def test_a_file_too_large_is_not_read(stored, monkeypatch):
    monkeypatch.setattr(archive, "FILE_BYTES", 100)
    assert "larger than any recorded run" in refused(stored)


def test_a_header_that_promises_more_than_there_is_costs_no_memory(stored, tmp_path):
    path, header = tmp_path / "x.npz", io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f2", "fortran_order": False, "shape": (5, 10**8)})
    with zipfile.ZipFile(stored) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, header.getvalue() if name == "weights.npy" else source.read(name))
    assert "should be float16" in refused(path)


def test_the_command_trains_shows_and_asks(run_main, tmp_path):
    path = tmp_path / "run.npz"
    done = run_main(main, "train", "reverse", "--steps", 6, "--d-model", 16, "--items", 8, "--snapshots", 2,
                    "--watch", "abcd", "--output", path)
    assert done.returncode == 0 and "6 steps" in done.stdout and load_run(path).item.target == tuple("dcba")
    done = run_main(main, "show", path, "--ask", "abc")
    assert done.returncode == 0 and "abc -> " in done.stdout


def test_the_command_says_what_is_wrong_in_one_line(run_main, tmp_path):
    (tmp_path / "empty.npz").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for arguments in (
        ("train", "fly"), ("train", "copy", "--steps", 0), ("train", "copy", "--models", -1, "--steps", 10**400),
        ("train", "copy", "--models", -1, "--steps", 1), ("train", "copy", "--models", 1, "--steps", 1),
        ("train", "copy", "--watch", "ß"),
        ("train", "copy", "--output", tmp_path / "no" / "run.npz"), ("show", tmp_path / "none.npz"),
        ("show", tmp_path / "empty.npz"), ("show", tmp_path), ("show", ""), ("show", tmp_path / ("a" * 300)),
        ("show", tmp_path / "loop"), ("show", tmp_path / "pipe"),
    ):
        done = run_main(main, *arguments)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
        assert "[Errno" not in done.stderr
