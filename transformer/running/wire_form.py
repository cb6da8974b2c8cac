"""Converts a run to its wire form and back: a JSON object with its fields and, under "run", the name of its class.

Requests to a model's server and saved experiments contain runs in this form. Both are untrusted.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_origin

import msgspec
from msgspec import Raw, Struct

from transformer.errors import AtlasError
from transformer.values.run import Run

Kind = TypeVar("Kind", bound=Run[Any])
NAME = "run"
# A field's former name in a saved experiment; a quotation mark inside a text has a backslash before it.
FORMER = re.compile(rb'(?<!\\)"pieces"(?=\s*:)')


class RequestError(ValueError):
    """A request is invalid."""


class _Named(Struct):
    run: str


def write_run(run: Run[Any]) -> Raw:
    """Write a run in its wire form; equal runs give equal bytes."""
    # Every field is written, even one that was missing in the request, and sets are sorted.
    return Raw(msgspec.json.encode(_plain(run), order="deterministic"))


def read_run(content: bytes | Raw, kind: type[Kind]) -> Kind:
    """Read a run of a class from its wire form.

    Raises:
        RequestError: there is no such run, or the content is not in the form that `write_run` writes.
        AtlasError: the fields of the run contradict each other.
    """
    content = FORMER.sub(b'"tokens"', bytes(content))
    named = decoded(content, _Named).run
    found = decoded(content, _class_of(named, kind))
    # If they differ, the content has an unknown field at some depth, or a field in another form.
    if msgspec.json.decode(write_run(found)) != msgspec.json.decode(content):
        raise RequestError(f"the parameters of {named} are invalid")
    return found


def decoded(content: bytes | Raw, kind: Any) -> Any:
    """Parse untrusted JSON to a value of a type.

    Raises:
        RequestError: the content is not JSON, or not of this type.
        AtlasError: the value rejects its fields.
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
    """Convert a field that may hold any run."""
    if get_origin(kind) is not Run or not isinstance(value, dict):
        raise RequestError(f"{kind} is not a run")
    return msgspec.convert(value, _class_of(value.get(NAME), Run), dec_hook=_nested)


def _class_of(name: Any, kind: type[Kind]) -> type[Kind]:
    found = Run.KINDS.get(name) if isinstance(name, str) else None
    if found is None or not issubclass(found, kind):
        raise RequestError(f"there is no run {name!r}")
    return found
