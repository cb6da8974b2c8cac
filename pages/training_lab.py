"""The "Training lab" page: a small Transformer learns a task while the user watches."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.training_lab.form import pick_task, show_settings_form
from pages.ui.training_lab.own_training import (
    begin,
    own_training,
    recorded_training,
    show_controls,
    show_made_room,
    show_training,
)
from pages.ui.training_lab.recorded_runs import command_of
from pages.ui.training_lab.run_view import show_run

RECORDED = (
    "**This is a recording** of a finished training run. *Play* shows it from the first step; *Train live* trains a "
    "new model."
)
OWN = "**This is your own training run**, computed live on this server."

show_made_room()
run = recorded_training()
training = own_training() or (None if run else begin())
with st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="what_it_is"):
        pick_task()
        show_controls(training, with_recorded=run is not None)
        with st.popover("Settings", icon=":material/tune:"):
            show_settings_form(run)
        with st.container(width="stretch"):
            st.markdown(f":small[{OWN if training else RECORDED}]")
    if training:
        show_training(training)
    elif run:
        st.fragment(show_run)(run, f"recorded {run.config.task}")
if run and not training:
    st.caption(
        f"This training run was recorded; nothing is computed while it plays. To train again: `{command_of(run)}`"
    )
