"""FIFO lock that batches waiting requests of the same kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from time import monotonic
from typing import Any, TypeVar

from transformer.values.cancellation import cancellable

Item = TypeVar("Item")
Result = TypeVar("Result")
# Callback that receives an item's index in the batch, and the item's result or exception.
Done = Callable[[int, Any], None]
# Maximum batch size; a larger batch would not give any result sooner.
MAX_TOGETHER = 16
# Seconds until a waiting user sees how many requests are ahead, and seconds between updates.
SECONDS_UNSHOWN, UPDATE_INTERVAL = 1.0, 3.0
# Seconds after which the thread whose turn it is lets waiting threads go first. Interrupting shorter turns would only
# make all threads finish later.
TIME_SLICE = 0.3
# Maximum number of seconds that a thread waits for more requests of the same kind before it computes a batch.
BATCH_WAIT = 0.15


class Turns:
    """A lock whose waiting threads get their turn in order of arrival; `together` batches requests of the same kind.

    Each session runs in a thread of the same process. Threads that compute at the same time compete for the Python
    interpreter at every model operation. Without a queue, thirty users would wait many times longer.

    Args:
        show_place: returns a context manager that shows the number of requests ahead. If showing the number raises an
            exception (in Streamlit, because the user has left the page), the thread leaves the queue.
        meanwhile: another `Turns` lock. A thread releases it while waiting for this lock and, except in `together`,
            also while holding this lock.
    """

    def __init__(
        self, show_place: Callable[[int], AbstractContextManager[object]], meanwhile: Turns | None = None
    ) -> None:
        self._show_place = show_place
        self._meanwhile = meanwhile
        self._lock = threading.Lock()
        # The first request in the queue has the turn.
        self._queue: list[_Request] = []
        self._nobody = threading.Event()
        self._nobody.set()
        # For an exclusive turn: the thread's ID, the exit stack that ends the turn, and the start time.
        self._owner: tuple[int, ExitStack, float] | None = None

    def __enter__(self) -> None:
        self._begin(_Request(None, None))

    @contextmanager
    def with_priority(self) -> Iterator[None]:
        """Context manager that takes a turn before all waiting threads, except those that also have priority."""
        with ExitStack() as turn:
            self._begin(_Request(None, None, early=True))
            turn.push(self.__exit__)
            yield

    def _begin(self, request: _Request) -> None:
        with ExitStack() as turn:
            turn.enter_context(self._others_go_on())
            turn.callback(self._leave, request)
            self._wait(request)
            self._owner = threading.get_ident(), turn.pop_all(), monotonic()

    def __exit__(self, *error: Any) -> None:
        owner = self._owner
        # If `released` raised an exception while waiting for a new turn, this thread has no turn to end.
        if owner is not None and owner[0] == threading.get_ident():
            self._owner = None
            owner[1].__exit__(*error)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Context manager that gives up this thread's turn, if there is one, and takes a new turn at the end.

        No new turn is taken if the thread is about to end because the user has left the page.
        """
        owner = self._owner
        if owner is None or owner[0] != threading.get_ident():
            yield
            return
        self.__exit__(None, None, None)
        try:
            yield
        except BaseException as error:
            if isinstance(error, Exception):
                self.__enter__()
            raise
        self.__enter__()

    def yield_turn(self) -> None:
        """Let waiting threads go first if this turn has lasted TIME_SLICE or more; called between two model steps."""
        owner = self._owner
        if owner is None or owner[0] != threading.get_ident() or monotonic() - owner[2] < TIME_SLICE:
            return
        with self._lock:
            alone = len(self._queue) == 1
        if not alone:
            with self.released():
                pass

    def together(self, kind: Hashable, item: Item, run: Callable[[Sequence[Item], Done], None]) -> Any:
        """Return an item's result, computed in one batch with the waiting items of the same kind.

        The thread whose turn it is computes the whole batch. If the batch fails, its items are computed one by one, so
        that only the faulty items fail.

        Args:
            kind: the item's kind; all items of a kind must have the same `run`.
            item: the input of the computation.
            run: computes a batch of items, and passes each result to a callback as soon as the result is ready. If a
                result is an exception, it is raised only for that item's caller.
        """
        request = _Request(kind, item)
        try:
            # Wait briefly for more requests of the same kind, because a batch takes little longer than one item.
            with self._others_go_on():
                self._wait(request)
                if not request.finished and self._meanwhile is not None:
                    self._meanwhile._nobody.wait(BATCH_WAIT)
            if not request.finished:
                self._compute(self._companions(request), run)
        finally:
            self._leave(request)
        return request.taken()

    def _companions(self, first: _Request) -> list[_Request]:
        with self._lock:
            group = [each for each in self._queue if each.kind == first.kind][:MAX_TOGETHER]
            self._queue = [first, *(each for each in self._queue if each not in group)]
            return group

    def _compute(self, group: list[_Request], run: Callable[[Sequence[Any], Done], None]) -> None:
        try:
            # Not cancellable: if the user of this thread leaves the page, the other users still need their results.
            with cancellable(None):
                run([each.item for each in group], lambda number, outcome: group[number].finish(outcome))
        except Exception as error:
            left = [each for each in group if not each.finished]
            for each in left:
                if len(group) == 1:
                    each.finish(error)
                else:
                    self._compute([each], run)
        finally:
            # If this thread is interrupted, the other threads of the batch must not wait forever.
            for each in group:
                if not each.finished:
                    each.finish(RuntimeError("the batch with this run was cancelled: try again"))

    def _others_go_on(self) -> AbstractContextManager[object]:
        return nullcontext() if self._meanwhile is None else self._meanwhile.released()

    def _wait(self, request: _Request) -> None:
        """Queue a request, and wait until its turn comes or another thread has computed its result."""
        with self._lock:
            at = next((index for index, each in enumerate(self._queue) if index and not each.early), len(self._queue))
            self._queue.insert(at if request.early else len(self._queue), request)
            self._nobody.clear()
            if self._queue[0] is request:
                return
        patience = SECONDS_UNSHOWN
        while not request.woken.wait(patience):
            with self._lock:
                ahead = self._queue.index(request) if request in self._queue else 0
            with self._show_place(ahead):
                if request.woken.wait(UPDATE_INTERVAL):
                    return
            patience = 0

    def _leave(self, request: _Request) -> None:
        """Remove a request whose turn is over or whose thread has stopped waiting, and wake the next one."""
        with self._lock:
            if request in self._queue:
                self._queue.remove(request)
            if self._queue:
                self._queue[0].woken.set()
            else:
                self._nobody.set()


class _Request:
    """A request in the queue.

    Attributes:
        kind, item: as in `Turns.together`; None for an exclusive turn.
        early: whether the request has priority: it goes before requests without priority.
        woken: set when the request gets its turn or is finished.
        outcome: the result, or an exception.
    """

    __slots__ = ("early", "finished", "item", "kind", "outcome", "woken")

    def __init__(self, kind: Hashable, item: Any, *, early: bool = False) -> None:
        self.early = early
        self.kind = kind
        self.item = item
        self.woken = threading.Event()
        self.finished = False
        self.outcome: Any = None

    def finish(self, outcome: Any) -> None:
        self.outcome = outcome
        self.finished = True
        self.woken.set()

    def taken(self) -> Any:
        """Return or raise the outcome, and forget it, because an exception's traceback keeps computed values alive."""
        outcome, self.outcome = self.outcome, None
        try:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        finally:
            del outcome
