"""The strip: a heat map of scores with a row per attribution method and a column per source or translated word."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import LEGEND, label_angle, label_positions, labelled_axis
from pages.ui.charts.palette import DARK, DIVERGING, LIGHT, MASKED, PICKED, conditional_colour, diverging, sequential
from pages.ui.text.number_format import DECIMALS, typeset
from pages.ui.what_mattered.methods import has_scores, title, unit_and_sum
from pages.ui.what_mattered.question import AttributionQuestion, label_markdown
from transformer.attribution.attribution import METHODS, Attribution
from transformer.text.languages import Languages

NOT_HIDEABLE, UNDECIDED = "cannot be hidden", "no vector is close to the sum of all vectors"
ROW, MARGIN = 42, 190
# Cells contain numbers only if there are at most this many columns.
MAX_NUMBERS = 22
# Widths of a number in a cell, in pixels: on the page, and in lecture mode.
NUMBER, LARGE_NUMBER = 30, 52
# A chart narrower than this, in pixels, is considered to be on a phone.
PHONE = 480
# Length of a legend's colour bar, in pixels, if the strip is narrow.
SHORT_LEGEND = 62
# Space for the number at the end of a bar, in pixels.
BAR_NUMBER = 40
# Erasure effects smaller than this, in nats, are not reported as numbers.
NOTICEABLE = 0.05


def side_names(languages: Languages) -> tuple[str, str]:
    """Return the titles of the strip's two sides: the source language, and the translation so far."""
    return languages.source.name, f"{languages.target.name} so far"


def strip_table(question: AttributionQuestion, attributions: Sequence[Attribution]) -> pd.DataFrame:
    """Return a table of all scores with one row per cell of the strip.

    Returns:
        A table with the columns method, unit, row, column, side, number, word, score, scaled, signed, first and shown.
        Row and column are 1-based positions in the chart; number is the word's 1-based position in its sentence. The
        score is NaN if the method has none. "scaled" is the score divided by the largest magnitude in the row. If the
        method scores the two sides separately, the divisor is the largest magnitude on the same side. "first" is
        true if the method ranks this source word first.
    """
    source, prefix = side_names(question.languages)
    cells = []
    for row, each in enumerate(attributions, start=1):
        properties = METHODS[each.method]
        sides = {source: each.source[0], prefix: each.prefix[0, : len(question.prefix)]}
        most = {side: _largest(scores) for side, scores in sides.items()}
        if properties.adds_up != "separately":
            most = dict.fromkeys(most, max(most.values()))
        answers = has_scores(each) and each.source[0].any()
        first = int(each.source[0].argmax()) if answers else -1
        labels = {source: question.source_labels, prefix: question.prefix_labels}
        for side, scores in sides.items():
            offset = 1 if side == source else len(question.source) + 2
            for number, (score, label) in enumerate(zip(scores.tolist(), labels[side], strict=True)):
                missing = NOT_HIDEABLE if properties.measured else UNDECIDED
                cells.append(
                    {
                        "method": title(each.method),
                        "unit": properties.unit,
                        "row": row,
                        "column": offset + number,
                        "side": side,
                        "number": number + 1,
                        "word": label,
                        "score": score,
                        "scaled": score / most[side] if most[side] else 0.0 * score,
                        "signed": properties.signed,
                        "first": side == source and number == first,
                        "shown": typeset(score, DECIMALS) if np.isfinite(score) else missing,
                    }
                )
    return pd.DataFrame(cells)


