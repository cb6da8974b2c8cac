"""A page's experiment: embedded in its figures, saved by one button, and rerun by another.

The rerun button also accepts an experiment from a file.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.ui.charts.downloads import save_button
from pages.ui.components.bundle import component
from pages.ui.params.language_model import LanguageModelParams
from pages.ui.params.slides import Slide, SlidesError
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.text.markup import markdown
from transformer.checkpoints.available_models import SHIPPED_LANGUAGE_MODEL, model_folders
from transformer.errors import AtlasError
from transformer.experiments.checking import check, check_model
from transformer.experiments.experiment import MAX_BYTES, ClaimedRun, Experiment
from transformer.files.experiment_mark import MARK
from transformer.running.remembered_runs import RememberedRuns
from transformer.running.translator import Translator
from transformer.values.run import Run

draw_file = component("figures/experiment_file")


def embed_experiment(runs: CachedRuns, *parts: Run[Any], **named: Run[Any]) -> Experiment:
    """Create the page's experiment, embed it in all figures shown from now on, and return it.

    Args:
        runs: the model's cached runs.
        parts: the runs whose results the page shows.
        named: further runs, by name in the experiment.
    """
    address = session.page_address()
    experiment = Experiment(
        runs.model.version,
        model_name(runs.model),
        str(Slide.of(session.page(), address)) if address else "",
        tuple(
            ClaimedRun.of(name, run, runs.get(run)) for name, run in (*(("", part) for part in parts), *named.items())
        ),
    )
    session.set_experiment(experiment.embedded_text())
    return experiment


def model_name(model: Any) -> str:
    """Return the name of a model's folder; empty if the model has no folder."""
    if isinstance(model, Translator):
        names = (each.name for each in model_folders().values() if each.path == model.folder)
        return next(names, model.folder.name if model.folder else "")
    return session.params(LanguageModelParams).model or SHIPPED_LANGUAGE_MODEL


def experiment_buttons(runs: CachedRuns, experiment: Experiment, key: str) -> None:
    """Show the button that saves an experiment, and the button that reruns this experiment or one from a file.

    Args:
        runs: the model's cached runs.
        experiment: the page's experiment.
        key: the prefix of the buttons' keys.
    """
    save_button(
        "Save as experiment",
        lambda: experiment.to_json(),
        f"{key}-experiment.json",
        icon=":material/science:",
        key=f"{key}_experiment",
        help="The model runs, the model's version and the numbers on this page. `attention-atlas verify` repeats the "
        "experiment. Figures saved with “Save as” contain the experiment too.",
    )
    with st.popover("Check", icon=":material/verified:"):
        # The result is above the buttons, because a popover is often cut off at the bottom of the screen.
        result = st.container()
        again = st.button("Check the numbers of this page", key=f"{key}_check", width="stretch")
        opened = draw_file(
            key=f"{key}_open", data={"mark": MARK, "limit": MAX_BYTES}, on_opened_change=lambda: None, width="stretch"
        ).opened
    with result:
        if again or isinstance(opened, str):
            _show_check(runs, opened.encode(errors="replace") if isinstance(opened, str) else experiment)
        else:
            st.caption("Everything is computed again and compared with the recorded numbers.")


def _show_check(runs: CachedRuns, source: Experiment | bytes) -> None:
    """Rerun an experiment, and show whether its numbers are reproduced or why they cannot be checked."""
    try:
        experiment = source if isinstance(source, Experiment) else Experiment.read(source)
        check_model(experiment, runs.model.version, model_name(runs.model))
        with st.spinner("Computing again …"):
            # Use a new `CachedRuns` with a separate memory, so that no result comes from the shared cache.
            report = check(experiment, RememberedRuns(CachedRuns(runs.model)))
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        return
    lines = "  \n".join(map(markdown, str(report).splitlines()))
    if report.differing:
        st.error(lines, icon=":material/difference:")
    else:
        st.success(lines, icon=":material/verified:")
    if experiment is not source and (page := _page(experiment)):
        st.link_button("Open its page", page, icon=":material/open_in_new:", width="stretch")


def _page(experiment: Experiment) -> str:
    """Return the URL of the experiment's page; empty if the untrusted value is not a page of this app."""
    try:
        return str(Slide.read(experiment.page))
    except SlidesError:
        return ""
