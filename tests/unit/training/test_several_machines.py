"""Tests of training on two machines with separate folders, where only the first machine saves."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.unit.training.test_trainer import prepared_pairs
from tests.unit.training.tiny_runs import TINY, trainer
from tests.unit.training.two_processes import two_processes
from transformer.training.config import TrainConfig
from transformer.training.distributed import Process
from transformer.training.run_folder import STATE
from transformer.training.trainer import Trainer


@pytest.fixture
def folders(tokenizer, tmp_path):
    """Return a folder with one folder per machine. "first" has been trained for three steps, "second" has only been
    prepared, and "other" contains different data.
    """
    for name, seed in (("second", 1), ("other", 3)):
        (tmp_path / f"of {name}").mkdir()
        prepared_pairs(tmp_path / f"of {name}", tokenizer, seed)
        (tmp_path / f"of {name}" / "run").rename(tmp_path / name)
    shutil.copytree(tmp_path / "second", tmp_path / "first")
    trainer(tmp_path / "first", steps=3).train()
    return tmp_path


def train_on(folder: Path, process: Process) -> None:
    """Train for three more steps, and save the weights and the optimizer state in the folder."""
    training = Trainer(folder, TrainConfig(**TINY), process)
    assert training.step == 3
    training.train()
    save_file(training._weights() | training.optimizer.state(), folder / "known.safetensors")


def refuses(start: Callable[[], Trainer], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        start()


SECOND = """
from tests.unit.training.test_several_machines import train_on
train_on(Path(sys.argv[1]) / "second", process)
"""


@pytest.mark.thorough
def test_all_machines_resume_from_the_checkpoint_of_the_first_machine(folders):
    with two_processes(SECOND, folders) as process:
        train_on(folders / "first", process)
    first, second = (load_file(folders / name / "known.safetensors") for name in ("first", "second"))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(second[name], tensor), name
    assert not (folders / "second" / STATE).exists()


REFUSED = """
from tests.unit.training.test_several_machines import TINY, TrainConfig, Trainer, refuses
folder = Path(sys.argv[1])
refuses(lambda: Trainer(folder / "second", TrainConfig(**TINY | {"steps": 12}), process), "differs in steps: start")
refuses(lambda: Trainer(folder / "other", TrainConfig(**TINY), process), "differs in train.safetensors and in valid")
refuses(lambda: Trainer(folder / "second", TrainConfig(**TINY), process), "the learning curve .* cannot be continued")
refuses(lambda: Trainer(folder / "second", TrainConfig(**TINY), process), "was altered or damaged")
"""


@pytest.mark.thorough
def test_all_machines_reject_mismatched_options_or_data(folders):
    with two_processes(REFUSED, folders) as process:
        for _ in ("options", "data"):
            refuses(lambda: Trainer(folders / "first", TrainConfig(**TINY), process), "but another process differs")
        curve = folders / "first" / "model" / "learning_curve.csv"
        noted = curve.read_bytes()
        curve.write_bytes(b"step,epoch\nmany,1.0\n")
        refuses(lambda: Trainer(folders / "first", TrainConfig(**TINY), process), "cannot be continued")
        curve.write_bytes(noted)
        state = folders / "first" / STATE
        content = bytearray(state.read_bytes())
        content[-100] ^= 1
        state.write_bytes(content)
        refuses(lambda: Trainer(folders / "first", TrainConfig(**TINY), process), "was altered or damaged")