def strip_chart(
    question: AttributionQuestion, attributions: Sequence[Attribution], table: pd.DataFrame, *, large: bool = False
) -> alt.LayerChart:
    """Return the strip as a heat map with one row per method and one column per word.

    Args:
        table: the result of `strip_table`.
        large: whether to use lecture mode's large font; fewer numbers then fit into the cells.
    """
    rows = [
        [title(attribution.method), *([] if large else [unit_and_sum(attribution)])] for attribution in attributions
    ]
    number = LARGE_NUMBER if large else NUMBER
    columns = [*question.source_labels, "", *question.prefix_labels]
    # On a phone, rows are labelled with the method's title only, so that the columns have room.
    name = "row_labels[datum.value - 1]"
    row_axis, row_names = labelled_axis(
        "row_labels",
        rows,
        labelExpr=f"containerSize()[0] < {PHONE} ? {name}[0] : {name}",
        labelLimit=210,
        labelLineHeight=14,
    )
    column_axis, column_names = labelled_axis(
        "column_labels", columns, values=label_positions(columns), orient="top", **label_angle(columns)
    )
    numbers = table.assign(
        text=[typeset(round(score, 2) + 0.0) if np.isfinite(score) else "–" for score in table.score],
        ink=[_ink(signed, scaled) for signed, scaled in zip(table.signed, table.scaled, strict=True)],
    )
    base = alt.Chart(numbers).encode(
        x=alt.X("column:O", title=None, axis=column_axis, scale=alt.Scale(domain=list(range(1, len(columns) + 1)))),
        y=alt.Y("row:O", title=None, axis=row_axis),
        tooltip=[
            alt.Tooltip("method:N"),
            alt.Tooltip("side:N"),
            alt.Tooltip("word:N"),
            alt.Tooltip("shown:N", title="score"),
            alt.Tooltip("unit:N"),
        ],
    )
    finite = base.transform_filter("isValid(datum.score)")
    # Shorten the legends on a phone, so that both fit side by side.
    length = alt.expr(f"containerSize()[0] < {PHONE} ? {SHORT_LEGEND} : 140")
    layers = [
        finite.transform_filter("datum.signed" if signed else "!datum.signed")
        .mark_rect()
        .encode(
            color=alt.Color(
                "scaled:Q", scale=scale, legend=alt.Legend(title=legend, **{**LEGEND, "gradientLength": length})
            )
        )
        for signed, scale, legend in (
            # Both legend titles state that colours are relative to the row.
            (False, sequential(), ["share,", "1 = the row’s", "largest"]),
            (True, diverging(1.0), ["against … for,", "±1 = the row’s", "largest"]),
        )
        if (table.signed == signed).any()
    ]
    layers.append(base.transform_filter("!isValid(datum.score)").mark_rect(color=MASKED))
    if len(columns) <= MAX_NUMBERS:
        # The browser decides whether the numbers fit and hides them if not, because only it knows the chart's width.
        number_opacity = alt.expr(f"width >= {number * len(columns)} ? 1 : 0")
        layers.append(
            base.mark_text(fontSize=11, opacity=number_opacity).encode(
                text="text:N", color=alt.Color("ink:N", scale=None)
            )
        )
    layers.append(base.transform_filter("datum.first").mark_rect(fillOpacity=0, stroke=PICKED, strokeWidth=3))
    line = pd.DataFrame({"column": [len(question.source) + 1]})
    layers.append(alt.Chart(line).mark_rule(color="currentColor", strokeWidth=2).encode(x="column:O"))
    # Add both parameters to one layer in a single call, because each call copies the layer.
    layers[0] = layers[0].add_params(row_names, column_names)
    height, meta = MARGIN + ROW * len(rows), {"embedOptions": {"renderer": "svg"}}
    return layer_charts(*layers, height=height, usermeta=meta).resolve_scale(color="independent")


def sum_table(attributions: Sequence[Attribution], languages: Languages) -> pd.DataFrame:
    """Return a table with a row per method: sums of source and prefix scores, remainders, expected total and error.

    Cells are NaN where a method does not define the value.
    """
    source, prefix = side_names(languages)
    rows = []
    for attribution in attributions:
        promised = METHODS[attribution.method].adds_up != "no"
        rows.append(
            {
                "method": title(attribution.method),
                "unit": METHODS[attribution.method].unit,
                source: float(np.nansum(attribution.source[0])),
                prefix: float(np.nansum(attribution.prefix[0])),
                **{name: float(part[0]) for name, part in attribution.remainders.items()},
                "should add up to": float(attribution.total[0]) if promised else np.nan,
                "off by": float(attribution.error()[0]) if promised else np.nan,
            }
        )
    table = pd.DataFrame(rows)
    ends = ["should add up to", "off by"]
    return columns_of(table, *(name for name in table.columns if name not in ends), *ends)


