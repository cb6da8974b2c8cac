"""Names the places in a lesson's figure, such as cells and bars, and checks that they show the lesson's values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.analysis.view import View, view_of
from transformer.lessons.claims.decoding import token_name
from transformer.lessons.claims.registry import Finding, Value
from transformer.lessons.claims.runs import PARTS
from transformer.lessons.evidence import Evidence, column_names, name, row_names
from transformer.lessons.lesson import LessonStep
from transformer.lessons.tables import TABLES, Table
from transformer.lessons.template import fill, names
from transformer.values.interventions import AS_TRAINED
from transformer.values.tokens import Token
from transformer.values.trace import Kind

# Relative tolerance within which two numbers count as equal. The absolute tolerance is a tenth as large.
TOLERANCE = 1e-3
# Names of the two values that identify a figure's head.
HEAD = ("layer", "head")


@dataclass(frozen=True)
class FigureValue:
    """A value that a figure shows: in a cell, as a bar, or as a quantity such as the number of rows.

    Attributes:
        value: the value shown.
        labels: labels next to the value.
    """

    value: Value
    labels: tuple[str, ...] = ()


def places_of(
    show: str, figure: Mapping[str, Any], evidence: Evidence, head: tuple[int, int] | None
) -> Mapping[str, FigureValue]:
    """Return the values that a figure shows, keyed by place: the name of the cell, bar or label that shows the value.

    If two places have the same name, only the first is kept.

    Args:
        show, figure: name and parameters of a step's figure, after the values that they quote have been filled in.
        evidence: the step's sentence and the model.
        head: 0-based layer and head of a map; None for a figure without a head.
    """
    if show == "map":
        assert head is not None, "a map has a head"
        return _map_places(evidence, figure["kind"], head, figure.get("bars", ""))
    if show == "without":
        assert head is not None, "the figure shows a head's two maps"
        return _without_places(evidence, figure["kind"], head, figure["part"], figure.get("job", ""))
    return _table_places(TABLES[show](evidence, **figure))


def values_not_shown(
    step: LessonStep, finding: Finding, places: Mapping[str, FigureValue], head: tuple[int, int] | None
) -> list[str]:
    """Return messages, with advice, about values that the answer names but the figure does not show.

    Errors in `carried_by` are also reported.

    Args:
        step: step of the lesson.
        finding: measured values of the step's claim.
        places: values that the step's figure shows, by place name.
        head: 0-based layer and head that the figure shows; None for a figure without a head.
    """
    wrong, carried, labels = [], set[str](), set[Value]()
    for value, template in step.carried_by.items():
        at = fill(template, finding.values)
        if at not in places:
            wrong.append(
                f"carried_by says that {at!r} shows {value}, but the figure has no cell, bar or label of this name; "
                f"{_list_places(places)}"
            )
        elif not _is_equal(finding.values[value], places[at]):
            wrong.append(
                f"carried_by says that {at!r} shows {value}, but the claim measures "
                f"{_format_value(finding.values[value])} and the figure shows {_format_value(places[at].value)}: "
                "choose another cell, bar or label"
            )
        else:
            carried |= {value, *names(template)}
            labels |= {places[at].value, *places[at].labels}
    carried |= {each for each, value in finding.values.items() if isinstance(value, str) and value in labels}
    carried |= {each for each, value in finding.values.items() if step.figure.get(each) == value}
    if head is not None and tuple(finding.values.get(each) for each in HEAD) == (head[0] + 1, head[1] + 1):
        carried |= set(HEAD)
    quoted_names = names(step.reveal) - names(step.look_for) - names(step.question)
    quoted_names |= {step.guess} if step.guess else names(step.answer)
    missing = sorted(quoted_names - carried - set(step.carried_by))
    if missing:
        wrong.append(
            f"carried_by does not say where the figure shows {', '.join(missing)}, which the answer names; "
            + "; ".join(_advice(each, finding.values[each], places) for each in missing)
        )
    elif not step.carried_by:
        wrong.append("carried_by is missing: add a value of the claim and the place in the figure that shows it")
    return wrong


def _advice(value: str, measured: Value, places: Mapping[str, FigureValue]) -> str:
    matching = [at for at, place in places.items() if _is_equal(measured, place)]
    if not matching:
        return (
            f"the figure does not show {value} ({_format_value(measured)}): choose another figure, or remove the "
            "value from the answer"
        )
    # Prefer a cell, bar or label whose name contains the value's name.
    at = min(matching, key=lambda at: value not in at)
    return f"add to carried_by where the figure shows {value}, for example {value} = {at!r}"


def _is_equal(value: Value, place: FigureValue) -> bool:
    if isinstance(value, str):
        return value in (place.value, *place.labels)
    return not isinstance(place.value, str) and bool(
        np.isclose(value, place.value, rtol=TOLERANCE, atol=TOLERANCE / 10)
    )


def _format_value(value: Value) -> str:
    return repr(value) if isinstance(value, str) else f"{value:.4g}"


def _list_places(places: Mapping[str, FigureValue]) -> str:
    names = list(places)
    return f"the places in this figure are: {', '.join(map(repr, names[:6]))}" + (" …" if len(names) > 6 else "")


def _map_places(evidence: Evidence, kind: Kind, at: tuple[int, int], bars: str) -> dict[str, FigureValue]:
    view, trace = evidence.view(kind), evidence.trace()
    layers, heads = trace.attention(kind).shape[:2]
    mask = view.mask
    places = _cells(view, view.weights[at]) | {
        "layers": FigureValue(layers),
        "heads in a layer": FigureValue(heads),
        "heads": FigureValue(layers * heads),
        "rows": FigureValue(len(mask)),
        "columns": FigureValue(mask.shape[1]),
        "cells": FigureValue(mask.size),
        "masked cells": FigureValue(int((~mask).sum())),
        "last row": FigureValue(row_names(view)[-1]),
    }
    if bars:
        shares = evidence.shares(kind, bars)
        places |= {"bar": FigureValue(float(shares[at])), "mean of the bars": FigureValue(float(shares.mean()))}
    for group, label in zip(view.axes.column_positions, column_names(view), strict=True):
        mean = trace.attention(kind)[at][:, list(group)].sum(axis=-1).mean()
        places.setdefault(f"mean of column {label}", FigureValue(float(mean), (label,)))
    return places


def _without_places(evidence: Evidence, kind: Kind, at: tuple[int, int], part: str, job: str) -> dict[str, FigureValue]:
    places: dict[str, FigureValue] = {}
    for title, interventions in (("with", AS_TRAINED), ("without", PARTS[part])):
        view = view_of(evidence.trace(interventions=interventions), kind)
        places |= {f"{title}: {cell}": place for cell, place in _cells(view, view.weights[at]).items()}
        if job:
            places[title] = FigureValue(float(evidence.shares(kind, job, interventions=interventions)[at]))
    return places


def _cells(view: View, weights: np.ndarray) -> dict[str, FigureValue]:
    """Return all cells of a map and, for each row, the sum of its weights and the number of its unmasked cells."""
    places: dict[str, FigureValue] = {}
    columns = column_names(view)
    for number, row in enumerate(row_names(view)):
        for row_name in (row, f"step {number + 1}"):
            places.setdefault(f"sum of {row_name}", FigureValue(float(weights[number].sum()), (row,)))
            places.setdefault(f"cells of {row_name}", FigureValue(int(view.mask[number].sum()), (row,)))
            for column, weight in zip(columns, weights[number], strict=True):
                places.setdefault(f"{row_name} -> {column}", FigureValue(float(weight), (row, column)))
    return places


def _table_places(table: Table) -> dict[str, FigureValue]:
    places = {total: FigureValue(value, (total,)) for total, value in table.totals.items()}
    for row, label in enumerate(table.labels):
        row_label = _label(label, table.text)
        for title, values in table.columns.items():
            place = FigureValue(values[row], (row_label, title))
            places.setdefault(f"{row_label} / {title}", place)
            if len(table.columns) == 1:
                places.setdefault(row_label, place)
    return places


def _label(label: str | tuple[Token, ...], text: str) -> str:
    if isinstance(label, str):
        return label
    # Next-token candidates do not occur in any text, so their labels come from the tokens themselves.
    return name(label, text) if text or label[0].special else token_name(label[0])
