"""Tests that any text can be tokenized, and is then either rejected with a one-line message or traced and drawn."""

import json
import unicodedata
from dataclasses import replace
from itertools import pairwise

import altair as alt
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_atlas.browser.labels import column_labels, row_labels, titles
from attention_atlas.browser.payload import payload
from attention_atlas.browser.token_labels import token_label
from attention_atlas.browser.wire import unframe
from pages.ui.charts.matrix import cells, matrix
from pages.ui.charts.palette import sequential
from pages.ui.text.markup import markdown
from tests.properties import few, many
from tests.ui.driver import RESERVED, UNREADABLE, UNTRUSTED
from transformer.analysis.view import view_of
from transformer.checkpoints.model_files import save_model
from transformer.errors import TextError
from transformer.model.transformer import build
from transformer.running.translator import Translator
from transformer.text.normalisation import normalise, normalise_with_spans, replace_surrogates
from transformer.text.tokenizer import END, PAD, START, UNKNOWN, Tokenizer, units
from transformer.values.trace import KINDS, Trace

# Lone surrogates, characters that normalise to several characters or to none, characters that join their neighbours,
# and those used in markup, scripts or tables.
STRANGE = (
    "ﷺ½ﬃ㍿Ⅷ\u0301\u0323\u1160\u11ff\u200b\u200d\u2060\ufeff\u00ad\u202e\u2028\x00\x1b\x7f\ud800\udfff"
    "▁ \t\n\r\"'<>&$`*_[](){}|=+-@\\:;,🙂🇩🇪👩👧"
)
CHARACTERS = st.one_of(st.sampled_from(STRANGE), st.characters(codec=None), st.sampled_from("abc XYZ.,?!äöüß"))
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=40),
    st.lists(st.sampled_from([*UNTRUSTED, *RESERVED, *UNREADABLE[:3], "dog", "the"]), max_size=6).map(" ".join),
    st.text("dog .", max_size=300),
)


def is_normalised(typed: str) -> None:
    """Check that normalised text normalises to itself, and that its characters have ordered spans in the typed text."""
    read, spans = normalise_with_spans(typed)
    assert len(read) == len(spans) and all(0 <= start < end <= len(typed) for start, end in spans)
    assert all(a[0] <= b[0] for a, b in pairwise(spans))
    assert normalise(typed) == normalise(read) == read
    assert read == read.strip() and "  " not in read
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in read)
    read.encode("utf-8")


def follows_rules(tokenizer: Tokenizer, text: str) -> None:
    """Check that the spans of a text's tokens are in order and within the text, and that the tokens spell the text."""
    is_normalised(text)
    tokens = tokenizer.encode(text)
    ids = [token.id for token in tokens]
    spans = [token.span for token in tokens if token.span is not None]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert [end for _, end in spans] == sorted(end for _, end in spans)
    covered = {position for start, end in spans for position in range(start, end)}
    lost = "".join(character for position, character in enumerate(text) if position not in covered)
    assert normalise(lost) == "", "only spaces and characters that normalisation removes are covered by no token"
    assert ids == tokenizer.encode_ids(text)
    # Typed text such as </s> never becomes a control token.
    assert ids.count(END) == 1 and ids[-1] == END and not {PAD, UNKNOWN, START} & set(ids)
    assert tokenizer.decode(ids) == normalise(text)
    assert "".join(units(normalise(text))) == normalise(text)
    # The labels and the texts beside a map can be encoded as UTF-8.
    labels = [token_label(token, text) for token in tokens]
    assert json.dumps(labels).encode("utf-8")
    replace_surrogates(text).encode("utf-8")
    markdown(replace_surrogates(text)).encode("utf-8")


def refuse(constant: str) -> None:
    """Reject a constant such as NaN, which Python's JSON parser accepts but standard JSON does not."""
    raise AssertionError(f"{constant} is not a JSON number")


def is_shown(trace: Trace) -> None:
    """Check the labels, tables, browser messages and charts that pages derive from a trace."""
    again = Trace.from_json(trace.to_json())
    assert again.equals(trace)
    for kind in KINDS:
        weights = trace.attention(kind)
        assert np.isfinite(weights).all() and np.allclose(weights.sum(-1), 1, atol=1e-5)
        for words in (False, True):
            view = view_of(trace, kind, words=words)
            assert json.dumps(row_labels(view.axes) + column_labels(view.axes)).encode("utf-8")
            table = cells(view, 0, 0)
            assert len(table) == view.weights[0, 0].size and table.to_csv().encode("utf-8")
        header, _ = unframe(payload(trace, kind, {}))
        assert json.dumps(header, allow_nan=False).encode("utf-8")
    # The labels of a cross-attention map come from both texts.
    view = view_of(trace, "cross", words=False)
    chart = matrix(
        view.weights[0, 0],
        row_labels(view.axes),
        column_labels(view.axes),
        name="weight",
        scale=sequential(),
        titles=titles(True),
        mask=view.mask,
    )
    # Like Streamlit, serialise without Altair's limit on the number of rows. Unlike Streamlit, do not indent the JSON.
    with alt.data_transformers.enable("default", max_rows=None):
        spec = chart.to_json(indent=None)
    assert json.loads(spec, parse_constant=refuse) and spec.encode("utf-8")


@pytest.fixture(scope="module")
def translator(tmp_path_factory, tokenizer, small_config) -> Translator:
    """Return a translator with one layer per stack, which is enough because these tests are about texts."""
    folder = tmp_path_factory.mktemp("one") / "model"
    config = replace(small_config, encoder_layers=1, decoder_layers=1)
    torch.manual_seed(11)
    save_model(folder, config, dict(build(config).named_parameters()), tokenizer)
    return Translator.load(folder, "cpu")


def is_read_or_refused(translator: Translator, text: str, target: str) -> None:
    follows_rules(translator.tokenizer, text)
    try:
        trace = translator.trace(text, target or None)
    except TextError as error:
        assert str(error).encode("utf-8") and "\n" not in str(error)
        return
    is_shown(trace)


GIVEN = {"text": TEXTS, "target": st.one_of(st.just(""), TEXTS)}
test_any_text_is_traced_or_gives_one_clear_error = few(25)(given(**GIVEN)(is_read_or_refused))
test_five_hundred_texts_are_traced_or_give_one_clear_error = many(500)(given(**GIVEN)(is_read_or_refused))
# The next two tests need no model: they only split texts into tokens.
test_two_hundred_texts_are_split_into_tokens_that_spell_them = few(200)(given(text=TEXTS)(follows_rules))
test_ten_thousand_texts_are_split_into_tokens_that_spell_them = many(10_000)(given(text=TEXTS)(follows_rules))
