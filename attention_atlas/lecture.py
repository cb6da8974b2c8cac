"""Lecture mode: opens the app to the network, and prints the app's URL as text and as a QR code."""

import argparse
import ipaddress
import os
import re
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from transformer.commands.terminal import MAX_PORT

PORT = 8501
# LABEL matches the part of a host name between dots (RFC 1123, section 2.1). NAME does not match text that
# consists only of digits and dots: an IP address, or a port given by mistake.
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
NAME = re.compile(rf"(?![\d.]+$){LABEL}(?:\.{LABEL})*")
# RFC 5737 reserves this address for documentation. Connecting a UDP socket to it selects a route without sending
# anything.
PROBE_ADDRESS = ("192.0.2.1", 9)


def lecture_options(options: Sequence[str]) -> tuple[list[str], str | None]:
    """Replace --lecture [ADDRESS] with the options of `streamlit run` that it implies.

    Returns:
        The options, and the URL that all users can open. Without --lecture, the options are unchanged, and the URL is
        None.

    Raises:
        SystemExit: the port or the given address is invalid, other machines cannot reach the address, or this machine
            is not on a network.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--lecture", nargs="?", const="", metavar="ADDRESS")
    parser.add_argument("--server.port")
    known, others = parser.parse_known_args(list(options))
    if known.lecture is None:
        return list(options), None
    host = check_host(known.lecture) if known.lecture else own_address()
    if host is None:
        raise SystemExit(
            "error: this machine is not on a network: join the lecture hall's network, or give the address at which "
            "others can reach this machine, with `--lecture ADDRESS`"
        )
    port = port_of(options)
    allowed = dict.fromkeys([host, socket.gethostname(), "localhost", "127.0.0.1"])
    return [
        # The port is explicit, so that Streamlit listens on the announced port.
        "--server.address=0.0.0.0",
        f"--server.port={port}",
        f"--browser.serverAddress={host}",
        *(f"--server.allowedHosts={name}" for name in allowed),
        *others,
    ], f"http://{host}:{port}"


def port_of(options: Sequence[str]) -> int:
    """Return the port on which `streamlit run` listens, given its options and the environment.

    Raises:
        SystemExit: the port is invalid.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--server.port", dest="port", default=os.environ.get("STREAMLIT_SERVER_PORT", str(PORT)))
    port: str = parser.parse_known_args(list(options))[0].port
    if not (port.isdecimal() and len(port) <= len(str(MAX_PORT)) and 1 <= int(port) <= MAX_PORT):
        raise SystemExit(
            f"error: the app's port, --server.port or STREAMLIT_SERVER_PORT, must be a number from 1 to {MAX_PORT}, "
            f"not {port!r}"
        )
    return int(port)


def own_address() -> str | None:
    """Return this machine's IP address on the local network; None if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(PROBE_ADDRESS)
        except OSError:
            return None
        address: str = way.getsockname()[0]
    return None if address.startswith("127.") else address


def check_host(host: str) -> str:
    """Return `host` if it is a valid address or name that other machines can use to reach this machine.

    Raises:
        SystemExit: `host` is invalid, or other machines cannot use it to reach this machine.
    """
    try:
        address = ipaddress.IPv4Address(host)
        for_itself = address.is_loopback or address.is_unspecified
    except ipaddress.AddressValueError:
        if not NAME.fullmatch(host):
            raise SystemExit(
                f"error: --lecture does not accept '{host}'; give the address or the name of this machine on its "
                f"network, such as {own_address() or '192.168.1.20'}, without http:// and without a port (for a port, "
                "add --server.port 8600)"
            ) from None
        for_itself = host == "localhost"
    if for_itself:
        raise SystemExit(
            f"error: {host} cannot be reached from other machines; leave it out and --lecture detects the address"
        )
    return host


def is_own(host: str) -> bool:
    """Return whether an address or a name belongs to this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as place:
        try:
            place.bind((host, 0))
        except OSError:
            return False
    return True


def announce(address: str) -> None:
    """Print a URL and its QR code, large enough to be scanned from a projector.

    If the URL's host is not an address of this machine, first print a warning: the URL works only if a router forwards
    connections from the host to this machine.
    """
    import segno

    host = str(urlsplit(address).hostname)
    if is_own(host):
        print(f"\n  Everyone on this network can open {address}\n", flush=True)
    else:
        own_host = own_address()
        print(
            f"\n  {host} is not this machine's address"
            + (
                f", which is {own_host}: use `--lecture {own_host}`"
                if own_host
                else "; this machine is not on a network: join the lecture hall's network"
            )
            + f".\n  Others can open {address} only if a router forwards {host} to this machine.\n  At any "
            f"address other than {host}, they see an empty page.\n",
            flush=True,
        )
    segno.make(address, micro=False).terminal(compact=True)
    print("\n  The model is loaded. Press Ctrl-C to stop the app.\n", flush=True)
