"""Disables Streamlit endpoints and messages that the app does not need and that have no setting.

`app.py` installs this before the first request is answered. tests/unit/test_endpoint_filter.py sends each of
these requests to a real server.
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

from pages.ui.server.document import DocumentMiddleware

# The browser messages that are allowed: run the page, stop the run, and the heartbeat. Other messages can read project
# files that git ignores, or clear the caches that all users share. The rest request upload addresses, a feature that is
# switched off but still costs memory.
ALLOWED_MESSAGES = {"rerun_script", "stop_script", "app_heartbeat"}
# This endpoint reveals the number of users and the length of their sessions.
METRICS = "/_stcore/metrics"


def disable_ip_lookup() -> None:
    """Prevent requests from this machine to the internet.

    Streamlit would ask an external service for its own address whenever a page of another site connects.
    """
    net_util.get_external_ip = lambda: None


class EndpointFilter:
    """ASGI middleware that hides the metrics, and passes on only those browser messages that a page needs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_filtered() -> Message:
            while (message := filtered(await receive())) is None:
                pass
            return message

        if scope["type"] == "http" and scope["path"].endswith(METRICS):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
        else:
            await self._app(scope, receive_filtered if scope["type"] == "websocket" else receive, send)


def filtered(message: Message) -> Message | None:
    """Return the websocket message that Streamlit should receive; None to drop a message that no page sends."""
    if message["type"] != "websocket.receive":
        return message
    data = message.get("bytes")
    # Do not parse a message above the size limit; Streamlit ends its session.
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
    """Return whether a page can send such a message."""
    kind = message.WhichOneof("type")
    if kind == "file_urls_request":
        # The page requests the upload address for an attention file, if the server accepts uploads.
        return get_option("server.maxUploadSize") > 0
    if kind == "backend_operation_request":
        # Allow only downloads that are created on request; the other operations are for app developers.
        return message.backend_operation_request.WhichOneof("payload") == "deferred_file"
    return kind in ALLOWED_MESSAGES


# The app's middleware in front of Streamlit's server, the first one outermost.
MIDDLEWARE = (Middleware(EndpointFilter), Middleware(DocumentMiddleware))