def columns_of(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the named columns of a table, in the order of `names`."""
    return pd.DataFrame({name: table[name] for name in names})


def compact_sums(table: pd.DataFrame, languages: Languages) -> pd.DataFrame:
    """Return a narrow version of a `sum_table`, which fits beside a chart and on a phone.

    Positions and biases share one column. Units and errors are left out, because the strip shows them.
    """
    source, prefix = side_names(languages)
    rest = [name for name in table.columns if name.endswith("positions") or name == "biases"]
    return pd.DataFrame(
        {
            "method": table.method,
            source: table[source],
            languages.target.name: table[prefix],
            "rest": table[rest].sum(axis=1, min_count=1),
            "total": table["should add up to"],
        }
    )


def part_table(attributions: Attribution, languages: Languages) -> pd.DataFrame:
    """Return a table of the parts that add up to an exact method's total: the words, and remainders such as biases."""
    parts = {
        f"{languages.source.name} words": float(attributions.source[0].sum()),
        f"{languages.target.name} words so far": float(attributions.prefix[0].sum()),
        **{_remainder_title(name, languages): float(part[0]) for name, part in attributions.remainders.items()},
    }
    return pd.DataFrame({"part": list(parts), "score": list(parts.values())})


def part_chart(table: pd.DataFrame, total_label: str, total: float) -> alt.LayerChart:
    """Return a bar chart of a `part_table`, plus a bar for the total; `total_label` is its name in the axis title."""
    shown_table = pd.concat([table, pd.DataFrame({"part": ["their sum"], "score": [total]})], ignore_index=True)
    shown_table["at"] = range(1, len(shown_table) + 1)
    shown_table["text"] = [typeset(score, "+.2f") for score in shown_table.score]
    axis, names = labelled_axis("part_labels", shown_table.part.tolist(), labelLimit=170)
    most = float(abs(shown_table.score).max() or 1.0)
    base = alt.Chart(shown_table).encode(
        y=alt.Y("at:O", title=None, axis=axis),
        x=alt.X(
            "score:Q",
            title=f"contribution to the {total_label}",
            axis=alt.Axis(grid=False, tickCount=3, labelColor="currentColor", titleColor="currentColor"),
            scale=alt.Scale(domain=[-most, most], padding=BAR_NUMBER),
        ),
        tooltip=["part:N", alt.Tooltip("score:Q", format=".4f")],
    )
    bars = base.mark_bar().encode(color=conditional_colour("datum.score > 0", DIVERGING[-1], DIVERGING[0]))
    style = {"fontSize": 12, "color": "currentColor"}
    numbers = [
        base.transform_filter("datum.score >= 0").mark_text(align="left", dx=4, **style).encode(text="text:N"),
        base.transform_filter("datum.score < 0").mark_text(align="right", dx=-4, **style).encode(text="text:N"),
    ]
    return layer_charts(bars.add_params(names), *numbers, height=60 + 30 * len(shown_table))


def describe_first_words(question: AttributionQuestion, attributions: Sequence[Attribution]) -> str:
    """Return Markdown that states which source word each method puts first."""
    firsts: dict[int, list[str]] = {}
    for attribution in attributions:
        # If all scores are 0, no word ranks first.
        if has_scores(attribution) and attribution.source[0].any():
            firsts.setdefault(int(attribution.source[0].argmax()), []).append(title(attribution.method))
    if not firsts:
        return "No method has an answer here."
    ranked = sorted(firsts, key=lambda column: -len(firsts[column]))
    count = sum(map(len, firsts.values()))
    best = ranked[0]
    if len(ranked) == 1:
        return f"**All {count}** methods put {_column_markdown(question, best)} first."
    rest = [
        f"{_join_names(firsts[column])} put{'s' * (len(firsts[column]) == 1)} {_column_markdown(question, column)} "
        "first"
        for column in ranked[1:]
    ]
    return (
        f"**{len(firsts[best])} of {count}** methods put {_column_markdown(question, best)} first; {'; '.join(rest)}."
    )


def describe_hiding(question: AttributionQuestion, attributions: Sequence[Attribution]) -> str:
    """Return Markdown that names the words whose erasure changes the score most; empty if no erasure was measured."""
    erasure = next((attribution for attribution in attributions if attribution.method == "erasure"), None)
    if erasure is None:
        return ""
    scores = erasure.source[0]
    most, least = int(scores.argmax()), int(scores.argmin())
    what = "the difference between the log-probabilities" if question.other else "the log-probability"
    sentence = f"Measured: without {_column_markdown(question, most)}, {what} falls by {scores[most]:.2f} nats"
    if scores[most] < NOTICEABLE:
        sentence = f"Measured: hiding any one {question.source_size} lowers {what} by less than {NOTICEABLE} nats"
    if scores[least] < -NOTICEABLE:
        sentence += f"; without {_column_markdown(question, least)}, it even rises by {-scores[least]:.2f}"
    return sentence + "."


def _column_markdown(question: AttributionQuestion, column: int) -> str:
    return f"**{label_markdown(question.source_labels[column])}**"


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _remainder_title(name: str, languages: Languages) -> str:
    sides = {"source positions": languages.source, "target positions": languages.target}
    return f"{sides[name].name} positions" if name in sides else name


def _largest(scores: np.ndarray) -> float:
    return float(np.nanmax(abs(scores))) if np.isfinite(scores).any() else 0.0


def _ink(signed: bool, scaled: float) -> str:
    """Return the text colour, dark or light, that is legible on a cell."""
    if not np.isfinite(scaled):
        return DARK
    if signed:
        return LIGHT if abs(scaled) > 0.75 else DARK
    return DARK if scaled > 0.6 else LIGHT
