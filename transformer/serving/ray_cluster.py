"""Ray, as all that needs it begins with it: silent to its makers, and closed to whoever does not have its token.

To be imported where somebody asked for it, because it takes seconds, and is not installed with the rest.
"""

from __future__ import annotations

import os
import socket
from typing import Any

# Before Ray is imported, which would else tell its makers that it runs.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Its processes answer only who has the token: their ports are open to the network, and run whatever they are sent.
os.environ.setdefault("RAY_AUTH_MODE", "token")

import ray
from ray.exceptions import AuthenticationError

from transformer.errors import AtlasError

# Seconds for a machine of the network to answer.
PATIENCE = 10.0


def join(address: str, **settings: Any) -> None:
    """Make this process one of a cluster's.

    Args:
        address: of its first machine; "auto" is the cluster that this machine belongs to, "local" one that begins here
            and ends with this process.
        settings: of `ray.init`.

    Raises:
        AtlasError: there is no such cluster, or its token is not that of this machine, which Ray does not tell apart.
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
    """See that something listens there: where nothing does, Ray asks again for many minutes.

    Raises:
        ConnectionError: nothing does.
    """
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "://" not in address:
        try:
            socket.create_connection((host, int(port)), PATIENCE).close()
        except OSError as error:
            raise ConnectionError(f"{address} does not answer ({error.strerror})") from error
