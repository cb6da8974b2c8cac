"""Drives the app without a browser, with the shipped model."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
from streamlit import dataframe_util
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from attention_atlas.browser.wire import unframe

FIRST = "pages/translate.py"
DREAM = "I have a dream."
# A translation of it for the narrow model, whose own is long and meaningless.
GIVEN = {"target": "Ich habe einen Traum."}
# Section 7 of the design: texts that the model can read, and the pages must show literally.
UNTRUSTED = [
    "x",
    "🙂",
    "👩‍👩‍👧 🇩🇪",
    "שלום עולם",
    "مرحبا بالعالم",
    "日本語の文",
    "e\u0301\u0323",
    "?!...,;",
    "<b>x</b>",
    '"><script>alert(1)</script>',
    "&amp; &lt;",
    "a\x00b",
    "</s> <s>",
    "▁ a▁b",
    r"$\frac{a}{b}$",
    "# **md** [x](http://y) `c` :smile: :red[x]",
    "https://example.org/?a=b&c=d",
    "a\tb\nc",
    "dog " * 50,
    "'); DROP TABLE",
    "{{x}} ${y} %s",
    "\ufeffbom",
    "ﬁ… “q”",
    "a \u202edog\u2069 \u2067b",
]
# Every kind of markup in one line, so that one run of a page checks all.
MIXED = '# **b** <b>x</b> "><script>x [x](http://y) $\\frac{a}{b}$ :smile: :red[x] \u202e'
MARKUP = ("<b>", "<script", "](http", ":smile:", "$\\frac", ":red[", "\u202e")
# Words that have a meaning in JavaScript or in Vega's expressions, some of each kind.
RESERVED = [
    "async",
    "class",
    "delete",
    "if",
    "in",
    "new",
    "null",
    "return",
    "this",
    "true",
    "typeof",
    "undefined",
    "with",
    "NaN",
    "datum",
    "event",
    "scale",
    "data",
    "window",
]
# The icon of a warning above a translation.
OF_A_TRANSLATION = ":material/warning:"
# Texts that the model cannot read.
UNREADABLE = ["", "  ", "\x00", "word " * 1000]
# Invalid values of an address.
INVALID_VALUES = ["", "0", "-1", "99999", "1e9", "nan", "²", "9" * 400, "<b>", "1.2.3", "٣"]


def opened(page: str = FIRST, **address: str) -> AppTest:
    """Return the app, opened at a page with an address."""
    test = AppTest.from_file("../../app.py", default_timeout=240)
    for key, value in address.items():
        test.query_params[key] = value
    # The page without a name is the first; AppTest knows the others by their files.
    return (test if page == FIRST else test.switch_page(page)).run()


def messages(test: AppTest, field: str) -> list[tuple[Any, dict[str, Any]]]:
    """Return the components whose message has a field, each with its message."""
    nodes = [node for node in test.get("bidi_component") if node.proto.json]
    found = [(node, json.loads(node.proto.json)) for node in nodes]
    return [(node, data) for node, data in found if field in data]


def drawn_maps(test: AppTest) -> list[dict[str, Any]]:
    """Return the maps that are drawn side by side; empty if there are none."""
    return next((data["sides"] for _, data in messages(test, "sides")), [])


def submit(test: AppTest, text: str, name: str = "sentence") -> None:
    """Type a text into a box, and press Enter.

    Args:
        name: "sentence", or "another" for the user's own translation.
    """
    (node,) = (node for node, data in messages(test, "name") if data["name"] == name)
    send(test, node, "submitted", text)


def send(test: AppTest, node: Any, event: str, value: Any) -> None:
    """Send an event of a component's JavaScript, as the browser would."""
    states = test._tree.get_widget_states()
    sent = json.dumps([{"event": event, "value": value}])
    states.widgets.add(id=_make_trigger_id(node.proto.id, "events"), json_trigger_value=sent)
    test._run(states)


