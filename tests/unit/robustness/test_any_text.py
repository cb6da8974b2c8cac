"""Any text at all: pieces, trace, what is sent to the browser, and the figures, or one clear message."""

from __future__ import annotations

import json

import altair as alt
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.charts.matrix import cells, matrix
from pages.ui.charts.palette import sequential
from pages.ui.components.attention_payload import payload
from pages.ui.components.wire import unframe
from pages.ui.text.labels import column_labels, row_labels, titles
from pages.ui.text.markup import markdown
from tests.properties import few, many
from tests.ui.driver import HOSTILE, RESERVED, UNREADABLE
from transformer.analysis.view import view_of
from transformer.errors import TextError
from transformer.normalisation import normalise, valid
from transformer.trace import KINDS, Trace
from transformer.translator import Translator

# Characters that become several, none, or join others; halves of pairs; what markup, scripts and tables read.
STRANGE = (
    "ﷺ½ﬃ㍿Ⅷ\u0301\u0323\u1160\u11ff\u200b\u200d\u2060\ufeff\u00ad\u202e\u2028\x00\x1b\x7f\ud800\udfff"
    "▁ \t\n\r\"'<>&$`*_[](){}|=+-@\\:;,🙂🇩🇪👩👧"
)
CHARACTERS = st.one_of(st.sampled_from(STRANGE), st.characters(codec=None), st.sampled_from("abc XYZ.,?!äöüß"))
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=40),
    st.lists(st.sampled_from([*HOSTILE, *RESERVED, *UNREADABLE[:3], "dog", "the"]), max_size=6).map(" ".join),
    st.text("dog .", max_size=300),
)


def follows_rules(translator: Translator, text: str) -> None:
    """The pieces of a text: in order, within it, and spelling it."""
    pieces = translator.tokenizer.encode(text)
    spans = [piece.span for piece in pieces if piece.span is not None]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert [end for _, end in spans] == sorted(end for _, end in spans)
    assert [piece.id for piece in pieces] == translator.tokenizer.encode_ids(text)
    assert normalise(normalise(text)) == normalise(text)
    assert translator.tokenizer.decode([piece.id for piece in pieces]).strip() == normalise(text)
    # Neither raises.
    valid(text).encode("utf-8")
    markdown(valid(text)).encode("utf-8")


def refuse(constant: str) -> None:
    """What Python's JSON has and JSON has not; a text may well be "NaN"."""
    raise AssertionError(f"{constant} is no number of JSON")


def is_shown(trace: Trace) -> None:
    """What pages make of a trace, without their widgets."""
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
        chart = matrix(
            view.weights[0, 0], row_labels(view.axes), column_labels(view.axes), name="weight", scale=sequential(),
            titles=titles(True), mask=view.mask,
        )
        # As Streamlit does, of any number of cells.
        with alt.data_transformers.enable("default", max_rows=None):
            spec = chart.to_json()
        assert json.loads(spec, parse_constant=refuse) and spec.encode("utf-8")
        header, _ = unframe(payload(trace, kind, {}))
        assert json.dumps(header, allow_nan=False).encode("utf-8")


def is_read_or_refused(small_translator: Translator, text: str, target: str) -> None:
    follows_rules(small_translator, text)
    try:
        trace = small_translator.trace(text, target or None)
    except TextError as error:
        assert str(error).encode("utf-8") and "\n" not in str(error)
        return
    is_shown(trace)


GIVEN = {"text": TEXTS, "target": st.one_of(st.just(""), TEXTS)}
test_any_text = few(25)(given(**GIVEN)(is_read_or_refused))
# A quarter of a second each.
test_five_hundred_texts = many(500)(given(**GIVEN)(is_read_or_refused))
