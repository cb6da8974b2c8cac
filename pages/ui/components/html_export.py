"""Sends data to the browser for the HTML export: one file with all attention maps, which works without a server.

The browser already has the maps that the page shows. All other data is sent last, after the page is complete.
"""

import zlib
from collections.abc import Callable

from attention_atlas.browser.html_file import TEMPLATE
from attention_atlas.browser.payload import sentence_id
from attention_atlas.browser.wire import frame
from pages.ui.components.attention_browser import browser_message
from pages.ui.components.bundle import component
from pages.ui.params.attention import AttentionParams
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.values.trace import Kind, Trace

PACKED_TEMPLATE = zlib.compress(TEMPLATE.encode("utf-8"), level=9)

send = component("attention_browser/html_export_parts")


def send_export_parts(trace: Trace, kind: Kind, metrics: Callable[[Kind], HeadMetrics]) -> None:
    """Send the data of `export_parts` to the browser, in an invisible component."""
    send(key=f"{kind}_export", data=export_parts(trace, kind, metrics), height=1)


def export_parts(trace: Trace, kind: Kind, metrics: Callable[[Kind], HeadMetrics]) -> bytes:
    """Return the HTML template and the maps of all other attention kinds as a message in the format of
    `attention_atlas.browser.wire`.

    Args:
        trace: the trace of a model run.
        kind: the attention kind that the browser already has.
        metrics: returns the metrics of all heads of an attention kind.
    """
    others = [browser_message(trace, metrics(other), AttentionParams()) for other in trace.kinds if other != kind]
    parts = [PACKED_TEMPLATE, *others]
    return frame({"kind": kind, "id": sentence_id(trace), "sizes": [len(part) for part in parts]}, b"".join(parts))
