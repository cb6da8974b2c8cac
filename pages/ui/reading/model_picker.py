"""Chooses and loads the model, one of `transformer.checkpoints.available_models`, on a device of this machine."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.ui.params.model import ModelParams
from pages.ui.runs import models
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import preset
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text
from transformer.checkpoints.available_models import OWN, SENTENCES, SHIPPED, ModelFolder, model_folders
from transformer.checkpoints.hub_models import HubModel, hub_models
from transformer.errors import AtlasError, CheckpointError
from transformer.files.paths import ASSETS, MODEL
from transformer.model.devices import available_devices
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES, Languages, is_language
from transformer.text.vocabulary import split_code


def chosen_model() -> ModelFolder | None:
    """The folder of the model that the address names; None if no folder has that name."""
    return model_folders().get(session.params(ModelParams).model)


def chosen_languages() -> Languages:
    """The languages that the chosen model reads and writes; its text may name the latter."""
    folder = chosen_model()
    if folder is None:
        return LANGUAGES
    return folder.languages.asked_for(split_code(session.text(), folder.codes)[0])


def translator() -> Translator:
    """The chosen model on the chosen device; stops the page with one message if it cannot be used.

    The model that ships replaces a missing one.
    """
    folder = chosen_model()
    if folder is None:
        st.warning(_not_installed(session.params(ModelParams).model), icon=":material/edit:")
    return load(folder.path if folder else MODEL, folder.problem if folder else "")


def _not_installed(name: str) -> str:
    """Advice on a model that the address names but that is not installed; Markdown."""
    source, _, target = name.lower().partition("-")
    add = (
        f"To add it: `{HubModel(source, target).command}`."
        if is_language(source) and is_language(target)
        else "To add a model, put its folder into `models`; `attention-atlas import` converts a Hugging Face model."
    )
    return f"“{markdown(name)}” isn't installed, so you're seeing the built-in {LANGUAGES} model. {add}"


def load(path: Path, problem: str = "") -> Translator:
    """Load a model on the chosen device; otherwise as `translator`.

    Args:
        path: of its folder.
        problem: a known problem with it.
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


def model_menu() -> None:
    """Draw the menu of models: the installed ones, the device that runs them, and how to add others."""
    folder = chosen_model()
    pair = str(chosen_languages())
    with st.popover(
        "Model",
        key="model_menu",
        width="stretch",
        help="The model that translates on all pages, and how to add other languages.",
    ):
        if several_models():
            _model_choice()
        else:
            st.markdown(pair if folder and not folder.shipped else f"{pair}, built in")
        device_choice()
        _more_languages()


def _more_languages() -> None:
    """Draw the models that can be added, and the command for the chosen one; the app itself uses no network."""
    known = {name: model for name, model in hub_models().items() if name not in model_folders()}
    chosen = st.selectbox(
        "More languages …",
        list(known),
        index=None,
        key="more_languages",
        format_func=lambda name: str(known[name]),
        placeholder="Choose …",
    )
    if chosen is not None:
        st.caption(
            f"{known[chosen]} needs {known[chosen].needs}. Run this where the app runs, then reload this page. The "
            "command shows its progress, and says what to add if the model has only weights of an older format."
        )
        st.code(known[chosen].command, language="bash", wrap_lines=True)
    st.caption(
        f"Your own model: put its folder into `{OWN}`. `attention-atlas import FOLDER` converts one. The folder of a "
        "training run gives its model and its last steps."
    )


def device_choice() -> None:
    """Draw the device that runs the model: chosen automatically, and changeable if there are several."""
    if len(available_devices()) < 2:
        return
    devices, server = available_devices(), models.server()
    here = f"What looks at the model's weights is computed here. The model itself runs at {markdown(server)}."
    st.selectbox(
        "Device",
        devices,
        key=session.DEVICE,
        persist_state="session",
        format_func=str.upper,
        help=here if server else "Where the model runs. The fastest device of this machine is chosen automatically.",
    )


def several_models() -> bool:
    """Whether there is another model to choose, in addition to the one that ships."""
    return len(model_folders()) > 1


def _model_choice() -> None:
    """Draw the choice of the model that all pages use."""
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
            # The model cannot read a sentence in another language.
            session.try_sentence(offered[0])
        elif not set(code.split()) <= set(after.codes):
            # The model cannot read the code of a language that it does not write.
            session.try_sentence(rest.lstrip())

    st.selectbox(
        "Model",
        list(folders),
        key=preset("model", chosen if chosen in folders else SHIPPED),
        on_change=choose,
        format_func=lambda name: f"{folders[name]}{', built in' if folders[name].shipped else ''}",
        help="The built-in model, and the other models in the folder `models`. All pages show the model chosen here; "
        "at most two stay in memory.",
    )


def examples_file(translator: Translator) -> Path | None:
    """A file of sentences in the language that a model reads; None if there is none."""
    own = translator.folder / SENTENCES if translator.folder else None
    if own is not None and own.is_file():
        return own
    return ASSETS / SENTENCES if translator.languages.source.name == LANGUAGES.source.name else None


def examples(folder: ModelFolder | None) -> tuple[str, ...]:
    """Sentences in the language that a model reads, those of its own folder first; empty if there are none."""
    if folder is not None and (own := folder.sentences()):
        return own[: len(session.EXAMPLES)]
    return session.EXAMPLES if folder is None or folder.languages.source.name == LANGUAGES.source.name else ()


def ships(model: Translator) -> bool:
    """Whether the model is the one that ships; a model made in memory has no other known properties."""
    return model.folder is None or model.folder == MODEL
