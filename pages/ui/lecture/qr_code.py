"""Pure functions that create QR codes of page URLs for the audience's phones."""

from collections.abc import Container, Mapping
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

import segno

NO_CODE = "This page's URL is too long for a QR code. Shorten the sentence."
LOCAL = (
    "“{host}” works only on this computer. Start the app with “attention-atlas --lecture{port}” (or, if this command "
    "is not installed, with “python -m attention_atlas --lecture{port}”), and open the URL that the app prints."
)
# Default port of `streamlit run`.
PORT = 8501


def full_address(current: str, path: str, parameters: Mapping[str, str], pages: Container[str]) -> str:
    """Return the full URL of a page.

    Args:
        current: the URL in the browser. It may end with a page's path, because `st.context.url` includes this path if
            the URL has parameters.
        path: the page's path below the app's URL; empty for the first page.
        parameters: the page's query parameters.
        pages: the paths of all pages.
    """
    scheme, host, base, *_ = urlsplit(current)
    base = base.rstrip("/")
    folder, _, last = base.rpartition("/")
    if last in pages:
        base = folder
    return f"{scheme}://{host}{base}/{path}?{urlencode(parameters, errors='replace')}"


def local_only(address: str) -> str:
    """Return a message that says what to do if a URL works only on this computer; empty if other computers can open the
    URL.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        local = ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        local = host in ("", "localhost") or host.endswith(".localhost")
    port = "" if parts.port in (None, PORT) else f" --server.port {parts.port}"
    return LOCAL.format(host=host, port=port) if local else ""


def qr_code(address: str) -> str | None:
    """Return a URL as a QR code: an SVG data URI, black on white with a margin; None if the URL is too long."""
    try:
        return segno.make_qr(address, error="m").svg_data_uri(border=4, dark="#000000", light="#ffffff")
    except segno.DataOverflowError:
        return None
