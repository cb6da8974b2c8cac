from __future__ import annotations

import pytest

from tests.made_up_traces import made_up_trace as make_trace


@pytest.fixture(scope="session")
def made_up_trace():
    """A function that builds traces; see `tests.made_up_traces`."""
    return make_trace
