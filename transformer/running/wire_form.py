"""The wire form of a run: a JSON object of its fields and, as "run", the name of its class.

Requests to a model's server and saved experiments have it. Both are untrusted.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_origin

import msgspec
from msgspec import Raw, Struct

from transformer.errors import AtlasError
from transformer.values.run import Run

Kind = TypeVar("Kind", bound=Run[Any])
NAME = "run"


class RequestError(ValueError):
    """A request is invalid."""


class _Named(Struct):
    run: str


def write_run(run: Run[Any]) -> Raw:
    """The wire form of a run; equal runs are equal bytes."""
    # Every field is written, also one that was missing in the request, and sets are sorted.
    return Raw(msgspec.json.encode(_plain(run), order="deterministic"))


def read_run(content: bytes | Raw, kind: type[Kind]) -> Kind:
    """The run of a kind with a wire form.

    Raises:
        RequestError: there is no such run, or it is not as `write_run` writes it.
        AtlasError: the run contradicts itself.
    """
    named = decoded(content, _Named).run
    found = decoded(content, _class_of(named, kind))
    # The form has an unknown field at some depth, or a field in another form.
    if msgspec.json.decode(write_run(found)) != msgspec.json.decode(content):
        raise RequestError(f"the parameters of {named} are invalid")
    return found


def decoded(content: bytes | Raw, kind: Any) -> Any:
    """The value of a type in untrusted JSON.

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
    """A field that takes any run."""
    if get_origin(kind) is not Run or not isinstance(value, dict):
        raise RequestError(f"{kind} is not a run")
    return msgspec.convert(value, _class_of(value.get(NAME), Run), dec_hook=_nested)


def _class_of(name: Any, kind: type[Kind]) -> type[Kind]:
    found = Run.KINDS.get(name) if isinstance(name, str) else None
    if found is None or not issubclass(found, kind):
        raise RequestError(f"there is no run {name!r}")
    return found
