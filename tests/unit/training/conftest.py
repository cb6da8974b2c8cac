"""Fixtures for tests of training runs."""

from pathlib import Path

import pytest

from tests.unit.training.tiny_runs import copy_prepared


@pytest.fixture
def run(prepared: Path, tmp_path: Path) -> Path:
    """Return a prepared training folder for one test, copied from the module's `prepared` fixture."""
    return copy_prepared(prepared / "run", tmp_path)
