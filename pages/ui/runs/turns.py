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
# Receives the number of an item and its result or exception.
Done = Callable[[int, Any], None]
# The most items that are computed together; with more, no result would come sooner.
MOST_TOGETHER = 16
# Seconds until a waiting user sees the place in the queue, and seconds between its updates.
PATIENCE, AGAIN = 1.0, 3.0
# Seconds of a turn after which others go first; shorter turns all finish sooner without interruptions.
SLICE = 0.3
# Seconds for which the computing thread waits for others that are about to request the same.
GATHER = 0.15


class Turns:
    """A lock with an ordered queue of waiting threads; `together` batches requests of the same kind.

    Every session is a thread of this one process. Threads that compute side by side take the interpreter from each
    other at every operation of the model. Thirty users would then wait many times longer than in a queue.

    Args:
        show_place: shows a waiting user the number of predecessors, for as long as it is entered. It may raise, as
            Streamlit does if the user left the page; the thread then leaves the queue.
        meanwhile: turns that a thread gives up for as long as it waits for a turn here or has it alone.
    """

    def __init__(
        self, show_place: Callable[[int], AbstractContextManager[object]], meanwhile: Turns | None = None
    ) -> None:
        self._show_place = show_place
        self._meanwhile = meanwhile
        self._lock = threading.Lock()
        # The first request in the queue has its turn.
        self._queue: list[_Request] = []
        self._nobody = threading.Event()
        self._nobody.set()
        # The thread that has its turn alone, the exit stack that ends the turn, and its start.
        self._owner: tuple[int, ExitStack, float] | None = None

    def __enter__(self) -> None:
        self._begin(_Request(None, None))

    @contextmanager
    def early(self) -> Iterator[None]:
        """A turn before those of waiting threads, but after the current one and earlier ones of this kind."""
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
        # An error may have ended this thread's wait for another turn; then the thread has no turn to end.
        if owner is not None and owner[0] == threading.get_ident():
            self._owner = None
            owner[1].__exit__(*error)

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Give up this thread's turn, if it has one, and wait for a new one afterwards.

        It does not wait if the thread is about to end, as Streamlit ends the threads of a page that the user left.
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

    def make_way(self) -> None:
        """Let waiting threads go first if this turn has lasted long; called between the steps of a run."""
        owner = self._owner
        if owner is None or owner[0] != threading.get_ident() or monotonic() - owner[2] < SLICE:
            return
        with self._lock:
            alone = len(self._queue) == 1
        if not alone:
            with self.given_up():
                pass

    def together(self, kind: Hashable, item: Item, run: Callable[[Sequence[Item], Done], None]) -> Any:
        """Return the result for an item, computed with waiting items of the same kind.

        The thread that has the turn computes for all. If that fails, each thread computes alone, so that one item does
        not make another one fail.

        Args:
            kind: items of the same kind have the same `run`.
            item: what to compute.
            run: computes a result for each of several items, and hands out each as soon as it is ready. An exception
                that it hands out is raised for that item alone.
        """
        request = _Request(kind, item)
        try:
            # Threads with requests of the same kind gather here: computing two together takes little longer than one.
            with self._others_go_on():
                self._wait(request)
                if not request.finished and self._meanwhile is not None:
                    self._meanwhile._nobody.wait(GATHER)
            if not request.finished:
                self._compute(self._companions(request), run)
        finally:
            self._leave(request)
        return request.taken()

    def _companions(self, first: _Request) -> list[_Request]:
        with self._lock:
            group = [each for each in self._queue if each.kind == first.kind][:MOST_TOGETHER]
            self._queue = [first, *(each for each in self._queue if each not in group)]
            return group

    def _compute(self, group: list[_Request], run: Callable[[Sequence[Any], Done], None]) -> None:
        try:
            # The computing thread neither ends nor interrupts the others' runs when its user leaves the page.
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
            # The other threads must not wait for a thread that was ended.
            for each in group:
                if not each.finished:
                    each.finish(RuntimeError("the batch that this run was part of was cancelled"))

    def _others_go_on(self) -> AbstractContextManager[object]:
        return nullcontext() if self._meanwhile is None else self._meanwhile.given_up()

    def _wait(self, request: _Request) -> None:
        """Return when it is the request's turn, or when another thread has computed it."""
        with self._lock:
            at = next((at for at, each in enumerate(self._queue) if at and not each.early), len(self._queue))
            self._queue.insert(at if request.early else len(self._queue), request)
            self._nobody.clear()
            if self._queue[0] is request:
                return
        patience = PATIENCE
        while not request.woken.wait(patience):
            with self._lock:
                ahead = self._queue.index(request) if request in self._queue else 0
            with self._show_place(ahead):
                if request.woken.wait(AGAIN):
                    return
            patience = 0

    def _leave(self, request: _Request) -> None:
        """Remove the request: its turn is over, or its thread has stopped waiting."""
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
        kind, item: of `Turns.together`; None for a turn alone.
        early: whether it goes before those that are not.
        woken: set when it is the request's turn, or when it is finished.
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
        """Return or raise the outcome and drop it, because a traceback refers to everything that had been computed."""
        outcome, self.outcome = self.outcome, None
        try:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        finally:
            del outcome
