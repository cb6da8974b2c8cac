"""Disables Streamlit endpoints and messages that the app does not need and that no Streamlit setting disables.

`app.py` installs the filter before the server answers the first request. tests/unit/test_endpoint_filter.py sends
every kind of rejected request and message to a real server.
"""

from google.protobuf.message import DecodeError
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import net_util
from streamlit.config import get_option
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes

from pages.ui.server.document import DocumentMiddleware

# Messages that the browser may send: requests to run the page or stop the script run, and heartbeats. With some of the
# other messages, a browser could read project files that git ignores, or clear the caches of all users. Requests for
# upload URLs use memory even if uploads are switched off.
ALLOWED_MESSAGES = {"rerun_script", "stop_script", "app_heartbeat"}
# The metrics endpoint reveals how many users there are and how long their sessions last.
METRICS = "/_stcore/metrics"


def disable_ip_lookup() -> None:
    """Prevent Streamlit from asking an external service for the server's public IP address.

    Streamlit would ask whenever a page from another origin connects.
    """
    net_util.get_external_ip = lambda: None


class EndpointFilter:
    """ASGI middleware that hides the metrics endpoint and drops browser messages that no page needs."""

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
    """Return the WebSocket message to pass on to Streamlit; None to drop a message that no page needs."""
    if message["type"] != "websocket.receive":
        return message
    data = message.get("bytes")
    # Pass on an oversized message without parsing it: Streamlit ends the session when it receives one.
    if data is not None and len(data) > get_max_widget_state_size_bytes():
        return message
    try:
        if data is not None:
            return message if is_needed(BackMsg.FromString(data)) else None
    except DecodeError:
        pass
    # Turn text messages and invalid messages into a disconnect, because Streamlit would log a traceback for each.
    return {"type": "websocket.disconnect", "code": 1002}


def is_needed(message: BackMsg) -> bool:
    kind = message.WhichOneof("type")
    if kind == "file_urls_request":
        # The "Your own attention" page requests a URL for uploading a file, if the server accepts uploads.
        return get_option("server.maxUploadSize") > 0
    if kind == "backend_operation_request":
        # Allow only downloads whose content is created on request, because all other operations are for app developers.
        return message.backend_operation_request.WhichOneof("payload") == "deferred_file"
    return kind in ALLOWED_MESSAGES


# The app's middleware in front of Streamlit's server, outermost first.
MIDDLEWARE = (Middleware(EndpointFilter), Middleware(DocumentMiddleware))
