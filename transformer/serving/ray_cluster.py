"""Starts Ray with telemetry off and token authentication on.

Import this module only where Ray is needed: the import takes seconds, and Ray is not installed by default.
"""

import os
import socket
from typing import Any

# Ray sends usage statistics by default. Disable them before Ray is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Require a token: the ports of Ray's processes are open to the network, and the processes run any code they receive.
os.environ.setdefault("RAY_AUTH_MODE", "token")

import ray
from ray.exceptions import AuthenticationError

from transformer.errors import AtlasError

# Seconds to wait for a machine to accept a connection.
CONNECT_TIMEOUT = 10.0


def join(address: str, **settings: Any) -> None:
    """Connect this process to a Ray cluster.

    Args:
        address: address of the cluster's first machine. "auto" is the cluster on this machine; "local" starts a new
            cluster that ends with this process.
        settings: arguments of `ray.init`.

    Raises:
        AtlasError: there is no such cluster, or its token differs from this machine's; Ray does not distinguish these
            cases.
    """
    try:
        _check_reachable(address)
        ray.init(address, **settings)
    except (ConnectionError, AuthenticationError):
        raise AtlasError(
            f"no Ray cluster at {address} accepts this machine's token: create ~/.ray/auth_token once, with "
            "`ray get-auth-token --generate`, copy it to every machine, and start Ray with `RAY_AUTH_MODE=token ray "
            "start --head --disable-usage-stats`"
        ) from None


def _check_reachable(address: str) -> None:
    """Check that a process listens at a host:port address, because Ray would retry for many minutes if none does.

    Raises:
        ConnectionError: no process listens at the address.
    """
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "://" not in address:
        try:
            socket.create_connection((host, int(port)), CONNECT_TIMEOUT).close()
        except OSError as error:
            raise ConnectionError(f"no process answers at {address} ({error.strerror})") from error
