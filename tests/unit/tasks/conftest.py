import pytest

from transformer.tasks.config import TaskConfig
from transformer.tasks.trainer import TaskTrainer


@pytest.fixture(scope="session")
def small_config():
    """Return the configuration of a training run of about a second, which is too short to reach a high accuracy."""
    return TaskConfig(task="copy", d_model=16, items=16, steps=12, snapshots=4, warmup=2, seed=5)


@pytest.fixture(scope="session")
def small_run(small_config):
    trainer = TaskTrainer(small_config, "dacbh")
    trainer.advance()
    return trainer.run()
