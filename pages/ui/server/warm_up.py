"""Warms up a process before users wait for it: loads the model, and draws every page once.

A new process imports torch, loads the model and compiles the pages' drawing code. That takes ten seconds, and the
first user of each page would wait for it, together with all users who arrive meanwhile.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from time import monotonic
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import get_instance
from streamlit.runtime.session_manager import SessionClient

from attention_atlas.app_process import ANSWERS_WHEN_WARM

# The import that takes longest, because it imports torch; runs of Streamlit's pages wait for it, too.
MODEL = "transformer.running.translator"
# Seconds from the start of a process to its first page on two cores, one of which is busy.
USUAL = 10.0
# Pages that users open first, by their address; the first page has none.
PAGES = ("", "cross_attention")
_began = monotonic()
_is_warm = False


@asynccontextmanager
async def warming(app: object) -> AsyncIterator[dict[str, Any]]:
    """Warm up while the server is open; or before it answers any request, if its starter waits for that."""
    task = asyncio.create_task(warm_up())
    if os.environ.get(ANSWERS_WHEN_WARM):
        await task
    yield {}
    task.cancel()


async def warm_up() -> None:
    """Open the pages as a user would, without a browser."""
    global _is_warm
    # First, and not within a page's turn, so that a user sees a message meanwhile.
    await asyncio.to_thread(import_module, MODEL)
    from transformer.serving.server_process import settle

    for page in PAGES:
        await draw(page)
    # The modules that the pages have imported stay in memory, too.
    await asyncio.to_thread(settle)
    _is_warm = True


def seconds_left() -> int:
    """Return estimated seconds until this process is warm; 0 if it is."""
    return 0 if _is_warm else max(1, round(_began + USUAL - monotonic()))


class _Nobody(SessionClient):
    """A client without a browser, which notes when its page has been drawn."""

    def __init__(self) -> None:
        self.drawn = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        # A page that goes through the router ends early, and runs again.
        if msg.WhichOneof("type") == "script_finished" and msg.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.drawn.set()


async def draw(page: str) -> None:
    """Draw a page for no user; errors are shown on the page."""
    runtime, client, message = get_instance(), _Nobody(), BackMsg()
    message.rerun_script.page_name = page
    session = runtime.connect_session(client=client, user_info={})
    try:
        runtime.handle_backmsg(session, message)
        await client.drawn.wait()
    finally:
        runtime.close_session(session)
