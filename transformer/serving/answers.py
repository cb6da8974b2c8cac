"""Encodes and decodes a model server's answers: results as MessagePack, everything else as JSON.

Results are encoded field by field; an array is encoded as its data type, its shape and its raw bytes. Arrays are not
compressed, because floats compress poorly. Answers contain only numbers and text, no code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
from msgspec import Raw

from transformer import errors
from transformer.errors import AtlasError, ServerError
from transformer.files.records import pack, unpack
from transformer.running.translator_run import TranslatorRun
from transformer.serving.protocol import PROTOCOL, Envelope, RequestError
from transformer.values.run import Result

JSON, ARCHIVE = "application/json", "application/octet-stream"
OK, NOT_FOUND, CONFLICT, UNPROCESSABLE, FAILED = 200, 404, 409, 422, 500
# Errors that the server sends by class name and that the client raises again. Their messages are for the user.
ERRORS: Mapping[str, type[ValueError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, AtlasError)
} | {"ValueError": ValueError}


@dataclass(frozen=True)
class Reply:
    """HTTP reply to a request.

    Attributes:
        status: HTTP status.
        kind: media type of the body, `JSON` or `ARCHIVE`.
        body: contents of the reply.
    """

    status: int
    kind: str
    body: bytes


class Answer(Envelope, omit_defaults=True):
    """Decoded body of a reply.

    Attributes:
        device: the model's device; only in the reply to `IDENTITY`.
        error, message: class name and message of an exception; empty if there was none.
        run: class name of the run that was computed.
        result: result of the run, still encoded.
    """

    device: str = ""
    error: str = ""
    message: str = ""
    run: str = ""
    result: Raw = Raw(b"")


def json_reply(model: str, status: int = OK, **words: Any) -> Reply:
    """Return a reply in JSON.

    Args:
        model: version of the server's model.
        status: HTTP status.
        words: fields of `Answer`.
    """
    return Reply(status, JSON, msgspec.json.encode({"protocol": PROTOCOL, "model": model, **words}))


def archive_reply(model: str, run: TranslatorRun[Result], result: Result) -> Reply:
    """Return a reply with the result of a run."""
    body = {"protocol": PROTOCOL, "model": model, "run": type(run).__name__, "result": result}
    return Reply(OK, ARCHIVE, pack(body))


def identity_of(reply: Reply, address: str, model: str) -> str:
    """Return the device that a server states in its identity reply.

    Raises: as in `result_of`.
    """
    answer = _answer(reply, address, model)
    if not answer.device:
        raise unreadable_error(address, "the answer does not state a device")
    return answer.device


def result_of(reply: Reply, address: str, model: str, run: TranslatorRun[Result]) -> Result:
    """Decode the result in a reply.

    Args:
        reply: reply from the server.
        address: URL of the server, for error messages.
        model: version of the requested model.
        run: requested run.

    Raises:
        ServerError: the reply is invalid, or is for a different protocol version or model.
        AtlasError, ValueError: the run raised this error on the server.
    """
    answer = _answer(reply, address, model)
    try:
        if answer.run != type(run).__name__:
            raise RequestError(f"the answer is for the run {answer.run!r}, not {type(run).__name__!r}")
        return unpack(answer.result, _result_type(type(run)))
    except Exception as error:
        raise unreadable_error(address, error) from error


def _answer(reply: Reply, address: str, model: str) -> Answer:
    """Check a reply's protocol and model version, decode the body, and raise the server's error, if any."""
    decode = msgspec.msgpack.decode if reply.kind == ARCHIVE else msgspec.json.decode
    try:
        # Check the protocol version first, because other versions may have different fields.
        _check(decode(reply.body, type=Envelope), address, model)
        answer = decode(reply.body, type=Answer)
    except ServerError:
        raise
    except Exception as error:
        # Decoding invalid bytes can raise several kinds of error.
        raise unreadable_error(address, error) from error
    if answer.error:
        raise ERRORS.get(answer.error, ServerError)(answer.message)
    return answer


def unreadable_error(address: str, error: object) -> ServerError:
    return ServerError(
        f"{address} is not an Attention Atlas model server, or its answer is damaged ({error}): check the address."
    )


def _check(head: Envelope, address: str, model: str) -> None:
    """Check the protocol and the model version in an answer.

    Raises:
        ServerError: the protocol or the model version differs.
        RequestError: the answer states no protocol or no model.
    """
    if head.protocol is None or head.model is None:
        raise RequestError("the answer lacks the protocol version or the model version")
    if head.protocol != PROTOCOL:
        raise ServerError(
            f"The model server at {address} uses version {head.protocol} of the protocol, but this app uses version "
            f"{PROTOCOL}: install the same version of Attention Atlas on both machines, then restart the server "
            "and the app."
        )
    if head.model != model:
        raise ServerError(
            f"The model server at {address} has the model {head.model}, but this app needs {model}: start the server "
            "with the same model folder (`attention-atlas serve --model FOLDER`), or choose its model in this app."
        )


def _result_type(kind: type[TranslatorRun[Any]]) -> Any:
    """Return the result type declared by a run class: Trace for `class TraceRun(TranslatorRun[Trace])`."""
    return next(get_args(base)[0] for base in kind.__orig_bases__ if get_args(base))  # pyright: ignore
