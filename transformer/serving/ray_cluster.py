"""Starts Ray with telemetry off and token authentication on.

Import this only if Ray is requested: the import takes seconds, and Ray is not installed by default.
"""

from __future__ import annotations

import os
import socket
from typing import Any

# Set before Ray is imported, because it would otherwise send usage statistics.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Ray's processes require a token: their ports are open to the network, and they run any code that they receive.
os.environ.setdefault("RAY_AUTH_MODE", "token")

import ray
from ray.exceptions import AuthenticationError

from transformer.errors import AtlasError

# Seconds for a machine of the network to answer.
PATIENCE = 10.0


def join(address: str, **settings: Any) -> None:
    """Connect this process to a cluster.

    Args:
        address: address of its first machine. "auto" is the cluster of this machine; "local" is a new one that ends
            with this process.
        settings: arguments of `ray.init`.

    Raises:
        AtlasError: there is no such cluster, or its token is not this machine's; Ray does not distinguish the two.
    """
    try:
        _reach(address)
        ray.init(address, **settings)
    except (ConnectionError, AuthenticationError):
        raise AtlasError(
            f"there is no Ray cluster at {address} whose token this machine has: make ~/.ray/auth_token once, with "
            "`ray get-auth-token --generate`, copy it to every machine, and start Ray with `RAY_AUTH_MODE=token ray "
            "start --head --disable-usage-stats`"
        ) from None


def _reach(address: str) -> None:
    """Check that a process listens there; otherwise Ray would retry for many minutes.

    Raises:
        ConnectionError: no process listens.
    """
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "://" not in address:
        try:
            socket.create_connection((host, int(port)), PATIENCE).close()
        except OSError as error:
            raise ConnectionError(f"{address} does not answer ({error.strerror})") from error
