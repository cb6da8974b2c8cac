"""Number of examples per property test: a few in every test run, many with `pytest -m thorough`."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings


def few(count: int) -> settings:
    """Return Hypothesis settings that try `count` examples, the same ones in every test run."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


def many(count: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that runs a property test with `count` examples, only in `pytest -m thorough`.

    A hundred examples take about a second.
    """
    return lambda test: pytest.mark.thorough(seconds=count / 100)(few(count)(test))
