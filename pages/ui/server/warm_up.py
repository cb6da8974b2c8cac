"""Ready means warm: the model is loaded, and every page was drawn once, before somebody waits for it.

A process that was just started imports torch, loads the model and compiles what pages draw: ten seconds, which the
first visitor of each would otherwise wait for, and with them everybody who comes meanwhile.
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

# What takes longest, and imports torch: pages of Streamlit's runs wait for it, too.
MODEL = "transformer.running.translator"
# Seconds from the start of a process to its first page on two cores, one of which does something else.
USUAL = 10.0
# Pages that visitors open first, by their address; the first page has none.
PAGES = ("", "cross_attention")
_began = monotonic()
_is_warm = False


@asynccontextmanager
async def warming(app: object) -> AsyncIterator[dict[str, Any]]:
    """Let a server get warm while it is open; or, where its starter waits for that, before it answers anybody."""
    task = asyncio.create_task(warm_up())
    if os.environ.get(ANSWERS_WHEN_WARM):
        await task
    yield {}
    task.cancel()


async def warm_up() -> None:
    """Open the pages as a visitor does whom nobody sees."""
    global _is_warm
    # First, and not within a page's turn: a visitor is then told what is going on.
    await asyncio.to_thread(import_module, MODEL)
    from transformer.serving.server_process import settle

    for page in PAGES:
        await draw(page)
    # What the pages have imported stays, too.
    await asyncio.to_thread(settle)
    _is_warm = True


def seconds_left() -> int:
    """Until this process is warm, as far as can be told; 0 if it is."""
    return 0 if _is_warm else max(1, round(_began + USUAL - monotonic()))


class _Nobody(SessionClient):
    """A browser that is not there: notes when its page has been drawn."""

    def __init__(self) -> None:
        self.drawn = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        # A page that goes through the router ends early, and is run again.
        if msg.WhichOneof("type") == "script_finished" and msg.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.drawn.set()


async def draw(page: str) -> None:
    """Let a page be drawn for nobody; what goes wrong is on it."""
    runtime, client, message = get_instance(), _Nobody(), BackMsg()
    message.rerun_script.page_name = page
    session = runtime.connect_session(client=client, user_info={})
    try:
        runtime.handle_backmsg(session, message)
        await client.drawn.wait()
    finally:
        runtime.close_session(session)
