"""Offers to measure the loaded model over many sentences, and returns measurements that are already recorded."""

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

import streamlit as st

from pages.ui.measurements.recordings import ModelRecord, Recording
from pages.ui.reading.model_picker import examples_file
from pages.ui.reading.target_language import kept_code
from pages.ui.runs.inference import MODEL_LOCK
from pages.ui.runs.page_end import PageEnd
from pages.ui.runs.turns import Turns
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text, path_label
from transformer.checkpoints.available_models import SENTENCES
from transformer.decoding.texts import source_text, text_tokens
from transformer.errors import TextError
from transformer.files.atomic_writes import atomic_file
from transformer.files.small_files import MAX_FILE_BYTES, MEGABYTE, read_small_text
from transformer.running.translator import Translator

# Session-state key for a requested measurement, stored as (record file name, model version) until a
# script run starts the measurement.
REQUESTED = "_measure"
# Records that could not be saved because the model's folder is not writable, by file name and model version.
UNSAVED_RECORDS: dict[tuple[str, str], Any] = {}


def model_record(recording: Recording[ModelRecord], translator: Translator) -> ModelRecord | None:
    """Return the loaded model's measurements; None if the model has not been measured."""
    record = recording.beside(translator).of_model(translator.version)
    return record if record is not None else UNSAVED_RECORDS.get(_name(recording, translator))


def offer_measurement(
    recording: Recording[ModelRecord],
    translator: Translator,
    compute: Callable[[Translator, Iterable[str]], ModelRecord],
    *,
    label: str,
    missing: str,
    turns: Turns = MODEL_LOCK,
) -> None:
    """Show a button that measures the loaded model, or a caption that says what the measurement still needs.

    Args:
        recording: the record file to write, with the command that writes the file from a terminal.
        compute: measures the model on the sentences and returns the record. The function must finish each sentence
            before it requests the next one, and raise ValueError if no sentence is usable.
        label: the button's label.
        missing: a sentence saying that the loaded model has not been measured.
        turns: the lock to hold while the model runs on a sentence, and to release between sentences.
    """
    own_recording = recording.beside(translator)
    file, source = examples_file(translator), markdown(translator.languages.source.name)
    if file is None:
        path = markdown(path_label(own_recording.path.with_name(SENTENCES)))
        st.caption(f"{missing} The measurement needs sentences in {source}: put them into {path}, one per line.")
        return
    try:
        sentences = [line for line in read_small_text(file).splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else error
        st.caption(
            f"{missing} {markdown(path_label(file))} cannot be read ({error_text(reason)}). Save it as UTF-8 text of "
            f"at most {MAX_FILE_BYTES // MEGABYTE} MB, with one sentence per line."
        )
        return
    request = _name(recording, translator)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label,
            key=f"measure_{own_recording.path.stem}",
            icon=":material/bar_chart:",
            on_click=_ask,
            args=request,
            help=f"Runs this model on {len(sentences)} sentences. A progress bar shows the time left, and you can stop "
            f"the measurement. In a terminal: `{own_recording.command}`",
        )
        st.caption(missing)
    # A page may offer several measurements, so check which one was requested.
    if st.session_state.get(REQUESTED) == request:
        del st.session_state[REQUESTED]
        _measure(translator, compute, sentences, own_recording.path, request, turns)
        st.rerun()


def _name(recording: Recording[Any], translator: Translator) -> tuple[str, str]:
    return recording.path.name, translator.version


def _ask(*asked: str) -> None:
    st.session_state[REQUESTED] = asked


def _measure(
    translator: Translator,
    compute: Callable[[Translator, Iterable[str]], Any],
    sentences: Sequence[str],
    path: Path,
    request: tuple[str, str],
    turns: Turns,
) -> None:
    """Measure the model, show a progress bar, and save the record.

    If the user clicks anything, the next update of the bar raises an exception, which ends the script run and discards
    the measurement.
    """
    codes = translator.tokenizer.codes
    readable = [text for text in (kept_code(line, codes) for line in sentences) if _can_read(translator, text)]
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            bar = st.progress(0.0)
        st.button("Stop", key=f"stop_{path.stem}", icon=":material/stop:", help="Discards the measurements so far.")

    def each() -> Generator[str, None, None]:
        began = monotonic()
        for done, sentence in enumerate(readable):
            remaining = f", {time_left((monotonic() - began) / done * (len(readable) - done))}" if done else ""
            bar.progress(done / len(readable), f"Sentence {done + 1} of {len(readable)}{remaining}")
            with turns:
                yield sentence

    try:
        # Closing the generator releases the model's lock, even after an exception.
        with closing(each()) as running:
            record = compute(translator, running)
    except ValueError:
        problem = "No sentence is usable, because each is empty, too short or too long. Use other sentences."
        st.warning(problem, icon=":material/edit:")
        raise PageEnd from None
    try:
        with atomic_file(path) as file:
            file.write_text(record.to_json() + "\n", encoding="utf-8")
    except OSError:
        UNSAVED_RECORDS[request] = record


def _can_read(translator: Translator, text: str) -> bool:
    """Return whether the text is neither empty nor too long for the model."""
    tokenizer = translator.tokenizer
    try:
        return bool(text_tokens(tokenizer, source_text(text, tokenizer.codes, translator.languages), "source"))
    except TextError:
        return False


def time_left(seconds: float) -> str:
    """Return the remaining time as text, rounded up to whole minutes."""
    return f"about {math.ceil(seconds / 60)} minutes left" if seconds > 60 else "less than a minute left"
