"""A turn at the model of a replica, which a long run gives up between its steps."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import TypeVar

Result = TypeVar("Result")
# Seconds of a turn after which others go first.
SLICE = 0.3


class LeftError(Exception):
    """Nobody waits for a run any more."""


class Turn:
    """First come, first served; belongs to one event loop.

    Args:
        most: runs that may have begun. Each keeps a thread while others go first, so that these cannot be the event
            loop's own, of which there are few: a run whose turn it is would wait for the thread of one that waits for
            its turn.
    """

    def __init__(self, most: int) -> None:
        self._lock = asyncio.Lock()
        self._begun = asyncio.Semaphore(most)
        self._threads = ThreadPoolExecutor(most)

    async def run(self, compute: Callable[[Callable[[], None]], Result]) -> Result:
        """What a thread computes when it is its turn.

        Args:
            compute: is given what to call between its steps. That lets those who wait go first if the turn has lasted
                for long, and raises LeftError when nobody waits for the result any more.
        """
        loop, left = asyncio.get_running_loop(), threading.Event()
        async with self._begun, self._lock:
            began = monotonic()

            def between_steps() -> None:
                nonlocal began
                if monotonic() - began >= SLICE:
                    asyncio.run_coroutine_threadsafe(self._make_way(), loop).result()
                    began = monotonic()
                if left.is_set():
                    raise LeftError

            running = loop.run_in_executor(self._threads, compute, between_steps)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                # Whoever asked has hung up. The turn is the next one's when the thread has ended, at its next step.
                left.set()
                while not running.done():
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([running])
                raise

    async def _make_way(self) -> None:
        self._lock.release()
        await self._lock.acquire()
