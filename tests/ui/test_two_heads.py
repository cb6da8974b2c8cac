"""Tests the comparison of two heads in a model whose stacks have different depths."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.driver import drawn_maps

SCRIPT = """
from pathlib import Path

import streamlit as st

from pages.ui.state import session
from pages.ui.compare_heads.two_heads import compared_translator, show_two_heads
from transformer.running.translator import Translator

session.follow_address("compare_heads")
show_two_heads(compared_translator(Translator.load(Path({folder!r}), "cpu")), st.container())
"""


@pytest.mark.parametrize(("kind", "layers"), [("encoder", 2), ("decoder", 3), ("cross", 3)])
def test_layer_in_the_url_is_limited_to_the_number_of_layers(model_folder, kind, layers):
    """The model has 2 encoder and 3 decoder layers; the URL names layer 6."""
    test = AppTest.from_string(SCRIPT.format(folder=str(model_folder)), default_timeout=60)
    test.query_params["text"] = "x"
    for name in "ab":
        test.query_params[f"compare_{name}"] = f"{kind}.6.1.words.The dog."
    test.run()
    assert not test.exception
    for name in "ab":
        box = test.selectbox(f"compare_{name}_layer")
        assert box.value == layers - 1 and len(box.options) == layers
    assert f"layer {layers}, head 1" in drawn_maps(test)[0]["title"]


def test_caption_gives_the_positions_of_repeated_words(model_folder):
    test = AppTest.from_string(SCRIPT.format(folder=str(model_folder)), default_timeout=60)
    for name, head in (("a", 1), ("b", 2)):
        test.query_params[f"compare_{name}"] = f"encoder.1.{head}.words.the the the the"
    test.run()
    assert not test.exception
    difference = drawn_maps(test)[2]
    values = np.array(difference["values"]).reshape(len(difference["rows"]), -1)
    cell = np.unravel_index(np.abs(values).argmax(), values.shape)
    texts = "\n".join(each.value for each in test.markdown)
    (said,) = re.findall(r"The weight from (.+?) to (.+?) differs most", texts)
    for side, at, named in zip(("rows", "columns"), cell, said, strict=True):
        assert (f"(position {at + 1})" in named) == (difference[side][at] == "the")
