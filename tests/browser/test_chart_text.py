"""Chromium tests: chart labels may be reserved words, formulas or markup."""

import sys
from urllib.parse import quote

import pytest

from tests.ui.driver import RESERVED

QUOTED = 'He said "if" to me.'
# Paths of pages, and how many charts with axes each page has.
PAGES = {
    "/cross_attention?": 2,
    "/compare_heads?compare_part=layers": 3,
    "/positional_encoding?positions_part=shuffled": 4,
    "/inside_a_layer?inside_part=cell": 2,
}


# JavaScript that returns the axis labels of all Vega charts inside elements that match the selector `within`. The
# result is false until `count` charts have labels. A single call reads all labels, because Vega redraws a chart once
# its width is known.
LABELS = """([within, count]) => {
    const charts = [...document.querySelectorAll(`${within} [data-testid=stVegaLiteChart]`)].map(
        chart => [...chart.querySelectorAll("svg .role-axis-label text")].map(text => text.textContent));
    const drawn = charts.filter(labels => labels.length);
    return drawn.length >= count && drawn;
}"""


def all_labels(reader, charts: int) -> list[list[str]]:
    """Return the axis labels of every chart on the page, once the expected number of charts is drawn.

    Args:
        charts: expected number of charts.
    """
    return reader.page.wait_for_function(LABELS, arg=["body", charts]).json_value()


def labels(reader, key: str) -> list[str]:
    """Return the axis labels of one chart, once the chart is drawn.

    Args:
        key: prefix of the chart's key; only charts that support selection have a key in the DOM.
    """
    found = reader.page.wait_for_function(LABELS, arg=[f"[class*='st-key-{key}']", 1]).json_value()
    return [label for chart in found for label in chart]


# A single page suffices in most test runs, because tests/ui/test_save_as.py checks the charts of every page.
@pytest.mark.parametrize(
    "path", [path if path.startswith("/cross") else pytest.param(path, marks=pytest.mark.thorough) for path in PAGES]
)
def test_charts_are_drawn_for_a_sentence_that_contains_a_reserved_word(reader, path):
    reader.open(f"{path}&text={quote(QUOTED)}")
    found = all_labels(reader, PAGES[path])
    assert any("if" in text for chart in found for text in chart)


# The sentence in QUOTED contains only one reserved word, so this test uses a sentence that contains all of them.
@pytest.mark.thorough
def test_every_reserved_word_can_be_a_chart_label(reader):
    reader.open(f"/compare_heads?compare_part=layers&words=true&text={quote(' '.join(RESERVED))}")
    for chart in all_labels(reader, 3):
        assert set(RESERVED) <= set(chart), set(RESERVED) - set(chart)


# Texts that could end or break a script, a string or an expression in some language.
BREAKING = ["\u2028", "\0", "</script>", "${x}", '"], datum["x', "a\\", "if", "🙂"]
BARS_ALONE = f"""
import pandas as pd
import streamlit as st

from pages.ui.lessons.charts import bars

for number, places in enumerate([["probability"], ["as trained", "without"]]):
    table = pd.DataFrame({{"next token": {BREAKING!r}}} | dict.fromkeys(places, 0.5))
    st.altair_chart(bars(table, "next token"), key=f"bars_{{number}}")
"""


@pytest.mark.thorough
def test_lesson_bars_are_drawn_with_any_labels(serve, visit, tmp_path):
    """No shipped lesson has bars with the labels in `BREAKING`, so a separate page shows such bars."""
    page = tmp_path / "bars.py"
    page.write_text(BARS_ALONE, encoding="utf-8")
    with serve((sys.executable, "-m", "streamlit", "run", page)) as address, visit(address) as reader:
        reader.page.goto(address)
        for chart in all_labels(reader, 2):
            assert [text for text in chart if ":" in text] == [
                f"{number}: {label}".strip() for number, label in enumerate(BREAKING, start=1)
            ]


# Marked thorough, because tests/unit/pages/test_chart_text.py checks the data sent to Plotly and Vega.
@pytest.mark.thorough
@pytest.mark.parametrize(
    "text", ["<b>x</b><br>$y$", "<b>x</b><br>y", "$x^2$ and $y$", "a &amp; %{y} {x}", "']; alert(1); ['"]
)
def test_plotly_and_vega_show_untrusted_labels_literally(reader, text):
    reader.open(f"/inside_a_layer?text={quote(text)}&inside_stage=encoder.self_attention.weights")
    ticks = reader.page.locator("[data-testid=stPlotlyChart] .ytick text")
    ticks.first.wait_for()
    assert reader.page.evaluate("typeof MathJax") == "undefined"
    plotly = [tick.lstrip("␣") for tick in ticks.all_text_contents()]
    reader.open(f"/inside_a_layer?text={quote(text)}&inside_part=cell")
    # The map has the same tokens on both axes.
    vega = [label.lstrip("␣") for label in labels(reader, "inside_map_")]
    assert plotly[:-1] == vega[: len(plotly) - 1] and "".join(plotly[:-1]).replace("␣", "") == text.replace(" ", "")
