"""Runs several app processes behind one URL, restarts processes that exit, and stops all of them on Ctrl-C."""

import argparse
import asyncio
import os
import socket
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress

from attention_atlas.app_process import WARM_UP_VARIABLE
from attention_atlas.lecture import port_of
from attention_atlas.reverse_proxy import Backend, ReverseProxy
from attention_atlas.vote_endpoint import LECTURER_COOKIE, VoteEndpoint
from transformer.checkpoints.memory import memory_available
from transformer.commands.terminal import MAX_PORT

# Memory, in bytes, that one app process needs for many users, including a reserve.
PROCESS_MEMORY = 1_000_000_000
# Maximum for the default number of processes. Four processes serve more users than a lecture hall has seats.
MAX_DEFAULT_PROCESSES = 4
# Maximum number of processes that the user can request. A larger number is probably a typo and could exhaust
# the memory.
MAX_PROCESSES = 256
# BACKLOG: number of connections that may wait to be accepted; enough if everyone in a lecture hall opens a link.
# CONNECTIONS: number of open connections per process.
BACKLOG = 512
CONNECTIONS = 10_240
# Time limits in seconds. A process may take START_TIMEOUT to start listening, and as long again to answer.
# RESTART_PAUSE is the pause before a restart. It doubles, up to its maximum, each time the process does not start.
START_TIMEOUT = 120.0
STOP_TIMEOUT = 5.0
RESTART_PAUSE, MAX_RESTART_PAUSE = 1.0, 60.0
# The first browser to open this URL becomes the lecturer's, so do not show the URL on a projector.
VOTE_MESSAGE = "  To let the audience vote, the lecturer opens this URL once, with the projector off: {address}\n"
HEALTH_REQUEST = b"GET /_stcore/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


class StartError(Exception):
    """Raised if an app process cannot be started, exits before it answers, or does not answer in time."""


def default_process_count() -> int:
    """Return how many app processes suit this machine's processors and memory, from 1 to MAX_DEFAULT_PROCESSES."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = memory_available()
    return max(
        1,
        min(
            processors, MAX_DEFAULT_PROCESSES, memory // PROCESS_MEMORY if memory is not None else MAX_DEFAULT_PROCESSES
        ),
    )


def run(count: int, options: Sequence[str], opened: Callable[[str], None], hall: str | None = None) -> None:
    """Serve the app from `count` processes until Ctrl-C.

    Args:
        count: number of app processes.
        options: options of `streamlit run`; the app listens on the address and port given there.
        opened: function that is called with the app's URL once all processes are warm.
        hall: URL for the users, if it differs from the URL on this machine.

    Raises:
        SystemExit: the options request TLS, the app cannot listen on the address and port, or it does not start.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    # Streamlit also reads the address from the environment.
    own = os.environ.get("STREAMLIT_SERVER_ADDRESS", "localhost")
    parser.add_argument("--server.address", dest="address", default=own)
    parser.add_argument("--server.port")
    parser.add_argument("--server.sslCertFile", dest="certificate")
    known, others = parser.parse_known_args(list(options))
    if known.certificate:
        raise SystemExit(
            "error: --lecture and --processes do not support TLS: omit these options, or put a TLS proxy in front of "
            "the app"
        )
    address, port = known.address, port_of(options)
    allow_connections()
    own_url = hall or url(address, port)
    endpoint = VoteEndpoint(port, lambda path: print(VOTE_MESSAGE.format(address=own_url + path), flush=True))

    # The app processes inherit this environment variable.
    os.environ[LECTURER_COOKIE] = endpoint.cookie

    def all_warm() -> None:
        opened(own_url)
        endpoint.invite()

    with closing(listen(address, port)) as listening, suppress(KeyboardInterrupt):
        try:
            asyncio.run(serve(listening, count, others, endpoint, all_warm))
        except StartError as error:
            raise SystemExit(f"error: {error}") from None


def url(address: str, port: int) -> str:
    """Return the URL for a browser on this machine; an empty `address` means that the app listens on all addresses."""
    host = f"[{address}]" if ":" in address else address or "localhost"
    return f"http://{host}:{port}"


