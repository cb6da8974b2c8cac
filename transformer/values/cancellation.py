"""Cancellation and progress of model runs: the caller sets callbacks, and the run calls them after each step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)
_PROGRESS: ContextVar[Callable[[float], object] | None] = ContextVar("progress", default=None)


def check_cancelled() -> None:
    """Call the check set by `cancellable`, if any. Long computations call `check_cancelled` after each step."""
    check = _CHECK.get()
    if check is not None:
        check()


def step_done(share: float) -> None:
    """Report the completed fraction of a model run, 0 to 1, and call `check_cancelled`."""
    report = _PROGRESS.get()
    if report is not None:
        report(share)
    check_cancelled()


@contextmanager
def cancellable(
    check: Callable[[], object] | None, progress: Callable[[float], object] | None = None
) -> Iterator[None]:
    """Context manager: each model run inside the `with` block calls `check` after every step.

    New threads do not inherit the callbacks: a thread started in the block needs a `cancellable` block of its own.

    >>> from transformer import Translator
    >>> with cancellable(lambda: print("a step")):
    ...     text = Translator.load().translate("Yes.").text
    a step
    a step
    a step

    Args:
        check: function without arguments. The function may block, or raise an exception, which ends the model run. None
            disables cancellation, even if an outer block has set a check.
        progress: function that receives the completed fraction, 0 to 1, from model runs that report progress.
    """
    tokens = _CHECK.set(check), _PROGRESS.set(progress)
    try:
        yield
    finally:
        _CHECK.reset(tokens[0])
        _PROGRESS.reset(tokens[1])
