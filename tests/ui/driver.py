"""Drives the app with AppTest, without a browser."""

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
# A translation of DREAM for the narrow model, whose own translation is long and meaningless.
GIVEN = {"target": "Ich habe einen Traum."}
# Texts that the model can read, and that pages must show literally.
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
# Markup in all syntaxes on one line, so that one script run of a page checks them all.
MIXED = '# **b** <b>x</b> "><script>x [x](http://y) $\\frac{a}{b}$ :smile: :red[x] \u202e'
MARKUP = ("<b>", "<script", "](http", ":smile:", "$\\frac", ":red[", "\u202e")
# Words with a meaning in JavaScript or in Vega expressions.
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
# Icon of a warning that concerns the translation.
OF_A_TRANSLATION = ":material/warning:"
# Texts that the model cannot read.
UNREADABLE = ["", "  ", "\x00", "word " * 1000]
# Invalid values for a URL parameter.
INVALID_VALUES = ["", "0", "-1", "99999", "1e9", "nan", "²", "9" * 400, "<b>", "1.2.3", "٣"]


def opened(page: str = FIRST, **address: str) -> AppTest:
    """Return the app after its first script run, opened at a page with URL parameters."""
    test = AppTest.from_file("../../app.py", default_timeout=240)
    for key, value in address.items():
        test.query_params[key] = value
    # app.py opens the first page. To open another page, AppTest needs the path of the page's file.
    return (test if page == FIRST else test.switch_page(page)).run()


def messages(test: AppTest, field: str) -> list[tuple[Any, dict[str, Any]]]:
    """Return the components that received a message with this field, each with its message."""
    nodes = [node for node in test.get("bidi_component") if node.proto.json]
    found = [(node, json.loads(node.proto.json)) for node in nodes]
    return [(node, data) for node, data in found if field in data]


def drawn_maps(test: AppTest) -> list[dict[str, Any]]:
    """Return the maps that the page shows side by side; empty if there are none."""
    return next((data["sides"] for _, data in messages(test, "sides")), [])


def submit(test: AppTest, text: str, name: str = "sentence") -> None:
    """Type a text into a text box, and press Enter.

    Args:
        name: name of the text box, such as "sentence", or "another" for the user's own translation.
    """
    (node,) = (node for node, data in messages(test, "name") if data["name"] == name)
    send(test, node, "submitted", text)


def send(test: AppTest, node: Any, event: str, value: Any) -> None:
    """Send an event from a component's JavaScript, as the browser would."""
    states = test._tree.get_widget_states()
    sent = json.dumps([{"event": event, "value": value}])
    states.widgets.add(id=_make_trigger_id(node.proto.id, "events"), json_trigger_value=sent)
    test._run(states)


def tell(test: AppTest, node: Any, state: dict[str, Any]) -> None:
    """Send a state from a component's JavaScript, as the browser does in answer to a server request."""
    states = test._tree.get_widget_states()
    number = unframe(node.proto.bytes)[0]["asked"]["number"]
    sent = {name: {"request": number, **held} if isinstance(held, dict) else held for name, held in state.items()}
    states.widgets.add(id=node.proto.id, json_value=json.dumps(sent))
    test._run(states)


def headers(test: AppTest) -> list[dict[str, Any]]:
    """Return the header of every message that an attention browser on the page received."""
    sent = [node.proto.bytes for node in test.get("bidi_component") if node.proto.bytes]
    found = [unframe(data)[0] for data in sent]
    return [header for header in found if "asked" in header]


def typed(test: AppTest, name: str = "sentence") -> str | None:
    """Return the text in a text box, or None if the box is not on the page."""
    return box(test, name).get("text")


def box(test: AppTest, name: str = "sentence") -> dict[str, Any]:
    """Return the message that a text box received; empty if the box is not on the page."""
    return next((data for _, data in messages(test, "name") if data["name"] == name), {})


def chooser(test: AppTest, key: str) -> Selectbox:
    """Return the select box with the given key, ignoring the suffix that identifies its options."""
    return next(each for each in test.selectbox if re.fullmatch(f"{key}_[0-9a-f]{{8}}", each.key or ""))


def healthy(test: AppTest, *, warned: bool = False) -> bool:
    """Return whether the page shows no error, and warns about invalid input only if this is expected.

    Args:
        warned: whether a warning about invalid input is expected; warnings about a translation are ignored.
    """
    return not test.exception and not test.error and refused(test) == warned


def refused(test: AppTest) -> bool:
    """Return whether a warning reports invalid input."""
    return any(each.icon != OF_A_TRANSLATION for each in test.warning)


def texts(test: AppTest) -> str:
    """Return all texts on the page that may contain markup."""
    kinds = ("markdown", "caption", "header", "subheader", "info", "warning")
    return "\n".join(element.value for kind in kinds for element in getattr(test, kind))


def unescaped(test: AppTest) -> str:
    """Return all texts on the page, with Markdown's backslash escapes removed."""
    return without_escapes(texts(test))


def without_escapes(shown: str) -> str:
    return re.sub(r"\\[!-/:-@[-`{-~]", "", shown)


def expand(test: AppTest) -> AppTest:
    """Open all expanders that render their content only when they are opened."""
    closed = [each.proto.id for each in test.expander if each.proto.id and not each.proto.expanded]
    if closed:
        states = test._tree.get_widget_states()
        for part in closed:
            states.widgets.add(id=part, bool_value=True)
        test._run(states)
    return test


def table(test: AppTest, *columns: str) -> pd.DataFrame:
    """Return the first table with these columns. If necessary, open the expanders first."""

    def found() -> pd.DataFrame | None:
        return next((each.value for each in test.dataframe if set(columns) <= set(each.value.columns)), None)

    shown = found()
    if shown is None:
        expand(test)
        shown = found()
    assert shown is not None, f"no table has the columns {columns}"
    return shown


def written(node: Any) -> pd.DataFrame:
    """Return a table with the displayed text of each cell."""
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
    """Assert that numbers match approximately. The app may compute them on a GPU, and the test on the CPU."""
    np.testing.assert_allclose(shown, computed, rtol=1e-4, atol=5e-6)


def figures(test: AppTest) -> tuple[int, int]:
    """Return the numbers of Plotly charts and of Altair charts, and check that each chart has a text description."""
    plotly, altair = test.get("plotly_chart"), test.get("vega_lite_chart")
    assert all(node.proto.alt for node in (*plotly, *altair))
    return len(plotly), len(altair)
