"""Starts workers that measure a corpus: processes on this machine, or tasks on a Ray cluster.

On a cluster, each part of the file is a Ray task (https://docs.ray.io/en/latest/ray-core/tasks.html). Ray Data is not
used, for two reasons. First, the saved state covers the file from its start to some line, so results must arrive
in file order. Second, the file should not be read further ahead than the workers need.
"""

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

# A function that computes the serialised result for some sentences. It can be called in any process.
Work = Callable[[list[str]], bytes]
# A function that starts work on some sentences in a worker, and returns a function that waits for the result.
Submit = Callable[[list[str]], Callable[[], bytes]]


@contextmanager
def local_workers(work: Work, count: int) -> Iterator[tuple[Submit, int]]:
    """Start worker processes on this machine. Yield a function that submits work, and the number of processes.

    Raises:
        AtlasError: a process was killed.
    """
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _exit_with_parent) as pool:

        def submit(stretch: list[str]) -> Callable[[], bytes]:
            # Submitting work may start a worker process, which must not receive Ctrl-C during its imports.
            with _interrupt_blocked():
                return pool.submit(work, stretch).result

        try:
            yield submit, count
        except BrokenProcessPool:
            raise AtlasError(
                "a measuring process was killed, perhaps because memory ran out: run the same command again to "
                "resume, with fewer --processes if this happens again"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def cluster_workers(address: str, work: Work, device: str) -> Iterator[tuple[Submit, int]]:
    """Connect to a Ray cluster. Yield a function that submits work, and the cluster's number of CPUs or GPUs.

    Raises:
        AtlasError: Ray is not installed, the cluster does not exist, or it has no device of the requested type.
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
        # Raise only the cause, because a RayTaskError contains a long stack trace from another machine.
        raise error.cause from None
    finally:
        ray.shutdown()


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Block SIGINT (Ctrl-C), so that worker processes started in this context do not receive it during their imports.

    Otherwise, Ctrl-C during a worker's imports would print a traceback. Workers unblock SIGINT in
    `_exit_with_parent`.
    """
    if not hasattr(signal, "pthread_sigmask"):
        # Windows has no signal masks, so nothing can be blocked.
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _exit_with_parent() -> None:
    """Make a worker process exit silently on Ctrl-C, and when its parent process no longer exists.

    A killed parent cannot notify its workers, so their models would otherwise stay in memory.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    starter = multiprocessing.parent_process()
    assert starter is not None, "a worker must have a parent process"

    def wait() -> None:
        starter.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
