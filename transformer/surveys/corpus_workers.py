"""The workers that measure a corpus for the process that reads it: processes of this machine, or a Ray cluster.

On a cluster, parts of the file are tasks of Ray (https://docs.ray.io/en/latest/ray-core/tasks.html), not rows of Ray
Data. The saved state covers the file up to a line, so results must come in the file's order. And no more of the file
may be read than the workers need.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial

from transformer.errors import AtlasError

# Computes the result for some sentences, in any process.
Work = Callable[[list[str]], bytes]
# Starts the work elsewhere, and returns a function that waits for its result.
Submit = Callable[[list[str]], Callable[[], bytes]]


@contextmanager
def processes_here(work: Work, count: int) -> Iterator[tuple[Submit, int]]:
    """Processes of this machine, and their number.

    Raises:
        AtlasError: one of them was killed.
    """
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _end_with_starter) as pool:

        def submit(stretch: list[str]) -> Callable[[], bytes]:
            # Submitting starts a process while there are too few.
            with _deaf():
                return pool.submit(work, stretch).result

        try:
            yield submit, count
        except BrokenProcessPool:
            raise AtlasError(
                "a measuring process was killed, perhaps because the memory is full: run the same command again to "
                "resume, with fewer --processes if it happens again"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def cluster_at(address: str, work: Work, device: str) -> Iterator[tuple[Submit, int]]:
    """The processors of a Ray cluster, or its GPUs, and their number.

    Raises:
        AtlasError: Ray is not installed, there is no such cluster, or it has no such device.
    """
    try:
        from transformer.serving.ray_cluster import join, ray
    except ModuleNotFoundError:
        raise AtlasError("to measure on a cluster, install Ray: pip install 'ray[serve]>=2.60,<3'") from None
    join(address, log_to_driver=False)
    try:
        resource = "CPU" if device == "cpu" else "GPU"
        there = ray.remote(lambda stretch: work(stretch)).options(**{f"num_{resource.lower()}s": 1})
        count = int(ray.cluster_resources().get(resource, 0))
        if not count:
            raise AtlasError(f"the Ray cluster at {address} has no {resource}: choose another device")
        yield lambda stretch: partial(ray.get, there.remote(stretch)), count
    except ray.exceptions.RayTaskError as error:
        # The error itself contains the whole stack of another machine.
        raise error.cause from None
    finally:
        ray.shutdown()


@contextmanager
def _deaf() -> Iterator[None]:
    """Delay Ctrl-C, here and in a process that starts here: its imports would answer with a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        # Windows.
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_starter() -> None:
    """Let this process exit silently at Ctrl-C, which its parent reports, and when its parent is gone.

    A killed parent can tell nobody, and the model would stay in memory.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    starter = multiprocessing.parent_process()
    assert starter is not None, "another process started this one"

    def wait() -> None:
        starter.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
