"""A prepared folder for each test of a training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.training.tiny_runs import copy_prepared


@pytest.fixture
def run(prepared: Path, tmp_path: Path) -> Path:
    """A prepared folder; the module's `prepared` has its data in "run"."""
    return copy_prepared(prepared / "run", tmp_path)
