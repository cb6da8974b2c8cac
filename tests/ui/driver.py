"""The app driven without a browser, with the model that ships."""

from __future__ import annotations

import pandas as pd
from streamlit.testing.v1 import AppTest

DREAM = "I have a dream."
# Section 7 of the design: what can be read, and must be shown as itself.
HOSTILE = [
    "x", "🙂", "👩‍👩‍👧 🇩🇪", "שלום עולם", "مرحبا بالعالم",
    "日本語の文", "e\u0301\u0323", "?!...,;", "<b>x</b>",
    '"><script>alert(1)</script>', "&amp; &lt;", "a\x00b", "</s> <s>", "▁ a▁b", r"$\frac{a}{b}$",
    "# **md** [x](http://y) `c` :smile: :red[x]",
    "https://example.org/?a=b&c=d", "a\tb\nc", "dog " * 50, "'); DROP TABLE", "{{x}} ${y} %s", "\ufeffbom", "ﬁ… “q”",
]
MARKUP = ("<b>", "<script", "](http", ":smile:", "$\\frac", ":red[")
# And what cannot.
UNREADABLE = ["", "  ", "\x00", "word " * 1000]
# Values of an address that stand for nothing.
RUBBISH = ["", "0", "-1", "99999", "1e9", "nan", "²", "9" * 400, "<b>", "1.2.3", "٣"]


def opened(page: str = "pages/translate.py", **address: str) -> AppTest:
    """The app, opened at a page with an address."""
    test = AppTest.from_file("../../app.py", default_timeout=240)
    for key, value in address.items():
        test.query_params[key] = value
    return test.run().switch_page(page).run()


def submit(test: AppTest, text: str) -> None:
    """Type a sentence and press the button of the form."""
    test.text_input("text").set_value(text)
    next(button for button in test.button if button.label == "Translate").click()
    test.run()


def healthy(test: AppTest) -> bool:
    return not test.exception and not test.error


def texts(test: AppTest) -> str:
    """All text that may hold markup."""
    kinds = ("markdown", "caption", "header", "subheader", "info")
    return "\n".join(element.value for kind in kinds for element in getattr(test, kind))


def table(test: AppTest, *columns: str) -> pd.DataFrame:
    """The first table that has these columns."""
    return next(each.value for each in test.dataframe if set(columns) <= set(each.value.columns))


def figures(test: AppTest) -> tuple[int, int]:
    """Number of figures, Plotly's and Altair's; all of them say in words what they show."""
    plotly, altair = test.get("plotly_chart"), test.get("vega_lite_chart")
    assert all(node.proto.alt for node in (*plotly, *altair))
    return len(plotly), len(altair)
