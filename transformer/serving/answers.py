"""What a model's server answers: the result of a run as MessagePack, and what is wrong as JSON.

A result is a value, written field by field; an array is its type, its shape and its bytes. Nothing is compressed,
because such numbers hardly get smaller by it, and an answer is never more than numbers and text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
from msgspec import Raw

from transformer import errors
from transformer.errors import AtlasError, ServerError
from transformer.files.records import packed, unpacked
from transformer.running.translator_run import TranslatorRun
from transformer.serving.protocol import PROTOCOL, Head, RequestError
from transformer.values.run import Result

JSON, ARCHIVE = "application/json", "application/octet-stream"
OK, NOT_FOUND, CONFLICT, UNUSABLE, FAILED = 200, 404, 409, 422, 500
# Errors whose messages are for the reader, wherever they were raised.
ERRORS: Mapping[str, type[ValueError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, AtlasError)
} | {"ValueError": ValueError}


@dataclass(frozen=True)
class Reply:
    """What travels back.

    Attributes:
        status: of HTTP.
        kind: `JSON` or `ARCHIVE`.
        body: the bytes.
    """

    status: int
    kind: str
    body: bytes


class Answer(Head, omit_defaults=True):
    """What a reply says.

    Attributes:
        device: on which the model runs, where one asked who answers.
        error, message: what is wrong: the name of the exception, and its words.
        run: that is answered.
        result: of the run.
    """

    device: str = ""
    error: str = ""
    message: str = ""
    run: str = ""
    result: Raw = Raw(b"")


def said(model: str, status: int = OK, **words: Any) -> Reply:
    """A reply in JSON.

    Args:
        model: version of the model that answers.
        words: what it says, fields of `Answer`.
    """
    return Reply(status, JSON, msgspec.json.encode({"protocol": PROTOCOL, "model": model, **words}))


def archived(model: str, run: TranslatorRun[Result], result: Result) -> Reply:
    """The result of a run as a reply."""
    body = {"protocol": PROTOCOL, "model": model, "run": type(run).__name__, "result": result}
    return Reply(OK, ARCHIVE, packed(body))


def identity_of(reply: Reply, address: str, model: str) -> str:
    """The device of a server that says who it is.

    Raises: those of `result_of`.
    """
    answer = _answer(reply, address, model)
    if not answer.device:
        raise unreadable(address, "it does not say on which device it computes")
    return answer.device


def result_of(reply: Reply, address: str, model: str, run: TranslatorRun[Result]) -> Result:
    """The result that a reply has.

    Args:
        address: of the server, for messages.
        model: that was to answer.
        run: that was asked for.

    Raises:
        ServerError: it is of another protocol or of another model, or no answer.
        AtlasError, ValueError: what the run raised.
    """
    answer = _answer(reply, address, model)
    try:
        if answer.run != type(run).__name__:
            raise RequestError(f"it answers {answer.run!r}")
        return unpacked(answer.result, _result_type(type(run)))
    except Exception as error:
        raise unreadable(address, error) from error


def _answer(reply: Reply, address: str, model: str) -> Answer:
    """What a reply says, once it is of this protocol and this model; raises what the run raised."""
    decode = msgspec.msgpack.decode if reply.kind == ARCHIVE else msgspec.json.decode
    try:
        # First: what else another protocol says is not known.
        _check(decode(reply.body, type=Head), address, model)
        answer = decode(reply.body, type=Answer)
    except ServerError:
        raise
    except Exception as error:
        # Bytes that are no answer fail in several ways.
        raise unreadable(address, error) from error
    if answer.error:
        raise ERRORS.get(answer.error, ServerError)(answer.message)
    return answer


def unreadable(address: str, error: object) -> ServerError:
    """An error for an answer that is none."""
    return ServerError(
        f"What answers at {address} is no model's server of Attention Atlas, or a broken one ({error}): see that the "
        "address is right."
    )


def _check(head: Head, address: str, model: str) -> None:
    """See that an answer is of this protocol and of this model.

    Raises:
        ServerError: they are not.
        RequestError: it names neither.
    """
    if head.protocol is None or head.model is None:
        raise RequestError("it names no protocol and no model")
    if head.protocol != PROTOCOL:
        raise ServerError(
            f"The model's server at {address} speaks version {head.protocol} of the protocol, and this app "
            f"version {PROTOCOL}: install the same version of Attention Atlas on both machines, and start both again."
        )
    if head.model != model:
        raise ServerError(
            f"The model's server at {address} has the model {head.model}, and this app wants {model}: start the "
            "server with the same model folder (`attention-atlas serve --model FOLDER`), or choose its model here."
        )


def _result_type(kind: type[TranslatorRun[Any]]) -> Any:
    """The type that a kind of run says its result has: Trace for `class TraceRun(TranslatorRun[Trace])`."""
    return next(get_args(base)[0] for base in kind.__orig_bases__ if get_args(base))  # pyright: ignore
