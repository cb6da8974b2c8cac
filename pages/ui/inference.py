"""The model and its runs, computed once and shared by everybody who asks for the same."""

from __future__ import annotations

from collections.abc import Set

import streamlit as st

from transformer.road import Found, Road, Way
from transformer.trace import Trace
from transformer.translator import Translator


@st.cache_resource(show_spinner="Loading the model …", max_entries=3)
def load_translator(device: str) -> Translator:
    """The shipped model on a device.

    Raises:
        AtlasError: the model or the device cannot be used; the message says what to do.
    """
    return Translator.load(device=device)


@st.cache_resource(show_spinner="Translating …", max_entries=32)
def translate(_translator: Translator, version: str, device: str, text: str) -> Trace:
    """The trace of translating `text`, which nobody can change, so that all sessions may share it.

    At the limit on length a trace takes 30 MB, hence the few entries.

    Args:
        version, device: of the translator; they tell its traces from others in the cache.

    Raises:
        AtlasError: the text cannot be translated; the message says what to do.
    """
    return _translator.translate(text)


@st.cache_resource(show_spinner="Reading …", max_entries=32)
def read(_translator: Translator, version: str, device: str, text: str, target: str) -> Trace:
    """The trace of reading a given translation; otherwise as `translate`."""
    return _translator.read(text, target)


@st.cache_resource(show_spinner="Computing the scores …", max_entries=8)
def detailed(_translator: Translator, version: str, device: str, text: str, target: str) -> Trace:
    """As `read`, or as `translate` if `target` is empty, with scores, queries, keys, values, head outputs and the
    residual stream."""
    if target:
        return _translator.read(text, target, details=True)
    return _translator.translate(text, details=True)


@st.cache_resource(show_spinner="Decoding …", max_entries=16)
def road(
    _translator: Translator, version: str, device: str, text: str, way: Way, forced: tuple[int, ...], never: Set[int]
) -> Road:
    """A translation and all that was computed along it; otherwise as `translate`."""
    return _translator.road(text, way, forced=forced, never=never)


@st.cache_resource(show_spinner="Decoding …", max_entries=64)
def found(_translator: Translator, version: str, device: str, text: str, way: Way) -> Found:
    """A translation alone; otherwise as `translate`."""
    return _translator.search(text, way)
