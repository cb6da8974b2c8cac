"""What Streamlit's server does for anybody who asks, has no setting for, and this app has no use for.

`app.py` closes it before anybody is answered; tests/unit/test_doors.py asks a real server for all of it.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes
from streamlit.web.server.starlette import starlette_app

# Messages of a browser: run the page, end its run, are you still there. The others ask for what is no visitor's
# business (the project's files that git does not know, from processes that everybody waits for), for what is shared
# (to empty Streamlit's caches), or for what is switched off and costs memory all the same (addresses for uploads).
HEARD = {"rerun_script", "stop_script", "app_heartbeat"}


def close_doors() -> None:
    """Close all of it, in this process."""
    # Nothing leaves this machine: it would ask an outside service for its address whenever another site's page knocks.
    net_util.get_external_ip = lambda: None
    # How many people are there, and for how long they were.
    starlette_app.create_metrics_routes = lambda runtime, base_url: []  # pyright: ignore[reportPrivateImportUsage]
    receive = WebSocket.receive_bytes

    async def receive_message(self: WebSocket) -> bytes:
        try:
            data = await receive(self)
            # What is larger is not read at all.
            if len(data) <= get_max_widget_state_size_bytes():
                BackMsg.FromString(data)
        except (KeyError, DecodeError):
            # Text, or no message: as if its sender had left. Streamlit would write a traceback to the log each time.
            raise WebSocketDisconnect from None
        return data

    WebSocket.receive_bytes = receive_message
    handle = AppSession.handle_backmsg

    def handle_if_needed(self: AppSession, msg: BackMsg) -> None:
        if is_needed(msg):
            handle(self, msg)

    AppSession.handle_backmsg = handle_if_needed


def is_needed(message: BackMsg) -> bool:
    """Whether a page sends such a message."""
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        # A file that is made when somebody asks for it. The other operations are for whoever writes an app.
        return message.backend_operation_request.WhichOneof("payload") == "deferred_file"
    return kind in HEARD
