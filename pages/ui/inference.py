"""The model and its runs, computed once and shared by everybody who asks for the same."""

from __future__ import annotations

from collections.abc import Set

import streamlit as st

from transformer.options import RunOptions
from transformer.road import Found, Road, Way
from transformer.trace import Trace
from transformer.translator import Translator
from transformer.weights import Weights


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
def detailed(
    _translator: Translator, version: str, device: str, text: str, target: str, options: RunOptions
) -> Trace:
    """As `read`, or as `translate` if `target` is empty, with scores, queries, keys, values, head outputs and the
    residual stream.

    Args:
        options: parts of the model to leave out; they tell a run from the one of the whole model in the cache.
    """
    if target:
        return _translator.read(text, target, details=True, options=options)
    return _translator.translate(text, details=True, options=options)


@st.cache_resource(show_spinner="Reading …", max_entries=32)
def varied(
    _translator: Translator, version: str, device: str, text: str, target: str, options: RunOptions
) -> Trace:
    """As `detailed`, without the details."""
    if target:
        return _translator.read(text, target, options=options)
    return _translator.translate(text, options=options)


@st.cache_resource(show_spinner="Reading the weights …", max_entries=3)
def weights(_translator: Translator, version: str, device: str) -> Weights:
    """The model's parameters, which nobody can change."""
    return _translator.weights()


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
