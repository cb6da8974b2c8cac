"""Tests of the lock that makes requests take turns on a replica.

A long run yields between its steps, and a cancelled run keeps its turn until its thread ends.
"""

import asyncio
import threading
from collections.abc import Callable

import pytest

from transformer.serving import fair_lock
from transformer.serving.fair_lock import DisconnectedError, FairLock

# Timeout in seconds, longer than any of these tests takes.
PATIENCE = 60


@pytest.mark.parametrize(
    ("seconds", "expected"), [(PATIENCE, ["step", "step", "other"]), (0.0, ["other", "step", "step"])]
)
def test_long_run_yields_to_a_waiting_run_when_its_time_slice_is_over(monkeypatch, seconds, expected):
    monkeypatch.setattr(fair_lock, "TIME_SLICE", seconds)
    order: list[str] = []
    begun, waits = threading.Event(), threading.Event()

    def long(between_steps: Callable[[], None]) -> str:
        begun.set()
        assert waits.wait(PATIENCE)
        for _ in range(2):
            between_steps()
            order.append("step")
        return "long"

    async def both() -> list[str]:
        turns = FairLock(2)
        first = asyncio.create_task(turns.run(long))
        await asyncio.to_thread(begun.wait, PATIENCE)
        second = asyncio.create_task(turns.run(lambda _: order.append("other") or "other"))
        # Let the second run enter the queue.
        await asyncio.sleep(0)
        waits.set()
        return await asyncio.wait_for(asyncio.gather(first, second), PATIENCE)

    assert asyncio.run(both()) == ["long", "other"]
    assert order == expected


def test_next_request_starts_only_after_the_thread_of_a_cancelled_request_has_ended():
    order: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def long(between_steps: Callable[[], None]) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        try:
            between_steps()
        except DisconnectedError:
            order.append("left")
            raise

    async def leaves() -> None:
        turns = FairLock(2)
        first = asyncio.create_task(turns.run(long))
        await asyncio.to_thread(begun.wait, PATIENCE)
        second = asyncio.create_task(turns.run(lambda _: order.append("other")))
        await asyncio.sleep(0)
        first.cancel()
        # The first thread has not reached its next step, and still uses the model.
        await asyncio.sleep(0)
        assert not order
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.wait_for(second, PATIENCE)

    asyncio.run(leaves())
    assert order == ["left", "other"]


def test_run_that_raises_an_error_releases_its_turn():
    def wrong(between_steps: Callable[[], None]) -> None:
        raise KeyError

    async def both() -> str:
        turns = FairLock(2)
        with pytest.raises(KeyError):
            await turns.run(wrong)
        return await turns.run(lambda _: "other")

    assert asyncio.run(both()) == "other"


def test_all_long_runs_finish_even_with_fewer_threads_than_runs(monkeypatch):
    monkeypatch.setattr(fair_lock, "TIME_SLICE", 0.0)
    inside: list[int] = []

    def long(between_steps: Callable[[], None]) -> int:
        for number in range(5):
            inside.append(number)
            assert len(inside) == 1, "two have the turn"
            inside.remove(number)
            between_steps()
        return 5

    async def all_at_once() -> list[int]:
        turns = FairLock(7)
        return await asyncio.wait_for(asyncio.gather(*(turns.run(long) for _ in range(50))), PATIENCE)

    assert asyncio.run(all_at_once()) == [5] * 50


def test_run_that_is_cancelled_several_times_keeps_its_turn_until_its_thread_ends(monkeypatch):
    monkeypatch.setattr(fair_lock, "TIME_SLICE", 0.0)
    order: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def long(between_steps: Callable[[], None]) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        order.append("long")

    async def leaves() -> None:
        turns = FairLock(2)
        first = asyncio.create_task(turns.run(long))
        await asyncio.to_thread(begun.wait, PATIENCE)
        second = asyncio.create_task(turns.run(lambda _: order.append("other")))
        for _ in range(3):
            first.cancel()
            await asyncio.sleep(0.01)
        assert not order and not first.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.wait_for(second, PATIENCE)

    asyncio.run(leaves())
    assert order == ["long", "other"]
