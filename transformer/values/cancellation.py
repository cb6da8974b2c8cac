"""Cancellation of a run: the caller sets a context variable, and the run checks it after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


def check_cancelled() -> None:
    """Call the check that `cancellable` has set, if there is one. Long computations call this after each step."""
    check = _CHECK.get()
    if check is not None:
        check()


@contextmanager
def cancellable(check: Callable[[], object] | None) -> Iterator[None]:
    """Run the block so that `check` is called after each step of the runs in it.

    A new thread starts without the variable, so a run in another thread must set it there.

    >>> from transformer import Translator
    >>> with cancellable(lambda: print("a step")):
    ...     text = Translator.load().translate("Yes.").text
    a step
    a step
    a step

    Args:
        check: function without arguments. If it raises an exception, the run ends; it may also wait. With None, nothing
            ends the runs, not even the check of an outer block.
    """
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)
