"""The figure of a step: what it may show, with which parameters, and whether a model has what they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.errors import LessonError
from transformer.lessons.claims.ablation import check_removable
from transformer.lessons.claims.attribution import named_words
from transformer.lessons.claims.runs import PARTS
from transformer.lessons.document import quoted
from transformer.lessons.evidence import Evidence
from transformer.values.trace import KINDS

# What a step may show, and its parameters: which are needed, and which may be left out.
FIGURES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "map": (frozenset({"kind", "head"}), frozenset({"row"})),
    "without": (frozenset({"kind", "head", "part"}), frozenset()),
    "scores": (frozenset({"kind", "head", "row"}), frozenset()),
    "example": (frozenset({"score", "other", "width"}), frozenset()),
    "candidates": (frozenset({"step"}), frozenset()),
    "probabilities": (frozenset(), frozenset()),
    "translations": (frozenset(), frozenset()),
    "norms": (frozenset({"kind", "head"}), frozenset()),
    "learning": (frozenset(), frozenset()),
    "worth": (frozenset(), frozenset()),
    "removed": (frozenset({"count"}), frozenset()),
    "needed": (frozenset(), frozenset()),
}
SCORES, COUNTS = range(-1_000_000, 1_000_001), range(1, 1_000_001)
# A text, one of some texts, or a whole number of a range. How many steps and heads there are, the model says.
FIGURE_VALUES: Mapping[str, type[str] | tuple[str, ...] | range] = {
    "kind": KINDS, "head": str, "row": str, "part": tuple(PARTS), "score": SCORES, "other": SCORES, "width": COUNTS,
    "step": COUNTS, "count": COUNTS,
}


def read_figure(where: str, step: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """What a step of a file shows, and the parameters.

    Raises:
        LessonError: no such figure, or not with these.
    """
    figure = step.get("figure")
    if not isinstance(figure, dict) or "show" not in figure:
        raise LessonError(f"{where}: the figure is missing; write figure = {{ show = … }} with {', '.join(FIGURES)}")
    if figure["show"] not in list(FIGURES):
        raise LessonError(
            f"{where}: the figure shows {quoted(figure['show'])}; it must be one of: {', '.join(FIGURES)}"
        )
    parameters = {key: value for key, value in figure.items() if key != "show"}
    needed, optional = FIGURES[figure["show"]]
    what = f"{where}: the figure {figure['show']}"
    if parameters.keys() - needed - optional or needed - parameters.keys():
        takes = ", ".join([*sorted(needed), *(f"{one} (optional)" for one in sorted(optional))]) or "nothing"
        raise LessonError(f"{what} takes {takes}; the lesson gives {', '.join(sorted(parameters)) or 'nothing'}")
    for key, value in parameters.items():
        _check_value(f"{what} has {key} = {quoted(value)}; it must be", value, FIGURE_VALUES[key])
    return figure["show"], parameters


def _check_value(said: str, value: object, wanted: type[str] | tuple[str, ...] | range) -> None:
    if isinstance(wanted, tuple):
        if value not in wanted:
            raise LessonError(f"{said} one of: {', '.join(wanted)}")
    elif isinstance(wanted, range):
        if type(value) is not int or value not in wanted:
            raise LessonError(f"{said} a whole number from {wanted[0]:,} to {wanted[-1]:,}")
    elif type(value) is not wanted:
        raise LessonError(f"{said} a text")


def check_figure(show: str, parameters: Mapping[str, Any], evidence: Evidence) -> None:
    """Look up on a model and a sentence all that a figure names, as it is looked up when the figure is drawn.

    Args:
        show, parameters: of `read_figure`.

    Raises:
        AtlasError: something is not there; the message says what.
    """
    if "head" in parameters:
        head = evidence.head(parameters["kind"], parameters["head"])
        if "row" in parameters:
            evidence.row(parameters["kind"], parameters["row"], head)
    if show == "without":
        evidence.trace(interventions=PARTS[parameters["part"]])
    elif show == "candidates":
        evidence.step(parameters["step"])
    elif show == "removed":
        check_removable(evidence, parameters["count"])
    elif show == "needed":
        named_words(evidence)
    elif show == "learning":
        evidence.curve()
