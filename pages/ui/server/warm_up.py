"""Warms up a process before users wait for it, by loading the model and drawing the first pages.

A new process imports torch, loads the model and compiles the pages' drawing code. That takes ten seconds, for which the
first user of each page would wait, together with all users who arrive meanwhile.
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

# The slowest import, because it imports torch; page runs wait for it, too.
MODEL = "transformer.running.translator"
# Typical seconds from the start of a process to its first page, on two cores of which one is busy.
USUAL = 10.0
# The pages that users open first, by their paths; the first page has an empty path.
PAGES = ("", "cross_attention")
_began = monotonic()
_is_warm = False


@asynccontextmanager
async def warming(app: object) -> AsyncIterator[dict[str, Any]]:
    """Warm up while the server runs, or before it answers requests if the process that starts it waits for that."""
    task = asyncio.create_task(warm_up())
    if os.environ.get(ANSWERS_WHEN_WARM):
        await task
    yield {}
    task.cancel()


async def warm_up() -> None:
    """Open the pages as a user would, without a browser."""
    global _is_warm
    # Import this first and outside of a page's turn, so that a waiting user sees a message meanwhile.
    await asyncio.to_thread(import_module, MODEL)
    from transformer.serving.server_process import settle

    for page in PAGES:
        await draw(page)
    # Do this last, so that it covers the modules that the pages have imported.
    await asyncio.to_thread(settle)
    _is_warm = True


def seconds_left() -> int:
    """Return the estimated seconds until this process is warm; 0 if it already is."""
    return 0 if _is_warm else max(1, round(_began + USUAL - monotonic()))


class _HeadlessClient(SessionClient):
    """A client without a browser that records when its page has been drawn."""

    def __init__(self) -> None:
        self.drawn = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        # A page that goes through the router ends early and is run again, so ignore that end.
        if msg.WhichOneof("type") == "script_finished" and msg.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.drawn.set()


async def draw(page: str) -> None:
    """Draw a page without a user; errors are shown on the page."""
    runtime, client, message = get_instance(), _HeadlessClient(), BackMsg()
    message.rerun_script.page_name = page
    session = runtime.connect_session(client=client, user_info={})
    try:
        runtime.handle_backmsg(session, message)
        await client.drawn.wait()
    finally:
        runtime.close_session(session)
