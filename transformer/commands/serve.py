"""Implements `attention-atlas serve`, which starts a model server."""

import argparse
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from transformer.checkpoints.checkpoint import load_description
from transformer.commands.parser import CommandParser
from transformer.commands.terminal import MAX_PORT, errors_without_traceback
from transformer.files.paths import MODEL
from transformer.serving.client import SERVER_VARIABLE

MISSING = "the model server needs Ray: install it with `pip install 'ray[serve]>=2.60,<3'`"
# Maximum total number of replicas in a cluster. Without this limit, a mistyped number could start countless processes.
MAX_REPLICAS = 1_000


def parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=prog,
        description="Serve a model to apps on this machine or on others, with Ray Serve.",
        epilog=f"An app uses this server if the app's environment variable {SERVER_VARIABLE} is set to the server's "
        "URL. To serve from a Ray cluster, set RAY_ADDRESS to the cluster's address.",
    )
    parser.add_argument("--model", type=Path, default=MODEL, metavar="DIR", help="model folder")
    parser.add_argument("--replicas", type=int, default=1, metavar="N", help="copies of the model")
    parser.add_argument(
        "--most",
        type=int,
        default=0,
        metavar="N",
        help="maximum number of copies; any beyond --replicas run only while many requests wait; 0 for no more",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; use 0.0.0.0 for all addresses")
    parser.add_argument("--port", type=int, default=8600, help="port to listen on")
    return parser


@errors_without_traceback(ValueError, OSError)
def main(arguments: Sequence[str] | None = None, prog: str = "python -m transformer.serving") -> None:
    options = parser(prog).parse_args(arguments)
    if options.replicas < 1:
        sys.exit(f"error: --replicas must be at least 1, not {options.replicas}")
    if (copies := max(options.replicas, options.most)) > MAX_REPLICAS:
        sys.exit(f"error: --replicas and --most must be at most {MAX_REPLICAS:,}, not {copies:,}")
    if not 1 <= options.port <= MAX_PORT:
        sys.exit(f"error: --port must be at least 1 and at most {MAX_PORT}, not {options.port}")
    # Ray resolves host names only to IPv4 addresses, so this check does, too.
    ipv6 = ":" in options.host
    place = f"{f'[{options.host}]' if ipv6 else options.host}:{options.port}"
    with socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((options.host, options.port))
        except OSError as error:
            sys.exit(f"error: cannot listen on {place} ({error.strerror}): choose another --host or --port")
    try:
        # Check the model here, so that an error appears on the terminal and not in a replica's log.
        load_description(options.model)
        from transformer.serving.server import Scale, start, stop
    except ModuleNotFoundError as error:
        sys.exit(f"error: {MISSING} ({error})")
    try:
        start(
            Scale(model=str(options.model.resolve()), replicas=options.replicas, most=options.most),
            options.host,
            options.port,
        )
        print(f"The model server is listening on http://{place}; press Ctrl-C to stop it.", flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        stop()
