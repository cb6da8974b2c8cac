"""What Streamlit's server does for anybody who asks, has no setting for, and this app has no use for.

`app.py` closes it before anybody is answered; tests/unit/test_doors.py asks a real server for all of it.
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

# Messages of a browser: run the page, end its run, are you still there. The others ask for what is no visitor's
# business (the project's files that git does not know, from processes that everybody waits for), for what is shared
# (to empty Streamlit's caches), or for what is switched off and costs memory all the same (addresses for uploads).
HEARD = {"rerun_script", "stop_script", "app_heartbeat"}
# How many people are there, and for how long they were.
METRICS = "/_stcore/metrics"


def ask_nobody_outside() -> None:
    """Let nothing leave this machine: Streamlit would ask an outside service for its own address whenever another
    site's page knocks."""
    net_util.get_external_ip = lambda: None


class Doors:
    """An application without its metrics, that hears of a browser's messages those that a page sends."""

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
    """What of a websocket Streamlit is to hear of; None for what no page sends."""
    if message["type"] != "websocket.receive":
        return message
    data = message.get("bytes")
    # What is larger is not read: Streamlit ends its session.
    if data is not None and len(data) > get_max_widget_state_size_bytes():
        return message
    try:
        if data is not None:
            return message if is_needed(BackMsg.FromString(data)) else None
    except DecodeError:
        pass
    # Text, or no message: as if its sender had left. Streamlit would write a traceback to the log each time.
    return {"type": "websocket.disconnect", "code": 1002}


def is_needed(message: BackMsg) -> bool:
    """Whether a page sends such a message."""
    kind = message.WhichOneof("type")
    if kind == "file_urls_request":
        # An address for a file of attention, on a server that takes them.
        return get_option("server.maxUploadSize") > 0
    if kind == "backend_operation_request":
        # A file that is made when somebody asks for it. The other operations are for whoever writes an app.
        return message.backend_operation_request.WhichOneof("payload") == "deferred_file"
    return kind in HEARD


# What the app puts before Streamlit's server, the first one outermost.
MIDDLEWARE = (Middleware(Doors), Middleware(Served))
