"""Lets the user choose a language model, and loads it from a folder."""

import streamlit as st

from pages.ui.params.language_model import LanguageModelParams
from pages.ui.runs import models
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.server_paths import error_text
from transformer.checkpoints.available_models import OWN_FOLDER, language_model_folders
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.errors import AtlasError, CheckpointError
from transformer.model.devices import available_devices

NO_MODEL = (
    f"There is no language model here. Put a model folder into `{OWN_FOLDER}` and reload this page. Use a "
    "GPT-2 model from Hugging Face, or train a model with `python -m transformer.training`."
)


def language_model() -> LanguageModel:
    """Return the chosen language model on the chosen device. If loading fails, show a message and end the page."""
    folders = language_model_folders()
    if not folders:
        st.info(NO_MODEL)
        raise PageEnd
    name = session.params(LanguageModelParams).model
    folder = folders.get(name) or next(iter(folders.values()))
    devices = available_devices()
    device = st.session_state.get(session.DEVICE)
    try:
        if folder.problem:
            raise CheckpointError(folder.problem)
        return models.load_language(device if device in devices else devices[0], folder.path)
    except AtlasError as error:
        st.error(error_text(error), icon=":material/error:")
        raise PageEnd from None


def language_model_choice() -> None:
    """Show a select box for the language model, if there are several."""
    folders = list(language_model_folders())
    if len(folders) < 2:
        return
    name = session.params(LanguageModelParams).model
    st.selectbox(
        "Model",
        folders,
        **bind(LanguageModelParams, "model", value=name if name in folders else folders[0]),
        width=200,
        help="The built-in language model, and the other models in the folder `models`.",
    )
