"""Serialises runs to JSON and parses them.

The JSON object contains the run's fields and, under "run", the name of the run's class. This form is used in requests
to a model server and in saved experiments. Neither is trusted.
"""

import re
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_origin

import msgspec
from msgspec import Raw, Struct

from transformer.errors import AtlasError
from transformer.values.run import Run

Kind = TypeVar("Kind", bound=Run[Any])
NAME = "run"
# Matches the old name of the field "tokens" in saved experiments. Text inside a JSON string does not match, because its
# quotation marks are escaped.
FORMER = re.compile(rb'(?<!\\)"pieces"(?=\s*:)')


class RequestError(ValueError):
    """An invalid message, or an invalid run in a saved experiment."""


class _Named(Struct):
    run: str


def write_run(run: Run[Any]) -> Raw:
    """Serialise a run to JSON; equal runs produce identical bytes."""
    # All fields are written, even those with default values, and sets are sorted.
    return Raw(msgspec.json.encode(_plain(run), order="deterministic"))


def read_run(content: bytes | Raw, kind: type[Kind]) -> Kind:
    """Parse a run from JSON.

    Args:
        content: JSON as written by `write_run`.
        kind: class that the run must be an instance of.

    Raises:
        RequestError: the run's class is unknown or is not a subclass of `kind`, or the JSON does not match the class.
        AtlasError: the run's fields are invalid or contradict each other.
    """
    content = FORMER.sub(b'"tokens"', bytes(content))
    named = decoded(content, _Named).run
    found = decoded(content, _class_of(named, kind))
    # If `write_run` gives different JSON, some object has an unknown field, or a value is not in canonical form.
    if msgspec.json.decode(write_run(found)) != msgspec.json.decode(content):
        raise RequestError(f"{named} has an unknown field, or a value that is not in canonical form")
    return found


def decoded(content: bytes | Raw, kind: Any) -> Any:
    """Parse untrusted JSON into a value of type `kind`.

    Raises:
        RequestError: the content is not JSON, or does not match the type.
        AtlasError: the type's own validation failed.
    """
    try:
        return msgspec.json.decode(content, type=kind, dec_hook=_nested)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if isinstance(error.__cause__, AtlasError):
            raise error.__cause__ from None
        raise RequestError(f"{type(error).__name__}: {error}") from error


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        content = {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
        return {NAME: type(value).__name__, **content} if isinstance(value, Run) else content
    return [*map(_plain, value)] if isinstance(value, tuple) else value


def _nested(kind: Any, value: Any) -> Any:
    """Decode a field of type `Run`, which may contain a run of any class."""
    if get_origin(kind) is not Run or not isinstance(value, dict):
        raise RequestError(f"cannot read a value of type {type(value).__name__} as {kind}")
    return msgspec.convert(value, _class_of(value.get(NAME), Run), dec_hook=_nested)


def _class_of(name: Any, kind: type[Kind]) -> type[Kind]:
    found = Run.KINDS.get(name) if isinstance(name, str) else None
    if found is None or not issubclass(found, kind):
        raise RequestError(f"there is no {kind.__name__} with the name {name!r}")
    return found
