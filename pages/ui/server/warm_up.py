"""Warms up a server process before users arrive, by loading the model and rendering the first pages.

A new process imports torch, loads the model and compiles the pages' rendering code. That takes ten seconds, for which
each page's first user would wait, together with all users who arrive meanwhile.
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

from attention_atlas.app_process import WARM_UP_VARIABLE

# The slowest import, because it imports torch. Script runs also wait for it.
SLOWEST_IMPORT = "transformer.running.translator"
# Typical number of seconds from process start to the first page, on two cores of which one is busy.
USUAL_SECONDS = 10.0
# URL paths of the pages that users open first; the start page has an empty path.
PAGES = ("", "cross_attention")
_start_time = monotonic()
_is_warm = False


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[dict[str, Any]]:
    """Lifespan context of the server: warm up in the background, or before the first response if so configured."""
    task = asyncio.create_task(warm_up())
    if os.environ.get(WARM_UP_VARIABLE):
        await task
    yield {}
    task.cancel()


async def warm_up() -> None:
    """Open pages as a user would, without a browser."""
    global _is_warm
    # Import this before rendering a page. A page holds the script lock, so waiting users would see no message
    # meanwhile.
    await asyncio.to_thread(import_module, SLOWEST_IMPORT)
    from transformer.serving.server_process import tune_process

    for page in PAGES:
        await draw(page)
    # Freeze objects last (see `tune_process`), so that the modules imported by the pages are included.
    await asyncio.to_thread(tune_process)
    _is_warm = True


def seconds_left() -> int:
    """Return the estimated number of seconds until this process is warm; 0 if it already is."""
    return 0 if _is_warm else max(1, round(_start_time + USUAL_SECONDS - monotonic()))


class _HeadlessClient(SessionClient):
    """A session client without a browser, which records when its page is complete."""

    def __init__(self) -> None:
        self.drawn = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        # The router ends its first script run early and requests a rerun, so wait for that rerun.
        if msg.WhichOneof("type") == "script_finished" and msg.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.drawn.set()


async def draw(page: str) -> None:
    """Render a page without a browser; errors do not stop the warm-up."""
    runtime, client, message = get_instance(), _HeadlessClient(), BackMsg()
    message.rerun_script.page_name = page
    session = runtime.connect_session(client=client, user_info={})
    try:
        runtime.handle_backmsg(session, message)
        await client.drawn.wait()
    finally:
        runtime.close_session(session)
