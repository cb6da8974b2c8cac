"""Simulated users of the app, each of whom speaks Streamlit's protocol over one websocket, as a browser does."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

# Id of the widget state that carries a component's trigger values; {} stands for the component's id.
EVENTS = "$$STREAMLIT_INTERNAL_KEY_{}__events"


@dataclass
class Visitor:
    """A simulated user with the app open in one tab.

    Attributes:
        widgets: ids of the page's components, by component key.
        words: the Markdown texts, headings, alerts and expander labels that the last script run sent.
    """

    socket: ClientConnection
    widgets: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    _pages: dict[str, str] = field(default_factory=dict)
    _page: str = ""
    _query: str = ""
    _cached: dict[str, bytes] = field(default_factory=dict)

    async def open(self, page: str = "", **address: str) -> None:
        """Open a URL in a new tab.

        Args:
            page: the page's path in the URL; empty for the first page.
            address: parameters of the query string.
        """
        self._query, self._page = urlencode(address), ""
        await self._run(page_name=page)

    async def turn_to(self, page: str) -> None:
        self._query = ""
        self._page = self._pages[page]
        await self._run()

    async def submit(self, text: str) -> None:
        event = {"event": "submitted", "value": text}
        await self._run(WidgetState(id=EVENTS.format(self.widgets["sentence"]), json_trigger_value=json.dumps([event])))

    async def choose(self, widget: str, **choice: Any) -> None:
        """Set the state "choice" of a component, as a click on an option does."""
        await self._run(WidgetState(id=self.widgets[widget], json_value=json.dumps({"choice": choice})))

    async def _run(self, *states: WidgetState, page_name: str = "") -> None:
        """Rerun the page's script, and wait until the answer is complete.

        Raises:
            RuntimeError: the page does not compile, or it shows an exception.
        """
        message = BackMsg()
        run = message.rerun_script
        run.query_string, run.page_script_hash, run.page_name = self._query, self._page, page_name
        run.widget_states.widgets.extend(states)
        run.cached_message_hashes.extend(self._cached)
        self.words.clear()
        await self.socket.send(message.SerializeToString())
        while True:
            answer = await self._receive()
            kind = answer.WhichOneof("type")
            if kind == "delta":
                self._note(answer.delta)
            elif kind == "page_info_changed":
                self._query = answer.page_info_changed.query_string
            elif kind == "navigation":
                self._pages = {page.url_pathname: page.page_script_hash for page in answer.navigation.app_pages}
                self._page = answer.navigation.page_script_hash
            elif kind == "script_finished":
                if answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return
                if answer.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise RuntimeError("the page does not compile")

    async def _receive(self) -> ForwardMsg:
        answer = ForwardMsg()
        answer.ParseFromString(await self.socket.recv())
        if answer.WhichOneof("type") == "ref_hash":
            # The server does not resend a message that the browser has cached.
            answer.ParseFromString(self._cached[answer.ref_hash])
        elif answer.metadata.cacheable:
            self._cached[answer.hash] = answer.SerializeToString()
        return answer

    def _note(self, delta: Delta) -> None:
        self.words.append(delta.add_block.expandable.label)
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise RuntimeError(element.exception.message)
        if kind in ("markdown", "heading", "alert"):
            # The page escapes Markdown in a user's text with backslashes.
            self.words.append(getattr(element, kind).body.replace("\\", ""))
        elif kind == "bidi_component":
            # A component's id consists of "$$ID", a digest of its arguments, and its key.
            self.widgets[element.bidi_component.id.split("-", 2)[2]] = element.bidi_component.id


@asynccontextmanager
async def visitor(address: str, cookie: str = "") -> AsyncIterator[Visitor]:
    """Connect to a server, as a new user or with the cookie of an earlier visit."""
    async with connect(
        f"ws://{address}/_stcore/stream",
        subprotocols=["streamlit"],
        max_size=None,
        compression=None,
        ping_timeout=None,
        additional_headers={"Cookie": cookie} if cookie else None,
    ) as line:
        yield Visitor(line)
