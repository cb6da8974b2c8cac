"""Which model runs, and where: one of `transformer.checkpoints.available_models`, on a device of this machine."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.ui.params.model import ModelParams
from pages.ui.runs import models
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import preset
from pages.ui.text.markup import markdown
from transformer.checkpoints.available_models import SENTENCES, SHIPPED, ModelFolder, model_folders
from transformer.errors import AtlasError, CheckpointError
from transformer.files.paths import ASSETS, MODEL
from transformer.model.devices import available_devices
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES, Languages
from transformer.text.vocabulary import split_code


def chosen_model() -> ModelFolder | None:
    """The folder of the model that the address names; None if there is none of that name."""
    return model_folders().get(session.params(ModelParams).model)


def chosen_languages() -> Languages:
    """What the chosen model reads, and what it writes, which its text may say."""
    folder = chosen_model()
    if folder is None:
        return LANGUAGES
    return folder.languages.asked_for(split_code(session.text(), folder.codes)[0])


def translator() -> Translator:
    """The chosen model on the chosen device; stops the page with one message if it cannot be used.

    The model that ships takes the place of one that is not there.
    """
    folder = chosen_model()
    if folder is None:
        st.warning(
            f"There is no model “{markdown(session.params(ModelParams).model)}” here, so this is the one that ships. "
            "`attention-atlas import` makes a folder of `models` of another.", icon=":material/edit:",
        )
    return load(folder.path if folder else MODEL, folder.problem if folder else "")


def load(path: Path, problem: str = "") -> Translator:
    """A model on the chosen device; otherwise as `translator`.

    Args:
        path: of its folder.
        problem: what is known against it.
    """
    devices = available_devices()
    device = st.session_state.get(session.DEVICE)
    try:
        if problem:
            raise CheckpointError(problem)
        return models.load_translator(device if device in devices else devices[0], path)
    except AtlasError as error:
        st.error(markdown(str(error)), icon=":material/error:")
        raise PageEnd from None


def device_choice() -> None:
    """Where the model runs: chosen by itself, and open to another choice."""
    devices, server = available_devices(), models.server()
    here = f"What looks at the model's weights is computed here. The model itself runs at {markdown(server)}."
    st.selectbox(
        "Device", devices, key=session.DEVICE, persist_state="session", format_func=str.upper,
        help=here if server else "Where the model runs. The fastest device of this machine is chosen automatically.",
    )


def several_models() -> bool:
    """Whether there is a model to choose beside the one that ships."""
    return len(model_folders()) > 1


def model_choice() -> None:
    """Which model all pages are about."""
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
            # A sentence in another language means nothing to it.
            session.try_sentence(offered[0])
        elif code and code not in after.codes:
            # Nor does the code of a language that it does not write.
            session.try_sentence(rest.lstrip())

    st.selectbox(
        "Model", list(folders), key=preset("model", chosen if chosen in folders else SHIPPED), on_change=choose,
        format_func=lambda name: str(folders[name]),
        help="The model that ships, and the folders beside it in `models`. All pages are about the one chosen here; "
        "at most two stay in memory.",
    )


def examples_file(translator: Translator) -> Path | None:
    """A file of sentences in the language that a model reads; None where there is none."""
    own = translator.folder / SENTENCES if translator.folder else None
    if own is not None and own.is_file():
        return own
    return ASSETS / SENTENCES if translator.languages.source.name == LANGUAGES.source.name else None


def examples(folder: ModelFolder | None) -> tuple[str, ...]:
    """Sentences in the language that a model reads, those of its own folder first; none where nobody wrote any."""
    if folder is not None and (own := folder.sentences()):
        return own[: len(session.EXAMPLES)]
    return session.EXAMPLES if folder is None or folder.languages.source.name == LANGUAGES.source.name else ()


def ships(model: Translator) -> bool:
    """Whether it is the model that ships; of one made in memory nothing else is known."""
    return model.folder is None or model.folder == MODEL
