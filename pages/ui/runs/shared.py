"""Results that all sessions share, bounded by the memory they take.

Not `st.cache_resource`: it counts entries, of which one may be a thousand times as large as another, and any browser
can empty it with one message.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
# Seconds between two looks at whether the page was left.
LOOK = 0.2
LEAVES = frozenset((str, bytes, int, float, type(None)))
COLLECTIONS, MAPPINGS = (tuple, list, set, frozenset), (dict, MappingProxyType)
# Whether this thread has announced what it waits for; what is computed for it then is not announced again.
_thread = threading.local()


class SharedResults:
    """Results by what was asked for; whatever was not asked for the longest goes first.

    Threads may share it. What several ask for at once is computed once, while the others wait; what is raised is raised
    for those who waited for it, and not kept.

    Args:
        limit: on the sum of all sizes. A result that alone is larger is not kept.
        size: of a result.
        identity: what stands for an argument of a type in the comparison with other calls, so that the argument itself
            is not kept.
        waiting: entered by a thread that waits for another one's result.
    """

    def __init__(
        self, limit: int, size: Callable[[Any], int] | None = None,
        identity: Mapping[type, Callable[[Any], Hashable]] = MappingProxyType({}),
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.limit = limit
        self._size_of = size_in_bytes if size is None else size
        self._identity = identity
        self._waiting = waiting
        self._results: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        # Of what is being computed.
        self._runs: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()
        self._total = 0

    @property
    def size(self) -> int:
        """The sum of the sizes of all results."""
        with self._lock:
            return self._total

    def __len__(self) -> int:
        with self._lock:
            return len(self._results)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._results.clear()
            self._total = 0

    def make_room(self, size: int) -> None:
        """Forget what was not asked for the longest until `size` more fit."""
        with self._lock:
            self._forget_above(self.limit - size)

    def remember(
        self, message: str = ""
    ) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
        """Make a function whose results are shared. Its arguments must be hashable.

        Args:
            message: shown while somebody waits; empty for none.
        """

        def decorate(run: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
            signature = inspect.signature(run)

            @wraps(run)
            def remembered(*args: Arguments.args, **settings: Arguments.kwargs) -> Result:
                bound = signature.bind(*args, **settings)
                bound.apply_defaults()
                key = (run.__module__, run.__qualname__, *map(self._identified, bound.arguments.values()))
                return self.get(key, lambda: run(*args, **settings), message)

            return remembered

        return decorate

    def _identified(self, argument: Any) -> Hashable:
        identity = self._identity.get(type(argument))
        return argument if identity is None else identity(argument)

    def get(self, key: Hashable, compute: Callable[[], Result], message: str = "") -> Result:
        """The result of a key; computed if there is none.

        Args:
            message: shown while somebody waits; empty for none.
        """
        while True:
            with self._lock:
                if key in self._results:
                    self._results.move_to_end(key)
                    return self._results[key][0]
                first = key not in self._runs
                run = self._runs.setdefault(key, Future())
            with _announced(message):
                if first:
                    self._run(key, run, compute)
                else:
                    self._wait(run)
            if not run.cancelled():
                break
        try:
            return run.result()
        finally:
            # What was raised leads to this frame, which would keep it, and all that its run had computed.
            del run

    def _run(self, key: Hashable, run: Future[Result], compute: Callable[[], Result]) -> None:
        try:
            result = compute()
            self._keep(key, result)
            run.set_result(result)
        except Exception as error:
            run.set_exception(error)
        finally:
            with self._lock:
                del self._runs[key]
            # Where this thread was ended, one of those who wait begins anew.
            if run.cancel():
                run.set_running_or_notify_cancel()
            del run

    def _wait(self, run: Future[Any]) -> None:
        """Return when somebody else's run has ended. Whoever leaves the page meanwhile does not wait."""
        with self._waiting():
            while not wait((run,), LOOK).done:
                end_if_left()

    def _keep(self, key: Hashable, result: object) -> None:
        size = self._size_of(result)
        with self._lock:
            if size > self.limit:
                return
            self._results[key] = result, size
            self._total += size
            self._forget_above(self.limit)

    def _forget_above(self, limit: int) -> None:
        """For whoever has the lock."""
        while self._results and self._total > limit:
            _, (_, freed) = self._results.popitem(last=False)
            self._total -= freed


def _announced(message: str) -> AbstractContextManager[None]:
    """Show what is waited for, unless this thread shows it already, or draws no page: a download is made by another."""
    drawing = get_script_run_ctx(suppress_warning=True) is not None
    return _Spinner(message) if message and drawing and not getattr(_thread, "announced", False) else nullcontext()


def place_shown(ahead: int) -> AbstractContextManager[None]:
    """Show how many are before somebody who waits; only where a page is drawn."""
    drawing = get_script_run_ctx(suppress_warning=True) is not None
    return st.spinner(f"{ahead} before you") if drawing and ahead else nullcontext()


def end_if_left() -> None:
    """End this run of a page that was left or used meanwhile, as Streamlit otherwise does when something is drawn."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        context.yield_check()


class _Spinner(AbstractContextManager[None]):
    """Streamlit's, once in a thread."""

    def __init__(self, message: str) -> None:
        self._shown = st.spinner(message)

    def __enter__(self) -> None:
        # A page that was left ends here, and its thread may draw another one.
        self._shown.__enter__()
        _thread.announced = True

    def __exit__(self, *error: Any) -> None:
        _thread.announced = False
        self._shown.__exit__(*error)


def size_in_bytes(value: object) -> int:
    """Memory that a value takes, with everything that it refers to, each thing counted once.

    Arrays count with the whole buffer that they are a view of.
    """
    seen: set[int] = set()
    total = 0
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            if isinstance(each.base, np.ndarray):
                waiting.append(each.base)
            else:
                total += each.nbytes
            total += sys.getsizeof(each) - (each.nbytes if each.flags.owndata else 0)
            continue
        total += sys.getsizeof(each)
        # Most of what a result is made of.
        if type(each) not in LEAVES:
            waiting.extend(_parts(each))
    return total


def _parts(value: object) -> Iterable[object]:
    """What a value refers to, as far as results are made of it."""
    if isinstance(value, COLLECTIONS):
        return value
    if isinstance(value, MAPPINGS):
        return (*value.keys(), *value.values())
    return [getattr(value, name) for name in _fields(type(value))]


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass; of another type none."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
