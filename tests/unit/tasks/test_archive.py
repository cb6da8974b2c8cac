"""Tests that task training runs are saved and loaded, and that damaged files are rejected with a one-line message."""

import numpy as np
import pytest

from transformer.commands.tasks import main
from transformer.errors import TaskError
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


def test_saved_task_run_loads_unchanged(small_run, stored):
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


def test_saved_unfinished_run_loads_with_all_its_snapshots(small_config, tmp_path):
    trainer = TaskTrainer(small_config)
    trainer.advance(steps=4)
    save_run(trainer.run(), tmp_path / "half.npz")
    found = load_run(tmp_path / "half.npz")
    assert found.step == 4 and [snapshot.step for snapshot in found.snapshots] == [0, 3] and not found.finished


def test_saving_a_run_with_three_models_keeps_the_weights_of_three_snapshots(small_run, tmp_path):
    path = tmp_path / "few.npz"
    save_run(small_run, path, models=3)
    found = load_run(path)
    assert [index for index, each in enumerate(found.snapshots) if each.weights is not None] == [0, 2, 4]
    assert [each.held_out_loss for each in found.snapshots] == [each.held_out_loss for each in small_run.snapshots]
    assert (found.with_weights(1).step, found.with_weights(2).step, found.with_weights(4).step) == (0, 6, 12)
    assert [found.index_at(step) for step in (0, 2, 3, 11, 12, 99)] == [0, 0, 1, 3, 4, 4]
    with pytest.raises(ValueError, match="step 3 were not saved"):
        answer(found.config, found.snapshots[1], "abc")
    # If the loaded run is saved again, the same snapshots have weights.
    save_run(found, tmp_path / "again.npz")
    assert [each.step for each in load_run(tmp_path / "again.npz").snapshots if each.weights is not None] == [0, 6, 12]


def refused(path):
    with pytest.raises(TaskError) as caught:
        load_run(path)
    message = str(caught.value)
    assert "\n" not in message and message.startswith(path.name), message
    return message


@pytest.mark.parametrize("config", [b"{}", b'{"of": "later"}', b"["])
def test_run_from_another_version_is_rejected(tmp_path, config):
    np.savez(tmp_path / "x.npz", config=np.frombuffer(config, dtype=np.uint8), losses=np.zeros(1), weights=np.zeros(1))
    assert "from another version of Attention Atlas" in refused(tmp_path / "x.npz")


def test_saved_modular_addition_run_loads_with_its_spectra(tmp_path):
    config = TaskConfig(task="modular", d_model=8, items=8, steps=2, snapshots=2)
    trainer = TaskTrainer(config)
    trainer.advance()
    path = tmp_path / "modular.npz"
    save_run(trainer.run(), path)
    for one, other in zip(load_run(path).snapshots, trainer.snapshots, strict=True):
        np.testing.assert_array_equal(one.spectrum, other.spectrum)


def test_tasks_command_trains_shows_and_queries_a_model(run_main, tmp_path):
    path = tmp_path / "run.npz"
    done = run_main(
        main,
        "train",
        "reverse",
        "--steps",
        6,
        "--d-model",
        16,
        "--items",
        8,
        "--snapshots",
        2,
        "--watch",
        "abcd",
        "--output",
        path,
    )
    assert done.returncode == 0 and "6 steps" in done.stdout and load_run(path).item.target == tuple("dcba")
    done = run_main(main, "show", path, "--ask", "abc")
    assert done.returncode == 0 and "abc -> " in done.stdout


def test_invalid_command_input_is_reported_in_one_line(run_main, tmp_path):
    (tmp_path / "empty.npz").touch()
    for arguments in (
        ("train", "fly"),
        ("train", "copy", "--steps", 0),
        ("train", "copy", "--models", -1, "--steps", 10**400),
        ("train", "copy", "--models", -1, "--steps", 1),
        ("train", "copy", "--models", 1, "--steps", 1),
        ("train", "copy", "--watch", "ß"),
        ("train", "copy", "--output", tmp_path / "no" / "run.npz"),
        ("show", tmp_path / "none.npz"),
        ("show", tmp_path / "empty.npz"),
        ("show", tmp_path),
        ("show", ""),
        ("show", tmp_path / ("a" * 300)),
    ):
        done = run_main(main, *arguments)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
        assert "[Errno" not in done.stderr
