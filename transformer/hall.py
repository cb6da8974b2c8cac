"""The app for everybody in a lecture hall: listening on the network, its address printed to type or to scan."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence

PORT = 8501
# From RFC 5737, for documentation: it leads nowhere, and choosing a way there sends nothing.
ELSEWHERE = ("192.0.2.1", 9)


def open_to_hall(options: Sequence[str]) -> tuple[list[str], str | None]:
    """Options of `streamlit run` for options of the app, whose --lecture [ADDRESS] is replaced by what it means.

    Returns:
        the options, and the address that everybody can open. Without --lecture the options stay as they are, and the
        address is None.

    Raises:
        SystemExit: this machine is in no network.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--lecture", nargs="?", const="", metavar="ADDRESS")
    parser.add_argument("--server.port", dest="port", type=int, default=PORT)
    known, others = parser.parse_known_args(list(options))
    if known.lecture is None:
        return list(options), None
    host = known.lecture or own_address()
    if host is None:
        raise SystemExit(
            "error: this machine is in no network: join the one of the hall, or say `--lecture ADDRESS` with the "
            "address at which the others reach it"
        )
    allowed = dict.fromkeys([host, socket.gethostname(), "localhost", "127.0.0.1"])
    return [
        # The port is named, so that Streamlit does not take another one than was announced.
        "--server.address=0.0.0.0", f"--server.port={known.port}", f"--browser.serverAddress={host}",
        *(f"--server.allowedHosts={name}" for name in allowed), *others,
    ], f"http://{host}:{known.port}"


def own_address() -> str | None:
    """The address that this machine has in its network; None if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(ELSEWHERE)
        except OSError:
            return None
        address: str = way.getsockname()[0]
    return None if address.startswith("127.") else address


def announce(address: str, *, processes: int) -> None:
    """Print an address, large enough to be scanned from a projector, and what is left to do before a hall comes."""
    import segno

    print(f"\n  Everybody in this network can open {address}\n", flush=True)
    segno.make(address, micro=False).terminal(compact=True)
    windows = "a private window" if processes == 1 else f"{processes} private windows, a process for each"
    print(f"\n  Before they come, open it in {windows}: the model is loaded then.\n", flush=True)