def listen(address: str, port: int) -> socket.socket:
    """Return a socket that listens on `address` and `port`.

    Raises:
        SystemExit: the port is taken, or the address does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        # Python's message also repeats the address, so keep only the reason.
        reason = str(error.strerror).partition(" (")[0]
        raise SystemExit(
            f"error: the app cannot listen on {address}:{port} ({reason}); choose another port: --server.port "
            f"{port + 1 if port < MAX_PORT else port - 1}"
        ) from None


def allow_connections() -> None:
    """Raise the limit on open files, and thus on connections, for this process and its children.

    Some systems allow only 256 open files by default.
    """
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS if hard == resource.RLIM_INFINITY else min(CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def serve(
    listening: socket.socket, count: int, options: Sequence[str], endpoint: VoteEndpoint, opened: Callable[[], None]
) -> None:
    """Start `count` app processes, call `opened` once all are warm, and restart processes that exit.

    Raises:
        StartError: a process did not start.
    """
    backends = [Backend() for _ in range(count)]
    loop = asyncio.get_running_loop()
    up: list[asyncio.Future[None]] = [loop.create_future() for _ in backends]
    listens = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []
    # The proxy starts first, so that users who connect before the app is ready get a message.
    with closing(await ReverseProxy(backends, listening.getsockname()[1], endpoint).start(listening)):
        try:
            for backend, ready in zip(backends, up, strict=True):
                tasks.append(asyncio.create_task(keep_running(backend, options, listens, ready)))
                # The first process starts alone, so that an error in the options is reported once.
                await listens.wait()
                if up[0].done():
                    await up[0]
            await asyncio.gather(*up)
            opened()
            # Use `wait`: cancelling `gather` would cancel the tasks, and `finally` would then cancel them again.
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            await asyncio.gather(*ended)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def keep_running(
    backend: Backend, options: Sequence[str], listens: asyncio.Event, up: asyncio.Future[None]
) -> None:
    """Run an app process, and restart it whenever it exits.

    Args:
        backend: the proxy's entry for the process; the entry's port is set while the process answers.
        options: options of `streamlit run`.
        listens: event that is set once the process listens or has failed to start.
        up: future that gets a result once the process answers, or a StartError if the first start fails.
    """
    pause = RESTART_PAUSE
    while True:
        try:
            async with running(options) as (process, port):
                listens.set()
                await wait_until_answering(process, port)
                backend.port, pause = port, RESTART_PAUSE
                if not up.done():
                    up.set_result(None)
                what = f"exited with code {await process.wait()}"
        except StartError as error:
            if not up.done():
                up.set_exception(error)
                listens.set()
                return
            what, pause = "did not start", min(2 * pause, MAX_RESTART_PAUSE)
        finally:
            backend.port = None
        print(f"A worker {what}; restarting it. Users are served by the other workers.", file=sys.stderr, flush=True)
        await asyncio.sleep(pause)


@asynccontextmanager
async def running(options: Sequence[str]) -> AsyncIterator[tuple[Process, int]]:
    """Run an app process that only this machine can reach; yield the process and its port.

    Ctrl-C does not reach the app process. The app process exits when its input pipe closes, at the end of the `with`
    block or when this process exits.

    Raises:
        StartError: the process does not start.
    """
    port = free_port()
    command = (
        # Hide Streamlit's welcome message, because it would show the internal address of the process.
        sys.executable,
        "-m",
        "attention_atlas.app_process",
        "--logger.hideWelcomeMessage=true",
        "--logger.level=warning",
        *options,
        "--server.address=127.0.0.1",
        f"--server.port={port}",
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            env={**os.environ, WARM_UP_VARIABLE: "1"},
        )
    except OSError as error:
        raise StartError(f"the app did not start: {error.strerror}") from error
    try:
        await wait_until_listening(process, port)
        yield process, port
    finally:
        await stop(process)


async def wait_until_listening(process: Process, port: int) -> None:
    """Wait until an app process is listening.

    Raises:
        StartError: the process exited or took too long.
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
    code = process.returncode
    what = f"did not open its port within {START_TIMEOUT:.0f} s" if code is None else f"exited with code {code}"
    raise StartError(f"the app did not start: its process {what}")


async def wait_until_answering(process: Process, port: int) -> None:
    """Wait until a listening app process answers; by then, it has loaded everything that a page needs.

    Raises: as in `wait_until_listening`.
    """
    try:
        async with asyncio.timeout(START_TIMEOUT):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with closing(writer):
                writer.write(HEALTH_REQUEST)
                answered = await reader.readline()
    except (OSError, TimeoutError):
        answered = b""
    if not answered:
        raise StartError("the app did not start: its process did not answer")


async def stop(process: Process) -> None:
    """Stop an app process if it is still running."""
    assert process.stdin is not None, "the process has no input pipe"
    process.stdin.close()
    try:
        async with asyncio.timeout(STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def free_port() -> int:
    """Return a free port on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
