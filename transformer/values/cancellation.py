"""Cancellation of a run: a context variable that whoever starts the run sets, and that the run's steps look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


def check_cancelled() -> None:
    """Call what `cancellable` has set, if anything is set. Long runs call this after each of their steps."""
    check = _CHECK.get()
    if check is not None:
        check()


@contextmanager
def cancellable(check: Callable[[], object] | None) -> Iterator[None]:
    """Run the block so that `check` is called after each step of the runs in it.

    A new thread begins without the variable: a run that another thread computes is set there.

    >>> from transformer import Translator
    >>> with cancellable(lambda: print("a step")):
    ...     text = Translator.load().translate("Yes.").text
    a step
    a step
    a step

    Args:
        check: what it raises ends the run; it may also wait. None: nothing ends the runs, not even an outer block's.
    """
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)
