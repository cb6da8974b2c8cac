"""LRU cache of results that all sessions share, bounded by total size.

`st.cache_resource` is unsuitable: it limits the number of entries, although their sizes differ by a factor of a
thousand, and any browser can clear it with one message.
"""

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
# Interval in seconds for checking whether the user has left the page.
CHECK_INTERVAL = 0.2
ATOMIC_TYPES = frozenset((str, bytes, int, float, type(None)))
COLLECTIONS, MAPPINGS = (tuple, list, set, frozenset), (dict, MappingProxyType)
# Stores the waiting message that each thread is showing, so that nested calls do not show a second one.
_thread = threading.local()


class SharedResults:
    """LRU cache of function results, keyed by the arguments and bounded by total size.

    The cache is thread-safe. If several threads request a result at the same time, one computes it while the others
    wait. An exception is raised in all of these threads and is not cached.

    Args:
        limit: the maximum total size; a result larger than the limit is not cached.
        size: returns the size of a result; None to measure bytes of memory.
        identity: maps an argument type to a function whose result replaces arguments of this type in cache keys, so
            that the cache does not keep these arguments alive.
        waiting: returns a context manager that a thread enters while it waits for another thread's result.
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
        # Computations in progress, by key.
        self._runs: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()
        self._total = 0

    @property
    def size(self) -> int:
        """The total size of all cached results."""
        with self._lock:
            return self._total

    def __len__(self) -> int:
        with self._lock:
            return len(self._results)

    def clear(self) -> None:
        """Drop all cached results."""
        with self._lock:
            self._results.clear()
            self._total = 0

    def make_room(self, size: int) -> None:
        """Evict the least recently used results until a result of this size fits."""
        with self._lock:
            self._forget_above(self.limit - size)

    def remember(self, message: str = "") -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
        """Return a decorator that caches results. The arguments must be hashable or of a type that `identity` maps.

        Args:
            message: the message to show while a user waits; empty for none.
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
        """Return the cached result for a key; compute and cache the result if there is none.

        Args:
            message: the message to show while a user waits; empty for none.
        """
        while True:
            with self._lock:
                if key in self._results:
                    self._results.move_to_end(key)
                    return self._results[key][0]
                first = key not in self._runs
                run = self._runs.setdefault(key, Future())
            with _message_shown(message):
                if first:
                    self._run(key, run, compute)
                else:
                    self._wait(run)
            if not run.cancelled():
                break
        try:
            return run.result()
        finally:
            # If the computation failed, the exception's traceback refers to this frame. The frame's variable `run`
            # would keep the exception and all values in the traceback alive.
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
            # If the computation was interrupted, let one of the waiting threads compute the result.
            if run.cancel():
                run.set_running_or_notify_cancel()
            del run

    def _wait(self, run: Future[Any]) -> None:
        """Wait until another thread has computed the result; stop waiting if the user has left the page."""
        with self._waiting():
            while not wait((run,), CHECK_INTERVAL).done:
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
        """Evict results until their total size is within the limit; the caller must hold the lock."""
        while self._results and self._total > limit:
            _, (_, freed) = self._results.popitem(last=False)
            self._total -= freed


def _message_shown(message: str) -> AbstractContextManager[None]:
    """Return a context manager that shows a message if this thread is rendering a page and showing no other message."""
    drawing = get_script_run_ctx(suppress_warning=True) is not None
    return _Spinner(message) if message and drawing and not getattr(_thread, "announced", None) else nullcontext()


def show_progress(share: float) -> None:
    """Show this thread's progress, from 0 to 1, below the waiting message."""
    announced: _Spinner | None = getattr(_thread, "announced", None)
    if announced is not None:
        announced.progress(share)


def place_shown(ahead: int) -> AbstractContextManager[None]:
    """Return a context manager that tells the user how many requests are ahead, if this thread renders a page."""
    drawing = get_script_run_ctx(suppress_warning=True) is not None
    return st.spinner(f"{ahead} ahead of you in the queue") if drawing and ahead else nullcontext()


def end_if_left() -> None:
    """End the script run if the user left the page or used a widget. Streamlit checks this only in its own calls."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        context.yield_check()


class _Spinner(AbstractContextManager[None]):
    """Streamlit's spinner, plus a progress bar if the computation reports progress; at most one per thread."""

    def __init__(self, message: str) -> None:
        self._shown = st.spinner(message)
        self._bar: Any = None

    def progress(self, share: float) -> None:
        # A computation with a single step reports 1 at once and needs no bar.
        if self._bar is None and share < 1:
            self._bar = st.empty()
        if self._bar is not None:
            self._bar.progress(share)

    def __enter__(self) -> None:
        # This call raises if the user has left the page. In that case, `_thread.announced` must not be set, because
        # the thread may render another page.
        self._shown.__enter__()
        _thread.announced = self

    def __exit__(self, *error: Any) -> None:
        _thread.announced = None
        self._shown.__exit__(*error)
        if self._bar is not None and not any(error):
            self._bar.empty()


def size_in_bytes(value: object) -> int:
    """Return the memory in bytes of a value and all objects reachable from it, each counted once.

    A view of an array counts as the whole array.
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
        # Do not look inside atomic values, which make up most of the objects in a result.
        if type(each) not in ATOMIC_TYPES:
            waiting.extend(_parts(each))
    return total


def _parts(value: object) -> Iterable[object]:
    """Return the objects that a value directly refers to. Only the types that occur in results are supported."""
    if isinstance(value, COLLECTIONS):
        return value
    if isinstance(value, MAPPINGS):
        return (*value.keys(), *value.values())
    return [getattr(value, name) for name in _fields(type(value))]


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the field names of a dataclass; empty for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
