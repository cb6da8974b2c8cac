"""The app driven without a browser, with the model that ships."""

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
# A translation of it for the narrow model, whose own is long and means nothing.
GIVEN = {"target": "Ich habe einen Traum."}
# Section 7 of the design: what can be read, and must be shown as itself.
HOSTILE = [
    "x", "🙂", "👩‍👩‍👧 🇩🇪", "שלום עולם", "مرحبا بالعالم",
    "日本語の文", "e\u0301\u0323", "?!...,;", "<b>x</b>",
    '"><script>alert(1)</script>', "&amp; &lt;", "a\x00b", "</s> <s>", "▁ a▁b", r"$\frac{a}{b}$",
    "# **md** [x](http://y) `c` :smile: :red[x]",
    "https://example.org/?a=b&c=d", "a\tb\nc", "dog " * 50, "'); DROP TABLE", "{{x}} ${y} %s", "\ufeffbom", "ﬁ… “q”",
    "a \u202edog\u2069 \u2067b",
]
# Every kind of markup in one line, so that a page is run once for all of them.
MIXED = '# **b** <b>x</b> "><script>x [x](http://y) $\\frac{a}{b}$ :smile: :red[x] \u202e'
MARKUP = ("<b>", "<script", "](http", ":smile:", "$\\frac", ":red[", "\u202e")
# Words that mean something in JavaScript or in the expressions of Vega.
RESERVED = [
    "abstract", "arguments", "async", "await", "boolean", "break", "byte", "case", "catch", "char", "class",
    "const", "continue", "debugger", "default", "delete", "do", "double", "else", "enum", "eval", "export",
    "extends", "false", "final", "finally", "float", "for", "function", "get", "goto", "if", "implements", "import",
    "in", "instanceof", "int", "interface", "let", "long", "native", "new", "null", "of", "package", "private",
    "protected", "public", "return", "set", "short", "static", "super", "switch", "synchronized", "this", "throw",
    "throws", "transient", "true", "try", "typeof", "undefined", "var", "void", "volatile", "while", "with",
    "yield", "NaN", "Infinity", "datum", "event", "item", "parent", "scale", "data", "window", "document",
]
# Icon of a warning that stands above a translation.
OF_A_TRANSLATION = ":material/warning:"
# And what cannot.
UNREADABLE = ["", "  ", "\x00", "word " * 1000]
# Values of an address that stand for nothing.
RUBBISH = ["", "0", "-1", "99999", "1e9", "nan", "²", "9" * 400, "<b>", "1.2.3", "٣"]


def opened(page: str = FIRST, **address: str) -> AppTest:
    """The app, opened at a page with an address."""
    test = AppTest.from_file("../../app.py", default_timeout=240)
    for key, value in address.items():
        test.query_params[key] = value
    # The page without a name is the first; AppTest knows the others by their files.
    return (test if page == FIRST else test.switch_page(page)).run()


def submit(test: AppTest, text: str, name: str = "sentence") -> None:
    """Type a text into a box, and press Enter.

    Args:
        name: "sentence", or "another" for another translation.
    """
    sent = [node for node in test.get("bidi_component") if node.proto.json]
    (node,) = (node for node in sent if json.loads(node.proto.json).get("name") == name)
    send(test, node, "submitted", text)


def send(test: AppTest, node: Any, event: str, value: Any) -> None:
    """What a component's JavaScript sends once, as the browser would send it."""
    states = test._tree.get_widget_states()
    sent = json.dumps([{"event": event, "value": value}])
    states.widgets.add(id=_make_trigger_id(node.proto.id, "events"), json_trigger_value=sent)
    test._run(states)


def tell(test: AppTest, node: Any, state: dict[str, Any]) -> None:
    """What a component's JavaScript holds, as the browser would send it once it has answered the server's request."""
    states = test._tree.get_widget_states()
    number = unframe(node.proto.bytes)[0]["asked"]["number"]
    sent = {name: {"request": number, **held} if isinstance(held, dict) else held for name, held in state.items()}
    states.widgets.add(id=node.proto.id, json_value=json.dumps(sent))
    test._run(states)


