"""Lets the user choose the translation model and the device, and loads the model."""

from pathlib import Path

import streamlit as st

from pages.ui.params.model import ModelParams
from pages.ui.runs import models
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import preset
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text
from transformer.checkpoints.available_models import OWN_FOLDER, SENTENCES, SHIPPED, ModelFolder, model_folders
from transformer.checkpoints.hub_models import HubModel, hub_models
from transformer.errors import AtlasError, CheckpointError
from transformer.files.paths import ASSETS, MODEL
from transformer.model.devices import available_devices
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES, Languages, is_language
from transformer.text.vocabulary import split_code


def chosen_model() -> ModelFolder | None:
    """Return the folder of the model named in the URL; None if no folder has that name."""
    return model_folders().get(session.params(ModelParams).model)


def chosen_languages() -> Languages:
    """Return the chosen model's languages. Language codes in the text override a multilingual model's defaults."""
    folder = chosen_model()
    if folder is None:
        return LANGUAGES
    return folder.languages.for_codes(split_code(session.text(), folder.codes)[0])


def translator() -> Translator:
    """Load the chosen model on the chosen device; if loading fails, end the page with an error message.

    If the chosen model is not installed, show a warning and load the built-in model.
    """
    folder = chosen_model()
    if folder is None:
        st.warning(_not_installed(session.params(ModelParams).model), icon=":material/edit:")
    return load(folder.path if folder else MODEL, folder.problem if folder else "")


def _not_installed(name: str) -> str:
    source, _, target = name.lower().partition("-")
    add = (
        f"To add it: `{HubModel(source, target).command}`."
        if is_language(source) and is_language(target)
        else "To add a model, put its folder into `models`; `attention-atlas import` converts a Hugging Face model."
    )
    return f"“{markdown(name)}” isn't installed, so you're seeing the built-in {LANGUAGES} model. {add}"


def load(path: Path, problem: str = "") -> Translator:
    """Load a model on the chosen device, or end the page with an error message if that fails.

    Args:
        path: the model's folder.
        problem: a known problem with the folder, to be reported instead of loading the model; empty for none.
    """
    devices = available_devices()
    device = st.session_state.get(session.DEVICE)
    try:
        if problem:
            raise CheckpointError(problem)
        return models.load_translator(device if device in devices else devices[0], path)
    except AtlasError as error:
        st.error(error_text(error), icon=":material/error:")
        raise PageEnd from None


def show_model_menu() -> None:
    """Show the menu for choosing a model and a device, with instructions for adding models."""
    folder = chosen_model()
    pair = str(chosen_languages())
    with st.popover(
        "Model",
        key="model_menu",
        width="stretch",
        help="The model that translates on all pages, and how to add other languages.",
    ):
        if has_several_models():
            _show_model_choice()
        else:
            st.markdown(pair if folder and not folder.shipped else f"{pair}, built in")
        show_device_choice()
        _show_more_languages()


def _show_more_languages() -> None:
    """Show which models can be added, and the terminal command that adds one; the app itself downloads nothing."""
    not_installed = {name: model for name, model in hub_models().items() if name not in model_folders()}
    language = st.selectbox(
        "More languages …",
        list(not_installed),
        index=None,
        key="more_languages",
        format_func=lambda name: str(not_installed[name]),
        placeholder="Choose …",
    )
    if language is not None:
        st.caption(
            f"{not_installed[language]} needs {not_installed[language].requirements}. Run this command on the computer "
            "that runs the app, then reload this page. The command shows its progress. If the weights are in an "
            "older format, it says which option to add."
        )
        st.code(not_installed[language].command, language="bash", wrap_lines=True)
    st.caption(
        f"Your own model: put its folder into `{OWN_FOLDER}`. `attention-atlas import FOLDER` converts a model. If you "
        "add a training run's folder, you can choose the trained model and its last checkpoints."
    )


def show_device_choice() -> None:
    if len(available_devices()) < 2:
        return
    devices, server = available_devices(), models.server()
    here = (
        f"The model runs at {markdown(server)}. The device chosen here is used only for results that need the model's "
        "weights."
    )
    st.selectbox(
        "Device",
        devices,
        key=session.DEVICE,
        persist_state="session",
        format_func=str.upper,
        help=here if server else "Where the model runs. By default, the fastest device on this machine.",
    )


def has_several_models() -> bool:
    """Return whether any model is installed in addition to the built-in one."""
    return len(model_folders()) > 1


def _show_model_choice() -> None:
    folders = model_folders()
    chosen = session.params(ModelParams).model

    def choose() -> None:
        name = ModelParams.checked("model", st.session_state.model)
        before, after = folders.get(chosen, folders[SHIPPED]), folders.get(name)
        if after is None:
            return
        session.update(ModelParams, model=after.name)
        code, rest = split_code(session.text(), before.codes)
        offered = examples(after)
        if offered and before.languages.source != after.languages.source:
            # The new model cannot read a sentence in the previous model's language.
            session.try_sentence(offered[0])
        elif not set(code.split()) <= set(after.codes):
            # The new model does not know the language code at the start of the text.
            session.try_sentence(rest.lstrip())

    st.selectbox(
        "Model",
        list(folders),
        key=preset("model", chosen if chosen in folders else SHIPPED),
        on_change=choose,
        format_func=lambda name: f"{folders[name]}{', built in' if folders[name].shipped else ''}",
        help="The built-in model, and the other models in the folder `models`. All pages show the model chosen here; "
        "at most two models stay in memory.",
    )


def examples_file(translator: Translator) -> Path | None:
    """Return the path of a file with sentences in the model's source language; None if there is no such file."""
    own = translator.folder / SENTENCES if translator.folder else None
    if own is not None and own.is_file():
        return own
    return ASSETS / SENTENCES if translator.languages.source.name == LANGUAGES.source.name else None


def examples(folder: ModelFolder | None) -> tuple[str, ...]:
    """Return example sentences in the model's source language, preferably from the model's folder; may be empty."""
    if folder is not None and (own := folder.sentences()):
        return own[: len(session.EXAMPLES)]
    return session.EXAMPLES if folder is None or folder.languages.source.name == LANGUAGES.source.name else ()


def is_shipped(model: Translator) -> bool:
    """Return whether a translator is the built-in model, or was created in memory and thus has no folder."""
    return model.folder is None or model.folder == MODEL
