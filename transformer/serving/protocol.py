"""What an app sends to a model's server: a run, which is a value, as JSON.

GET /identity says who answers, POST /run asks for a run. Both, and the members `protocol` and `model` of whatever is
sent, are the same in every version of the protocol, so that each side can tell that the other one is of another.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import Raw, Struct

# The kinds of runs register themselves.
import transformer.running.runs as _runs  # noqa: F401
from transformer.errors import AtlasError
from transformer.running.translator_run import TranslatorRun

# Another number whenever what travels, or what it means, is another.
PROTOCOL = 3
IDENTITY, RUN = "/identity", "/run"
# Bytes of a request: thousands of variants, and no end of them.
MOST_BYTES = 16 * 2**20


class RequestError(ValueError):
    """A request that is none."""


class Head(Struct):
    """What every version of the protocol sends.

    Attributes:
        protocol: its version.
        model: `Translator.version` of the model that is to run, or that answers.
    """

    protocol: Any = None
    model: Any = None


class Request(Head):
    """A run that is asked for.

    Attributes:
        run: its kind.
        value: the run itself.
    """

    run: str = ""
    value: Raw = Raw(b"null")


def request(run: TranslatorRun[Any], model: str) -> bytes:
    """The request for a run of a model."""
    return msgspec.json.encode(Request(PROTOCOL, model, type(run).__name__, Raw(_written(run))))


def read_head(body: bytes) -> Head:
    """Who a request is for.

    Raises:
        RequestError: it is none.
    """
    return _decoded(body, Head)


def read_run(body: bytes) -> TranslatorRun[Any]:
    """The run of a request.

    Raises:
        RequestError: it is none, or not as `request` writes it.
        InterventionError: its interventions contradict themselves.
    """
    asked = _decoded(body, Request)
    if asked.run not in TranslatorRun.KINDS:
        raise RequestError(f"there is no run {asked.run!r}")
    run = _decoded(asked.value, TranslatorRun.KINDS[asked.run])
    # It has a field, at any depth, that the run does not have, or has one in another form.
    if msgspec.json.decode(_written(run)) != msgspec.json.decode(asked.value):
        raise RequestError(f"this is not how {asked.run} is written")
    return run


def _written(run: Any) -> bytes:
    # Every field, also one that was left out where the run was read, and sets in order: equal runs are equal bytes.
    return msgspec.json.encode(asdict(run), order="deterministic")


def _decoded(body: bytes | Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if isinstance(error.__cause__, AtlasError):
            raise error.__cause__ from None
        raise RequestError(f"{type(error).__name__}: {error}") from error