def tell(test: AppTest, node: Any, state: dict[str, Any]) -> None:
    """Send a state of a component's JavaScript, as the browser would after answering the server's request."""
    states = test._tree.get_widget_states()
    number = unframe(node.proto.bytes)[0]["asked"]["number"]
    sent = {name: {"request": number, **held} if isinstance(held, dict) else held for name, held in state.items()}
    states.widgets.add(id=node.proto.id, json_value=json.dumps(sent))
    test._run(states)


def headers(test: AppTest) -> list[dict[str, Any]]:
    """Return the message headers that every attention browser on the page received."""
    sent = [node.proto.bytes for node in test.get("bidi_component") if node.proto.bytes]
    found = [unframe(data)[0] for data in sent]
    return [header for header in found if "asked" in header]


def typed(test: AppTest, name: str = "sentence") -> str | None:
    """Return the text that a box shows; None if there is no such box."""
    return box(test, name).get("text")


def box(test: AppTest, name: str = "sentence") -> dict[str, Any]:
    """Return the text that a box was asked to show; an empty text if there is no such box."""
    return next((data for _, data in messages(test, "name") if data["name"] == name), {})


def chooser(test: AppTest, key: str) -> Selectbox:
    """Return the box with this key, whose options depend on a text; its key has a suffix for them."""
    return next(each for each in test.selectbox if re.fullmatch(f"{key}_[0-9a-f]{{8}}", each.key or ""))


def healthy(test: AppTest, *, warned: bool = False) -> bool:
    """Return whether the page shows no error.

    Args:
        warned: whether a message reports an impossible request; warnings about a translation do not count.
    """
    return not test.exception and not test.error and refused(test) == warned


def refused(test: AppTest) -> bool:
    """Return whether a message reports an impossible request."""
    return any(each.icon != OF_A_TRANSLATION for each in test.warning)


def texts(test: AppTest) -> str:
    """Return all text that may hold markup."""
    kinds = ("markdown", "caption", "header", "subheader", "info", "warning")
    return "\n".join(element.value for kind in kinds for element in getattr(test, kind))


def unescaped(test: AppTest) -> str:
    """Return all text, with Markdown's backslash escapes removed."""
    return without_escapes(texts(test))


def without_escapes(shown: str) -> str:
    """Remove Markdown's backslash escapes."""
    return re.sub(r"\\[!-/:-@[-`{-~]", "", shown)


def expand(test: AppTest) -> AppTest:
    """Open every part of the page that is drawn on opening."""
    closed = [each.proto.id for each in test.expander if each.proto.id and not each.proto.expanded]
    if closed:
        states = test._tree.get_widget_states()
        for part in closed:
            states.widgets.add(id=part, bool_value=True)
        test._run(states)
    return test


def table(test: AppTest, *columns: str) -> pd.DataFrame:
    """Return the first table with these columns, even from a closed part of the page."""

    def found() -> pd.DataFrame | None:
        return next((each.value for each in test.dataframe if set(columns) <= set(each.value.columns)), None)

    shown = found()
    if shown is None:
        expand(test)
        shown = found()
    assert shown is not None, f"no table has the columns {columns}"
    return shown


def written(node: Any) -> pd.DataFrame:
    """Return the displayed text of every cell of a table."""
    columns = json.loads(node.proto.columns or "{}")
    formats = {name: each.get("type_config", {}).get("format") for name, each in columns.items()}
    shown = node.proto.arrow_data.styler.display_values
    texts = dataframe_util.convert_arrow_bytes_to_pandas_df(shown) if shown else node.value
    return pd.DataFrame(
        {
            name: [form % value for value in column]
            if (form := formats.get(name)) and form[-1] in "ef"
            else texts[name]
            for name, column in node.value.items()
        }
    )


def same_numbers(shown: Any, computed: Any) -> None:
    """Compare numbers up to rounding, because the app may run on a GPU and the test on the CPU."""
    np.testing.assert_allclose(shown, computed, rtol=1e-4, atol=5e-6)


def figures(test: AppTest) -> tuple[int, int]:
    """Return the numbers of Plotly's and Altair's figures, and check that each has a description in words."""
    plotly, altair = test.get("plotly_chart"), test.get("vega_lite_chart")
    assert all(node.proto.alt for node in (*plotly, *altair))
    return len(plotly), len(altair)
