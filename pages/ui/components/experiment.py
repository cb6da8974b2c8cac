"""A page's experiment: the model runs that produced the numbers shown, and their results.

Every saved figure contains the experiment, and a button saves the experiment as a file. Another control repeats the
runs of this page or of a saved experiment, and compares the results.
"""

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
    """Return the page's experiment, and embed it in all figures that are shown from now on.

    Args:
        runs: the model's cached runs.
        parts: the model runs behind the numbers on the page.
        named: other model runs, by their names in the experiment.
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
    """Return the name of a model's folder; empty if the model was not loaded from a folder."""
    if isinstance(model, Translator):
        names = (each.name for each in model_folders().values() if each.path == model.folder)
        return next(names, model.folder.name if model.folder else "")
    return session.params(LanguageModelParams).model or SHIPPED_LANGUAGE_MODEL


def experiment_buttons(runs: CachedRuns, experiment: Experiment, key: str) -> None:
    """Show a button that saves the experiment, and a popover for checking this experiment or a saved experiment.

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
        help="Saves the model runs, the model's version and the numbers on this page. `attention-atlas verify` repeats "
        "the experiment. Figures saved with “Save as” also contain the experiment.",
    )
    with st.popover("Check", icon=":material/verified:"):
        # Show the result above the buttons, because the bottom of a popover is often off the screen.
        result = st.container()
        again = st.button("Check the numbers on this page", key=f"{key}_check", width="stretch")
        opened = draw_file(
            key=f"{key}_open", data={"mark": MARK, "limit": MAX_BYTES}, on_opened_change=lambda: None, width="stretch"
        ).opened
    with result:
        if again or isinstance(opened, str):
            _show_check(runs, opened.encode(errors="replace") if isinstance(opened, str) else experiment)
        else:
            st.caption("The app computes everything again and compares the results with the recorded numbers.")


def _show_check(runs: CachedRuns, source: Experiment | bytes) -> None:
    """Repeat an experiment, and show whether the results match the saved numbers, or why they cannot be checked."""
    try:
        experiment = source if isinstance(source, Experiment) else Experiment.read(source)
        check_model(experiment, runs.model.version, model_name(runs.model))
        with st.spinner("Computing again …"):
            # Use a new `CachedRuns` with a separate cache, so that everything is computed again.
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
        st.link_button("Open the experiment's page", page, icon=":material/open_in_new:", width="stretch")


def _page(experiment: Experiment) -> str:
    """Return the URL of the experiment's page; empty if the page, which comes from an untrusted file, is invalid."""
    try:
        return str(Slide.read(experiment.page))
    except SlidesError:
        return ""
