"""Disables Streamlit endpoints and messages that the app does not need and that have no setting.

`app.py` installs this before the first request is answered. tests/unit/test_doors.py sends each of these requests to a
real server.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import net_util
from streamlit.config import get_option
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes

from pages.ui.server.served import Served

# Messages of a browser that are allowed: run the page, end its run, and the heartbeat. Others read the project's files
# that git ignores, from processes that all users share, or clear Streamlit's shared caches. The rest requests addresses
# for uploads, a feature that is switched off but still costs memory.
HEARD = {"rerun_script", "stop_script", "app_heartbeat"}
# This endpoint gives the number of users and the length of their visits.
METRICS = "/_stcore/metrics"


def ask_nobody_outside() -> None:
    """Prevent requests from this machine to the internet: Streamlit would ask an outside service for its own address
    whenever another site's page connects."""
    net_util.get_external_ip = lambda: None


class Doors:
    """ASGI middleware that hides the metrics and passes on only those browser messages that a page sends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_heard() -> Message:
            while (message := heard(await receive())) is None:
                pass
            return message

        if scope["type"] == "http" and scope["path"].endswith(METRICS):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        else:
            await self._app(scope, receive_heard if scope["type"] == "websocket" else receive, send)


def heard(message: Message) -> Message | None:
    """Return the part of a websocket message that Streamlit receives; None for a message that no page sends."""
    if message["type"] != "websocket.receive":
        return message
    data = message.get("bytes")
    # A larger message is not parsed: Streamlit ends its session.
    if data is not None and len(data) > get_max_widget_state_size_bytes():
        return message
    try:
        if data is not None:
            return message if is_needed(BackMsg.FromString(data)) else None
    except DecodeError:
        pass
    # For text or an invalid message, report a disconnect. Streamlit would log a traceback each time.
    return {"type": "websocket.disconnect", "code": 1002}


def is_needed(message: BackMsg) -> bool:
    """Return whether a page sends such a message."""
    kind = message.WhichOneof("type")
    if kind == "file_urls_request":
        # The address for a file of attention, on a server that accepts uploads.
        return get_option("server.maxUploadSize") > 0
    if kind == "backend_operation_request":
        # A file that is made on request. The other operations are for developers of an app.
        return message.backend_operation_request.WhichOneof("payload") == "deferred_file"
    return kind in HEARD


# The app's middleware in front of Streamlit's server, the first one outermost.
MIDDLEWARE = (Middleware(Doors), Middleware(Served))
