"""Several processes of the app behind one address: started by one command, kept running, and ended with it."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress

from attention_atlas.app_process import ANSWERS_WHEN_WARM
from attention_atlas.lecture import port_of
from attention_atlas.reverse_proxy import Backend, ReverseProxy
from transformer.files.memory import memory_available
from transformer.files.terminal import MOST_PORT

# Bytes that a process of the app takes while many people are there, with some room.
MEMORY = 1_000_000_000
# Unless more are asked for: four serve more people than a lecture hall has.
MOST = 4
# That can be asked for: a slip of a finger would fill the memory.
MOST_PROCESSES = 256
# Connections that wait to be accepted when a hall opens a link, and those that a process may have open.
BACKLOG = 512
CONNECTIONS = 10_240
# Seconds: until a process is warm, until it has ended, and until it is started again; the last doubles while it fails.
START_TIMEOUT = 120.0
STOP_TIMEOUT = 5.0
PAUSE, LONGEST_PAUSE = 1.0, 60.0
HEALTH = b"GET /_stcore/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


class StartError(Exception):
    """A process of the app ended before it answered, and has said why; or did not answer at all."""


def processes_for_many() -> int:
    """As many processes as this machine has processors and memory for, but no more than a hall needs."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = memory_available()
    return max(1, min(processors, MOST, memory // MEMORY if memory is not None else MOST))


def run(count: int, options: Sequence[str], opened: Callable[[str], None]) -> None:
    """Serve the app from so many processes until Ctrl-C.

    Args:
        options: of `streamlit run`; their address and port are where the app is open.
        opened: called with the app's address once everybody can open it.

    Raises:
        SystemExit: the port is taken or none, or the app does not start.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    # Streamlit takes it from the environment, too.
    own = os.environ.get("STREAMLIT_SERVER_ADDRESS", "localhost")
    parser.add_argument("--server.address", dest="address", default=own)
    parser.add_argument("--server.port")
    parser.add_argument("--server.sslCertFile", dest="certificate")
    known, others = parser.parse_known_args(list(options))
    if known.certificate:
        raise SystemExit(
            "error: --lecture and --processes do no TLS: leave them out, or put a proxy with TLS in front of them"
        )
    address, port = known.address, port_of(options)
    allow_connections()
    with closing(listen(address, port)) as listening, suppress(KeyboardInterrupt):
        try:
            asyncio.run(serve(listening, count, others, lambda: opened(url(address, port))))
        except StartError as error:
            raise SystemExit(f"error: {error}") from None


def url(address: str, port: int) -> str:
    """What to open in a browser on this machine for an address at which the app listens; empty is all of them."""
    host = f"[{address}]" if ":" in address else address or "localhost"
    return f"http://{host}:{port}"


def listen(address: str, port: int) -> socket.socket:
    """The socket at which the app is open.

    Raises:
        SystemExit: it is taken, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        # Python adds the address, which is said here.
        reason = str(error.strerror).partition(" (")[0]
        raise SystemExit(
            f"error: the app cannot be opened at {address}:{port} ({reason}); "
            f"choose another port: --server.port {port + 1 if port < MOST_PORT else port - 1}"
        ) from None


def allow_connections() -> None:
    """Let this process, and those that it starts, have many connections open; some systems allow 256 unless asked."""
    try:
        import resource
    except ImportError:
        # Windows, which has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS if hard == resource.RLIM_INFINITY else min(CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def serve(listening: socket.socket, count: int, options: Sequence[str], opened: Callable[[], None]) -> None:
    """Start the processes, say when all are warm, and start again what ends.

    Raises:
        StartError: a process did not start.
    """
    backends = [Backend() for _ in range(count)]
    loop = asyncio.get_running_loop()
    up: list[asyncio.Future[None]] = [loop.create_future() for _ in backends]
    listens = asyncio.Event()
    kept: list[asyncio.Task[None]] = []
    # At once: who comes too early is told so.
    with closing(await ReverseProxy(backends, listening.getsockname()[1]).start(listening)):
        try:
            for backend, ready in zip(backends, up, strict=True):
                kept.append(asyncio.create_task(keep_running(backend, options, listens, ready)))
                # The first by itself: what is wrong with the options is then said once.
                await listens.wait()
                if up[0].done():
                    await up[0]
            await asyncio.gather(*up)
            opened()
            # A `gather` that is cancelled cancels them, and they would be cancelled once more while they end.
            ended, _ = await asyncio.wait(kept, return_when=asyncio.FIRST_EXCEPTION)
            await asyncio.gather(*ended)
        finally:
            for task in kept:
                task.cancel()
            await asyncio.gather(*kept, return_exceptions=True)


async def keep_running(
    backend: Backend, options: Sequence[str], listens: asyncio.Event, up: asyncio.Future[None]
) -> None:
    """Run a process of the app, and another one whenever it ends.

    Args:
        backend: gets the port while there is one that answers.
        listens: set when the first listens, or did not start.
        up: done when the first answers, or with the StartError of the first.
    """
    pause = PAUSE
    while True:
        try:
            async with running(options) as (process, port):
                listens.set()
                await until_it_answers(process, port)
                backend.port, pause = port, PAUSE
                if not up.done():
                    up.set_result(None)
                what = f"has ended ({await process.wait()})"
        except StartError as error:
            if not up.done():
                up.set_exception(error)
                listens.set()
                return
            what, pause = "did not start", min(2 * pause, LONGEST_PAUSE)
        finally:
            backend.port = None
        print(f"A process of the app {what}. Another is started; visitors go to the rest.", file=sys.stderr, flush=True)
        await asyncio.sleep(pause)


@asynccontextmanager
async def running(options: Sequence[str]) -> AsyncIterator[tuple[Process, int]]:
    """A process of the app and its port, for this machine alone. Ctrl-C does not reach it: it ends with the block, or
    by its pipe with this process.

    Raises:
        StartError: it does not start.
    """
    port = free_port()
    command = (
        # Its own address is nobody's business.
        sys.executable, "-m", "attention_atlas.app_process", "--logger.hideWelcomeMessage=true",
        "--logger.level=warning", *options, "--server.address=127.0.0.1", f"--server.port={port}",
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            env={**os.environ, ANSWERS_WHEN_WARM: "1"},
        )
    except OSError as error:
        raise StartError(f"the app did not start ({error.strerror})") from error
    try:
        await until_it_listens(process, port)
        yield process, port
    finally:
        await stop(process)


async def until_it_listens(process: Process, port: int) -> None:
    """Wait for a process of the app.

    Raises:
        StartError: it ended, or takes too long.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + START_TIMEOUT
    while process.returncode is None and loop.time() < deadline:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise StartError("the app did not start")


async def until_it_answers(process: Process, port: int) -> None:
    """Wait for a process of the app that listens: it is warm when it answers.

    Raises: as `until_it_listens`.
    """
    try:
        async with asyncio.timeout(START_TIMEOUT):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with closing(writer):
                writer.write(HEALTH)
                answered = await reader.readline()
    except (OSError, TimeoutError):
        answered = b""
    if not answered:
        raise StartError("the app did not start")


async def stop(process: Process) -> None:
    """End a process of the app, if it has not ended."""
    assert process.stdin is not None, "it has a pipe"
    process.stdin.close()
    try:
        async with asyncio.timeout(STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def free_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
