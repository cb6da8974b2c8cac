"""A lock for a replica's model that lets waiting runs compute between the steps of a long run."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import TypeVar

Result = TypeVar("Result")
# Seconds that a run may compute before it lets waiting runs go first.
TIME_SLICE = 0.3


class DisconnectedError(Exception):
    """The client that requested the run has disconnected."""


class FairLock:
    """Fair lock: only one run computes at a time, in order of arrival. Each instance belongs to one event loop.

    Args:
        most: maximum number of runs in progress. A run occupies a thread even while it waits, so the lock has its own
            pool of this many threads. In the event loop's smaller default pool, waiting runs could occupy all threads
            and block the run that holds the lock.
    """

    def __init__(self, most: int) -> None:
        self._lock = asyncio.Lock()
        self._begun = asyncio.Semaphore(most)
        self._threads = ThreadPoolExecutor(most)

    async def run(self, compute: Callable[[Callable[[], None]], Result]) -> Result:
        """Call `compute` in a thread once this run holds the lock.

        Args:
            compute: function to call. Its argument is a function that `compute` must call between steps. That function
                lets waiting runs go first after TIME_SLICE seconds, and raises DisconnectedError once the client has
                disconnected.

        Returns:
            Result of `compute`.
        """
        loop, left = asyncio.get_running_loop(), threading.Event()
        async with self._begun, self._lock:
            began = monotonic()

            def between_steps() -> None:
                nonlocal began
                if monotonic() - began >= TIME_SLICE:
                    asyncio.run_coroutine_threadsafe(self._yield_turn(), loop).result()
                    began = monotonic()
                if left.is_set():
                    raise DisconnectedError

            running = loop.run_in_executor(self._threads, compute, between_steps)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                # The client has disconnected. Keep the lock until `compute` ends, which happens after its current step.
                left.set()
                while not running.done():
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([running])
                raise

    async def _yield_turn(self) -> None:
        self._lock.release()
        await self._lock.acquire()
