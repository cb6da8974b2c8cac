"""Registers claims by name, and validates the parameters that lessons pass to claims."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from transformer.errors import LessonError
from transformer.lessons.document import quoted
from transformer.lessons.evidence import Evidence

Value = float | int | str
CLAIMS: dict[str, Claim] = {}
TYPES = {str: "a string in quotes", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Finding:
    """Result of measuring a claim.

    Attributes:
        holds: whether the claim is true for the model and sentence.
        values: measured values by name, which a lesson's texts can quote.
    """

    holds: bool
    values: Mapping[str, Value]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))


def finding(holds: bool, **values: Value) -> Finding:
    """Build a `Finding`, with the measured values as keyword arguments."""
    return Finding(holds, values)


@dataclass(frozen=True)
class Claim:
    """A statement about the model, and the function that measures whether it holds.

    Attributes:
        measure: function that takes the evidence and the parameters, and returns a finding.
        statement: the claim in one sentence.
        values: names of the values in the finding.
        parameters: type of each parameter, by parameter name.
        required: names of the parameters without a default.
    """

    measure: Callable[..., Finding]
    statement: str
    values: tuple[str, ...]
    parameters: Mapping[str, Any]
    required: frozenset[str]


def claim(*values: str) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
    """Register a function as a claim; the first paragraph of the function's docstring is the claim that users read.

    Args:
        values: names of the values in the `Finding` that the function returns.
    """

    def register(measure: Callable[..., Finding]) -> Callable[..., Finding]:
        arguments = list(inspect.signature(measure).parameters.values())[1:]
        types = get_type_hints(measure)
        CLAIMS[measure.__name__] = Claim(
            measure,
            (inspect.getdoc(measure) or "").split("\n\n")[0].replace("\n", " "),
            values,
            {argument.name: types[argument.name] for argument in arguments},
            frozenset(argument.name for argument in arguments if argument.default is inspect.Parameter.empty),
        )
        return measure

    return register


def check_call(name: str, parameters: Mapping[str, object]) -> Claim:
    """Check a claim's name and parameters, and return the claim.

    Raises:
        LessonError: no claim has this name, or the claim does not accept these parameters.
    """
    if name not in CLAIMS:
        raise LessonError(f"there is no claim {quoted(name)}; the claims are: {', '.join(sorted(CLAIMS))}")
    claim = CLAIMS[name]
    takes = ", ".join(claim.parameters) or "none"
    for parameter, value in parameters.items():
        if parameter not in claim.parameters:
            raise LessonError(f"the claim {name} has no parameter {quoted(parameter)}; its parameters are: {takes}")
        _check_type(f"the parameter {parameter!r} of the claim {name}", value, claim.parameters[parameter])
    if missing := claim.required - parameters.keys():
        raise LessonError(f"the claim {name} needs {', '.join(sorted(missing))}; its parameters are: {takes}")
    return claim


def measure_claim(name: str, parameters: Mapping[str, Any], evidence: Evidence) -> Finding:
    """Measure a claim on a sentence.

    Raises:
        LessonError: the claim cannot be measured on this sentence; the message says why.
    """
    return check_call(name, parameters).measure(evidence, **parameters)


def _check_type(what: str, value: object, wanted: Any) -> None:
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise LessonError(f"{what} is {quoted(value)}; it must be one of: {', '.join(get_args(wanted))}")
        return
    accepted = (int, float) if wanted is float else (wanted,)
    if type(value) not in accepted:
        raise LessonError(f"{what} is {quoted(value)}; it must be {TYPES[wanted]}")
