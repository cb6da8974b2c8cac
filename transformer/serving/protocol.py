"""Encodes and decodes requests to a model server; a request contains the run to compute, as JSON.

GET /identity returns the server's identity, and POST /run requests a run. Both paths, and the fields `protocol` and
`model` in every message, never change between versions of the protocol. Client and server can therefore tell when the
other side uses a different version.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

# Importing this package registers all run classes.
import transformer.running.runs as _runs  # noqa: F401
from transformer.running import wire_form
from transformer.running.translator_run import TranslatorRun
from transformer.running.wire_form import RequestError as RequestError
from transformer.running.wire_form import decoded

# Increase this number whenever the wire format or its meaning changes.
PROTOCOL = 7
IDENTITY, RUN = "/identity", "/run"
# Maximum size of a request in bytes, enough for a run with thousands of interventions.
MAX_BYTES = 16 * 2**20


class Envelope(Struct):
    """Fields of every message in every version of the protocol.

    Attributes:
        protocol: version of the protocol.
        model: `Translator.version` of the requested model (in a request) or of the server's model (in an answer).
    """

    protocol: Any = None
    model: Any = None


class Request(Envelope):
    """A request for a run; the field `run` contains the run as JSON that is not decoded yet."""

    run: Raw = Raw(b"null")


def request(run: TranslatorRun[Any], model: str) -> bytes:
    """Encode a request for a run on the given model version."""
    return msgspec.json.encode(Request(PROTOCOL, model, wire_form.write_run(run)))


def read_head(body: bytes) -> Envelope:
    """Decode the protocol version and the model version in a request.

    Raises:
        RequestError: the request is invalid.
    """
    return decoded(body, Envelope)


def read_run(body: bytes) -> TranslatorRun[Any]:
    """Decode the run in a request.

    Raises:
        RequestError: the request is invalid, or differs from what `request` would write.
        AtlasError: the run's fields are invalid or contradict each other.
    """
    return wire_form.read_run(decoded(body, Request).run, TranslatorRun)