def headers(test: AppTest) -> list[dict[str, Any]]:
    """What every attention browser on the page received: the headers of their bytes."""
    sent = [node.proto.bytes for node in test.get("bidi_component") if node.proto.bytes]
    found = [unframe(data)[0] for data in sent]
    return [header for header in found if "asked" in header]


def typed(test: AppTest, name: str = "sentence") -> str | None:
    """The text that a box shows; None where there is no such box."""
    return box(test, name).get("text")


def box(test: AppTest, name: str = "sentence") -> dict[str, Any]:
    """What a box was asked to show; nothing where there is no such box."""
    reported = [json.loads(node.proto.json) for node in test.get("bidi_component") if node.proto.json]
    return next((data for data in reported if data.get("name") == name), {})


def chooser(test: AppTest, key: str) -> Selectbox:
    """The box with this key, whose options come from a text; their own part of the key comes after it."""
    return next(each for each in test.selectbox if re.fullmatch(f"{key}_[0-9a-f]{{8}}", each.key or ""))


def healthy(test: AppTest, *, warned: bool = False) -> bool:
    """Nothing went wrong.

    Args:
        warned: whether a message says that something cannot be done; what is said of a translation does not count.
    """
    return not test.exception and not test.error and refused(test) == warned


def refused(test: AppTest) -> bool:
    """Whether a message says that something cannot be done."""
    return any(each.icon != OF_A_TRANSLATION for each in test.warning)


def texts(test: AppTest) -> str:
    """All text that may hold markup."""
    kinds = ("markdown", "caption", "header", "subheader", "info", "warning")
    return "\n".join(element.value for kind in kinds for element in getattr(test, kind))


def unescaped(test: AppTest) -> str:
    """The same without what a backslash makes a character of a text."""
    return without_escapes(texts(test))


def without_escapes(shown: str) -> str:
    """Markdown without what a backslash makes a character of a text."""
    return re.sub(r"\\[!-/:-@[-`{-~]", "", shown)


def expand(test: AppTest) -> AppTest:
    """Open every part of the page that is drawn once it is opened."""
    closed = [each.proto.id for each in test.expander if each.proto.id and not each.proto.expanded]
    if closed:
        states = test._tree.get_widget_states()
        for part in closed:
            states.widgets.add(id=part, bool_value=True)
        test._run(states)
    return test


def table(test: AppTest, *columns: str) -> pd.DataFrame:
    """The first table that has these columns, which may be in a closed part of the page."""
    def found() -> pd.DataFrame | None:
        return next((each.value for each in test.dataframe if set(columns) <= set(each.value.columns)), None)

    shown = found()
    if shown is None:
        expand(test)
        shown = found()
    assert shown is not None, f"no table has the columns {columns}"
    return shown


def written(node: Any) -> pd.DataFrame:
    """A table as it is drawn: the text of every cell."""
    columns = json.loads(node.proto.columns or "{}")
    formats = {name: each.get("type_config", {}).get("format") for name, each in columns.items()}
    shown = node.proto.arrow_data.styler.display_values
    texts = dataframe_util.convert_arrow_bytes_to_pandas_df(shown) if shown else node.value
    return pd.DataFrame({
        name: [form % value for value in column] if (form := formats.get(name)) and form[-1] in "ef" else texts[name]
        for name, column in node.value.items()
    })


def same_numbers(shown: Any, computed: Any) -> None:
    """The app may run on a GPU and the test on the CPU: the same numbers, up to rounding."""
    np.testing.assert_allclose(shown, computed, rtol=1e-4, atol=5e-6)


def figures(test: AppTest) -> tuple[int, int]:
    """Number of figures, Plotly's and Altair's; all of them say in words what they show."""
    plotly, altair = test.get("plotly_chart"), test.get("vega_lite_chart")
    assert all(node.proto.alt for node in (*plotly, *altair))
    return len(plotly), len(altair)
