"""Warms up a server process before users arrive, by loading the model and rendering the first pages.

A new process imports torch, loads the model and compiles the pages' rendering code. Without a warm-up, the first
user would wait about ten seconds for this, as would all users who arrive meanwhile.
"""

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

# The slowest module to import, because it imports torch. Every script run needs it.
SLOWEST_IMPORT = "transformer.running.translator"
# Typical number of seconds from the start of the process to its first page, on two cores, one of them busy.
USUAL_SECONDS = 10.0
# URL paths of the pages that users usually open first; the start page has an empty path.
PAGES = ("", "cross_attention")
_start_time = monotonic()
_is_warm = False


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[dict[str, Any]]:
    """Lifespan context of the server: warm up in the background or, if `WARM_UP_VARIABLE` is set, before serving."""
    task = asyncio.create_task(warm_up())
    if os.environ.get(WARM_UP_VARIABLE):
        await task
    yield {}
    task.cancel()


async def warm_up() -> None:
    """Import torch, render the first pages without a browser, and exempt the loaded objects from garbage collection."""
    global _is_warm
    # Import the module before rendering a page. A page that imported it would hold the script lock, so users waiting
    # for the lock would not see that the Transformer is starting.
    await asyncio.to_thread(import_module, SLOWEST_IMPORT)
    from transformer.serving.server_process import tune_process

    for page in PAGES:
        await draw(page)
    # Call `tune_process` after the page modules have been loaded, because it exempts only existing objects from garbage
    # collection.
    await asyncio.to_thread(tune_process)
    _is_warm = True


def seconds_left() -> int:
    """Return the estimated number of seconds until this process is warm; 0 if it already is."""
    return 0 if _is_warm else max(1, round(_start_time + USUAL_SECONDS - monotonic()))


class _HeadlessClient(SessionClient):
    """A Streamlit session client that needs no browser and sets an event when its page is complete."""

    def __init__(self) -> None:
        self.drawn = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        # The router ends the first script run early and requests a rerun, so wait for the rerun.
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
