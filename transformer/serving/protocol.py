"""The requests of an app to a model's server: a run, which is a value, as JSON.

GET /identity returns the server's identity, POST /run asks for a run. Both are the same in every version of the
protocol. So are the members `protocol` and `model` of every message. Therefore each side can recognise another version.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

# Importing the package registers the runs.
import transformer.running.runs as _runs  # noqa: F401
from transformer.running import wire_form
from transformer.running.translator_run import TranslatorRun
from transformer.running.wire_form import RequestError as RequestError
from transformer.running.wire_form import decoded

# Increase this whenever the wire format or its meaning changes.
PROTOCOL = 5
IDENTITY, RUN = "/identity", "/run"
# Limit of a request in bytes: enough for thousands of variants.
MAX_BYTES = 16 * 2**20


class Envelope(Struct):
    """The members of every message in every version of the protocol.

    Attributes:
        protocol: version of the protocol.
        model: `Translator.version` of the model that should run, or that answers.
    """

    protocol: Any = None
    model: Any = None


class Request(Envelope):
    """A request for a run, in its wire form."""

    run: Raw = Raw(b"null")


def request(run: TranslatorRun[Any], model: str) -> bytes:
    """The request for a run of a model."""
    return msgspec.json.encode(Request(PROTOCOL, model, wire_form.write_run(run)))


def read_head(body: bytes) -> Envelope:
    """The protocol and model of a request.

    Raises:
        RequestError: the request is invalid.
    """
    return decoded(body, Envelope)


def read_run(body: bytes) -> TranslatorRun[Any]:
    """The run of a request.

    Raises:
        RequestError: the request is invalid, or not as `request` writes it.
        InterventionError: its interventions contradict themselves.
    """
    return wire_form.read_run(decoded(body, Request).run, TranslatorRun)
