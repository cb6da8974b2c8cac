"""The requests of an app to a model's server: a run, which is a value, as JSON.

GET /identity returns the server's identity, POST /run asks for a run. Both are the same in every version of the
protocol. So are the members `protocol` and `model` of every message. Therefore each side can recognise another version.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import Raw, Struct

# Importing the package registers the runs.
import transformer.running.runs as _runs  # noqa: F401
from transformer.errors import AtlasError
from transformer.running.translator_run import TranslatorRun

# Increase this whenever the wire format or its meaning changes.
PROTOCOL = 4
IDENTITY, RUN = "/identity", "/run"
# Limit of a request in bytes: enough for thousands of variants.
MOST_BYTES = 16 * 2**20


class RequestError(ValueError):
    """A request is invalid."""


class Envelope(Struct):
    """The members of every message in every version of the protocol.

    Attributes:
        protocol: version of the protocol.
        model: `Translator.version` of the model that should run, or that answers.
    """

    protocol: Any = None
    model: Any = None


class Request(Envelope):
    """A request for a run.

    Attributes:
        run: name of its class.
        value: the run itself.
    """

    run: str = ""
    value: Raw = Raw(b"null")


def request(run: TranslatorRun[Any], model: str) -> bytes:
    """The request for a run of a model."""
    return msgspec.json.encode(Request(PROTOCOL, model, type(run).__name__, Raw(_written(run))))


def read_head(body: bytes) -> Envelope:
    """The protocol and model of a request.

    Raises:
        RequestError: the request is invalid.
    """
    return _decoded(body, Envelope)


def read_run(body: bytes) -> TranslatorRun[Any]:
    """The run of a request.

    Raises:
        RequestError: the request is invalid, or not as `request` writes it.
        InterventionError: its interventions contradict themselves.
    """
    asked = _decoded(body, Request)
    if asked.run not in TranslatorRun.KINDS:
        raise RequestError(f"there is no run {asked.run!r}")
    run = _decoded(asked.value, TranslatorRun.KINDS[asked.run])
    # The request has an unknown field at some depth, or a field in another form.
    if msgspec.json.decode(_written(run)) != msgspec.json.decode(asked.value):
        raise RequestError(f"the parameters of {asked.run} are invalid")
    return run


def _written(run: Any) -> bytes:
    # Every field is written, also one that was missing in the request, and sets are sorted: equal runs are equal bytes.
    return msgspec.json.encode(asdict(run), order="deterministic")


def _decoded(body: bytes | Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if isinstance(error.__cause__, AtlasError):
            raise error.__cause__ from None
        raise RequestError(f"{type(error).__name__}: {error}") from error
