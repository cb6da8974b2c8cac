"""LRU cache of results that all sessions share, bounded by the memory that the results take.

It replaces `st.cache_resource`, which counts entries, although one may be a thousand times as large as another. Any
browser can also clear that cache with one message.
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
# Seconds between two checks of whether the user left the page.
LOOK = 0.2
LEAVES = frozenset((str, bytes, int, float, type(None)))
COLLECTIONS, MAPPINGS = (tuple, list, set, frozenset), (dict, MappingProxyType)
# Stores per thread the message about the current wait, so that nested work shows no second message.
_thread = threading.local()


class SharedResults:
    """LRU cache of function results by their arguments, bounded by total size.

    It is thread-safe. If several threads request a result at the same time, one computes it while the others wait. An
    exception is raised in all of these threads and not cached.

    Args:
        limit: the maximum sum of all sizes; a result that is larger by itself is not kept.
        size: returns the size of a result.
        identity: for some types, a function that returns a substitute for an argument in the key, so that the cache
            does not keep the argument alive.
        waiting: returns a context that a thread enters while it waits for another thread's result.
    """

    def __init__(
        self,
        limit: int,
        size: Callable[[Any], int] | None = None,
        identity: Mapping[type, Callable[[Any], Hashable]] = MappingProxyType({}),
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.limit = limit
        self._size_of = size_in_bytes if size is None else size
        self._identity = identity
        self._waiting = waiting
        self._results: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        # Runs in progress, by key.
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
        """Drop all results."""
        with self._lock:
            self._results.clear()
            self._total = 0

    def make_room(self, size: int) -> None:
        """Evict the least recently used results until `size` more fit."""
        with self._lock:
            self._forget_above(self.limit - size)

    def remember(self, message: str = "") -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
        """Decorate a function so that its results are shared. Its arguments must be hashable.

        Args:
            message: the message shown while a user waits; empty for none.
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
        """Return the cached result of a key; compute it if there is none.

        Args:
            message: shown while a user waits; empty for none.
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
            # A traceback refers to this frame, in which `run` would keep the exception and its run's values alive.
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
            # If this thread was stopped, one of the waiting threads computes the result instead.
            if run.cancel():
                run.set_running_or_notify_cancel()
            del run

    def _wait(self, run: Future[Any]) -> None:
        """Wait until another thread's run has ended; stop waiting if the user left this thread's page."""
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
        """Evict results until the sum of sizes is within the limit; the caller must hold the lock."""
        while self._results and self._total > limit:
            _, (_, freed) = self._results.popitem(last=False)
            self._total -= freed


def _announced(message: str) -> AbstractContextManager[None]:
    """Show a message, unless this thread already shows one, or draws no page because it creates a download."""
    drawing = get_script_run_ctx(suppress_warning=True) is not None
    return _Spinner(message) if message and drawing and not getattr(_thread, "announced", None) else nullcontext()


def show_progress(share: float) -> None:
    """Show the share of this thread's run that is done, from 0 to 1, below the message about the run."""
    announced: _Spinner | None = getattr(_thread, "announced", None)
    if announced is not None:
        announced.progress(share)


def place_shown(ahead: int) -> AbstractContextManager[None]:
    """Show a waiting user the number of requests ahead; only if this thread draws a page."""
    drawing = get_script_run_ctx(suppress_warning=True) is not None
    return st.spinner(f"{ahead} before you") if drawing and ahead else nullcontext()


def end_if_left() -> None:
    """End this run if its page was left or used meanwhile, as Streamlit does whenever something is drawn."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        context.yield_check()


class _Spinner(AbstractContextManager[None]):
    """Streamlit's spinner, shown at most once per thread; with a bar as soon as the run reports its progress."""

    def __init__(self, message: str) -> None:
        self._shown = st.spinner(message)
        self._bar: Any = None

    def progress(self, share: float) -> None:
        # A run of one step needs no bar.
        if self._bar is None and share < 1:
            self._bar = st.empty()
        if self._bar is not None:
            self._bar.progress(share)

    def __enter__(self) -> None:
        # This raises if the page was left; then it must stay unset, because the thread may draw another page.
        self._shown.__enter__()
        _thread.announced = self

    def __exit__(self, *error: Any) -> None:
        _thread.announced = None
        self._shown.__exit__(*error)
        if self._bar is not None and not any(error):
            self._bar.empty()


def size_in_bytes(value: object) -> int:
    """Return the memory in bytes of a value and everything that it refers to, counting each object once.

    An array that is a view counts with the whole buffer behind it.
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
        # Skip leaves, the majority of objects in a result.
        if type(each) not in LEAVES:
            waiting.extend(_parts(each))
    return total


def _parts(value: object) -> Iterable[object]:
    """Return the objects that a value refers to, for the types that occur in results."""
    if isinstance(value, COLLECTIONS):
        return value
    if isinstance(value, MAPPINGS):
        return (*value.keys(), *value.values())
    return [getattr(value, name) for name in _fields(type(value))]


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the field names of a dataclass; empty for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
