"""Parses a lesson step's figure, and checks that the model and the sentence contain everything the figure names."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from transformer.errors import LessonError
from transformer.lessons.claims.runs import PARTS
from transformer.lessons.document import quoted
from transformer.lessons.evidence import JOBS, LATER_TOKENS, Evidence
from transformer.lessons.tables import TABLES
from transformer.values.trace import KINDS


def _parameters(show: str) -> tuple[frozenset[str], frozenset[str]]:
    arguments = list(signature(TABLES[show]).parameters.values())[1:]
    needed = frozenset(argument.name for argument in arguments if argument.default is Parameter.empty)
    return needed, frozenset(argument.name for argument in arguments) - needed


# Figures that a step can show, each with its required and its optional parameters.
FIGURES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "map": (frozenset({"kind", "head"}), frozenset({"row", "bars"})),
    "without": (frozenset({"kind", "head", "part"}), frozenset({"job"})),
    **{show: _parameters(show) for show in TABLES},
}
SCORES, COUNTS, STEPS = range(-1_000_000, 1_000_001), range(1, 1_000_001), range(1_000_001)
# Valid values of each parameter: any text, one of several texts, a number, or an integer in a range. Steps must also
# exist in the translation, and heads in the loaded model.
FIGURE_VALUES: Mapping[str, type[str] | type[float] | tuple[str, ...] | range] = {
    "kind": KINDS,
    "head": str,
    "row": str,
    "part": tuple(PARTS),
    "score": SCORES,
    "other": SCORES,
    "width": COUNTS,
    "step": COUNTS,
    "count": COUNTS,
    "until": STEPS,
    "beam_size": COUNTS,
    "temperature": float,
    "bars": tuple(JOBS),
    "of": tuple(JOBS),
    "job": (*JOBS, LATER_TOKENS),
    "word": str,
    "column": str,
    "than": str,
    "hide": str,
    "hide_other": str,
}
# Figures in which the parameter `other` is a sentence. In all other figures, `other` is a score.
OTHER_SENTENCE = ("numbers", "vectors", "orders", "patched", "preferred")
TOGETHER = frozenset({"kind", "head"})


def read_figure(where: str, step: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a step's figure.

    Raises:
        LessonError: there is no such figure, or the figure does not accept these parameters.
    """
    figure = step.get("figure")
    if not isinstance(figure, dict) or "show" not in figure:
        raise LessonError(
            f"{where}: the figure is missing; write figure = {{ show = … }} with one of: {', '.join(FIGURES)}"
        )
    if figure["show"] not in list(FIGURES):
        raise LessonError(f"{where}: show is {quoted(figure['show'])}; it must be one of: {', '.join(FIGURES)}")
    parameters = {key: value for key, value in figure.items() if key != "show"}
    needed, optional = FIGURES[figure["show"]]
    what = f"{where}: the figure {figure['show']}"
    if parameters.keys() - needed - optional or needed - parameters.keys():
        takes = ", ".join([*sorted(needed), *(f"{one} (optional)" for one in sorted(optional))]) or "nothing"
        raise LessonError(f"{what} accepts {takes}, but the lesson sets {', '.join(sorted(parameters)) or 'nothing'}")
    if optional >= TOGETHER and len(TOGETHER & parameters.keys()) == 1:
        raise LessonError(f"{what} needs both kind and head, or neither")
    if "part" in parameters and "head" in parameters and "part" in optional:
        raise LessonError(f"{what} accepts either a part, or a kind and a head")
    for key, value in parameters.items():
        wanted = str if key == "other" and figure["show"] in OTHER_SENTENCE else FIGURE_VALUES[key]
        _check_value(f"{what} has {key} = {quoted(value)}; it must be", value, wanted)
    return figure["show"], parameters


def _check_value(what: str, value: object, wanted: type[str] | type[float] | tuple[str, ...] | range) -> None:
    if isinstance(wanted, tuple):
        if value not in wanted:
            raise LessonError(f"{what} one of: {', '.join(wanted)}")
    elif isinstance(wanted, range):
        if type(value) is not int or value not in wanted:
            raise LessonError(f"{what} a whole number from {wanted[0]:,} to {wanted[-1]:,}")
    elif wanted is float:
        if type(value) not in (int, float):
            raise LessonError(f"{what} a number")
    elif type(value) is not str:
        raise LessonError(f"{what} a string")


def check_figure(show: str, parameters: Mapping[str, Any], evidence: Evidence) -> None:
    """Check that everything a figure names exists for this model and sentence. A table is checked by computing it.

    Args:
        show, parameters: figure name and parameters, from `read_figure`.
        evidence: the step's sentence and the model.

    Raises:
        AtlasError: the figure names something that does not exist; the message says what.
    """
    for job in (parameters.get("bars"), parameters.get("job")):
        if job:
            evidence.shares(parameters["kind"], job)
    if "head" in parameters:
        head = evidence.head(parameters["kind"], parameters["head"])
        if "row" in parameters:
            evidence.row(parameters["kind"], parameters["row"], head)
    if show in TABLES:
        TABLES[show](evidence, **parameters)
    elif show == "without":
        evidence.trace(interventions=PARTS[parameters["part"]])
