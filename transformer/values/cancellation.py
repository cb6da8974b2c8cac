"""Cancellation and progress of a run: the caller sets context variables, and the run calls them after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)
_PROGRESS: ContextVar[Callable[[float], object] | None] = ContextVar("progress", default=None)


def check_cancelled() -> None:
    """Call the check that `cancellable` has set, if there is one. Long computations call this after each step."""
    check = _CHECK.get()
    if check is not None:
        check()


def step_done(share: float) -> None:
    """Report the share of a run that is done, 0 to 1, and call `check_cancelled`."""
    report = _PROGRESS.get()
    if report is not None:
        report(share)
    check_cancelled()


@contextmanager
def cancellable(
    check: Callable[[], object] | None, progress: Callable[[float], object] | None = None
) -> Iterator[None]:
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
        progress: receives the share of the run that is done, 0 to 1, from the runs that know it.
    """
    tokens = _CHECK.set(check), _PROGRESS.set(progress)
    try:
        yield
    finally:
        _CHECK.reset(tokens[0])
        _PROGRESS.reset(tokens[1])
