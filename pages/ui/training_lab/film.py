"""A training run as an animation: a JavaScript component that receives all snapshots at once and plays them."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.ui.components.save_as import figure_component, saveable
from pages.ui.components.synced_state import SyncedState
from pages.ui.params.training_lab import NO_HEAD, LabParams
from pages.ui.state import session
from pages.ui.training_lab.payload import film_payload
from transformer.tasks.events import Event
from transformer.tasks.registry import task_named
from transformer.tasks.run import TaskRun
from transformer.values.kinds import KINDS, Kind

KEY = "training_film"
# The parameters that the user can change in the animation.
VIEW_FIELDS = ("moment", "score", *KINDS)
# State shared with the browser: the training run's name, and the values of the parameters in VIEW_FIELDS.
SYNCED: SyncedState[tuple[str, dict[str, Any]]] = SyncedState("_training_film")

draw_film = figure_component("training_lab/training_film")


def training_film(run: TaskRun, events: Sequence[Event], name: str, *, running: bool) -> None:
    """Show a training run as an animation.

    Args:
        run: the training run so far.
        events: the notable events of the training run.
        name: a name that distinguishes the training run from the user's other training runs.
        running: whether the training continues.
    """
    now = name, _view(session.params(LabParams))
    request = SYNCED.request(now, new=SYNCED.shown != now)

    def store() -> None:
        message = st.session_state[KEY].get("view")
        params_sent = LabParams.from_browser(message)
        session.update(LabParams, **_view(params_sent))
        SYNCED.received(message, (name, _view(params_sent)))

    task = task_named(run.config.task)
    with saveable(
        "training", f"{task.title}: attention and losses during training", sentence=f"Item: {shown_item(run)}"
    ):
        draw_film(
            key=KEY,
            on_view_change=store,
            width="stretch",
            data=film_payload(
                run,
                events,
                {"id": name, "asked": {"number": request.number, "view": request.state[1]}, "running": running},
            ),
        )


def shown_item(run: TaskRun) -> str:
    """Return the item whose attention is shown, and its correct answer, as "item → answer"."""
    task = task_named(run.config.task)
    return f"{task.write(run.item.source)} → {task.write(run.item.target)}"


def shown_heads(run: TaskRun, events: Sequence[Event], params: LabParams) -> dict[Kind, tuple[int, int]]:
    """Return the (layer, head) shown for each attention kind, as `Film.headOf` does in assets/training_lab/film.js."""
    first = {event.kind: event for event in reversed(events) if event.kind is not None}
    heads: dict[Kind, tuple[int, int]] = {}
    for kind in KINDS:
        chosen, event = params.head(kind), first.get(kind)
        if chosen != NO_HEAD:
            heads[kind] = divmod(min(chosen, run.config.layers * run.config.heads) - 1, run.config.heads)
        else:
            heads[kind] = (event.layer or 0, event.head or 0) if event else (0, 0)
    return heads


def _view(params: LabParams) -> dict[str, object]:
    return {name: getattr(params, name) for name in VIEW_FIELDS}
