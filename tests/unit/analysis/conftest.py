import pytest

from tests.made_up_traces import made_up_trace as make_trace


@pytest.fixture(scope="session")
def made_up_trace():
    return make_trace
