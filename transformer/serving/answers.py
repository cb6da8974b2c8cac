"""What a model's server answers: the result of a run as an .npz archive, and what is wrong as JSON.

A trace travels as the arrays that `Trace.to_npz` writes. What JSON can hold of the other results is in the array
`answer` of the archive, with the protocol's and the model's version. Nothing is compressed, because such numbers hardly
get smaller by it, and an archive is never more than numbers and text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from transformer.errors import ServerError
from transformer.running.scoring import Scores
from transformer.serving.protocol import ERRORS, PROTOCOL, RequestError, read_settings, read_words
from transformer.text.vocabulary import Piece
from transformer.values.kinds import KINDS, Kind
from transformer.values.trace import Trace
from transformer.values.translation import Fate, LogitLens, Node, SearchTree, TracedTranslation, Translation

JSON, ARCHIVE = "application/json", "application/octet-stream"
OK, NOT_FOUND, CONFLICT, UNUSABLE, FAILED = 200, 404, 409, 422, 500
Arrays = dict[str, np.ndarray]


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


@dataclass(frozen=True)
class Result:
    """A result in two parts.

    Attributes:
        words: what JSON can hold.
        arrays: the rest by name.
    """

    words: dict[str, Any]
    arrays: Arrays


def said(model: str, status: int = OK, **words: Any) -> Reply:
    """A reply in JSON.

    Args:
        model: version of the model that answers.
        words: what it says.
    """
    return Reply(status, JSON, json.dumps({"protocol": PROTOCOL, "model": model, **words}).encode("ascii"))


def archived(model: str, run: str, result: Any) -> Reply:
    """The result of a run as a reply."""
    packed = PACKED[run][0](result)
    words = json.dumps({"protocol": PROTOCOL, "model": model, "run": run, **packed.words}).encode("ascii")
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, answer=np.frombuffer(words, dtype=np.uint8), **packed.arrays)
    return Reply(OK, ARCHIVE, file.getvalue())


def result_of(reply: Reply, address: str, model: str, run: str = "") -> Any:
    """What a reply says: the result of a run, or the words of a reply in JSON.

    Args:
        address: of the server, for messages.
        model: that was to answer.
        run: that was asked for; empty if none was.

    Raises:
        ServerError: it is of another protocol or of another model, or no answer.
        AtlasError, ValueError: what the run raised.
    """
    try:
        words, arrays = _opened(reply)
        _check(words, address, model)
        if "error" in words:
            raised = ERRORS.get(str(words["error"]), ServerError)(words["message"])
        elif words.get("run", "") != run:
            raise RequestError(f"it answers {words.get('run')!r}")
        else:
            return PACKED[run][1](Result(words, arrays)) if run else words
    except ServerError:
        raise
    except Exception as error:
        # Bytes that are no archive, or no JSON, or no such result, fail in a dozen ways.
        raise unreadable(address, error) from error
    raise raised


def _opened(reply: Reply) -> tuple[dict[str, Any], Arrays]:
    """The words and the arrays of a reply."""
    if reply.kind != ARCHIVE:
        return read_words(reply.body), {}
    with np.load(io.BytesIO(reply.body), allow_pickle=False) as archive:
        if sum(each.file_size for each in archive.zip.infolist()) > len(reply.body):
            # None of ours, and perhaps more than the memory holds.
            raise ValueError("its answer is compressed")
        arrays = {name: archive[name] for name in archive.files}
    return read_words(arrays.pop("answer").tobytes()), arrays


def unreadable(address: str, error: object) -> ServerError:
    """An error for an answer that is none."""
    return ServerError(
        f"What answers at {address} is no model's server of Attention Atlas, or a broken one ({error}): see that the "
        "address is right."
    )


def _check(words: Mapping[str, Any], address: str, model: str) -> None:
    """See that an answer is of this protocol and of this model.

    Raises:
        ServerError: they are not.
    """
    if words["protocol"] != PROTOCOL:
        raise ServerError(
            f"The model's server at {address} speaks version {words['protocol']} of the protocol, and this app "
            f"version {PROTOCOL}: install the same version of Attention Atlas on both machines, and start both again."
        )
    if words["model"] != model:
        raise ServerError(
            f"The model's server at {address} has the model {words['model']}, and this app wants {model}: start the "
            "server with the same model folder (`attention-atlas serve --model FOLDER`), or choose its model here."
        )


def _prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _pieces_words(pieces: Iterable[Piece]) -> list[list[Any]]:
    return [[piece.id, piece.text, piece.span and list(piece.span), piece.role] for piece in pieces]


def _pieces(words: Iterable[Any]) -> tuple[Piece, ...]:
    return tuple(Piece(number, text, tuple(span) if span else None, role) for number, text, span, role in words)


def _pack_trace(trace: Trace) -> Result:
    return Result({}, trace.to_arrays())


def _trace(result: Result) -> Trace:
    return Trace.from_arrays(result.arrays)


def _pack_translation(translation: Translation) -> Result:
    tree = translation.tree
    words = {
        "settings": asdict(translation.settings), "prefix": list(translation.prefix),
        "suppressed": sorted(translation.suppressed), "pieces": _pieces_words(translation.pieces),
        "text": translation.text, "log_prob": translation.log_prob, "complete": translation.complete,
        "seconds": translation.seconds, "steps": None if tree is None else len(tree.decoder),
    }
    return Result({"translation": words}, {} if tree is None else _prefixed("tree.", _tree_arrays(tree)))


def _translation(result: Result) -> Translation:
    words = dict(result.words["translation"])
    steps = words.pop("steps")
    return Translation(
        settings=read_settings(words.pop("settings")), prefix=tuple(words.pop("prefix")),
        suppressed=frozenset(words.pop("suppressed")), pieces=_pieces(words.pop("pieces")),
        tree=None if steps is None else _tree(_under("tree.", result.arrays), steps), **words,
    )


def _tree_arrays(tree: SearchTree) -> Arrays:
    # A node a row, in the order of its fields; the first ones continue nothing.
    nodes = [[-1.0 if value is None else float(value) for value in astuple(node)] for node in tree.nodes]
    arrays = {
        "nodes": np.array(nodes, dtype=np.float64), "cutoffs": np.array(tree.cutoffs, dtype=np.float64),
        "best": np.array(tree.best, dtype=np.int64),
    }
    for name, rows in (("decoder", tree.decoder), ("cross", tree.cross)):
        arrays |= {f"{name}.{step}": row for step, row in enumerate(rows)}
    return arrays


def _tree(arrays: Arrays, steps: int) -> SearchTree:
    nodes = []
    for parent, step, row, piece, log_prob, rank, score, penalised, place, fate in arrays["nodes"].tolist():
        before = None if parent < 0 else int(parent)
        nodes.append(Node(
            before, int(step), int(row), int(piece), log_prob, int(rank), score, penalised, int(place), Fate(int(fate))
        ))
    decoder, cross = (tuple(arrays[f"{name}.{step}"] for step in range(steps)) for name in ("decoder", "cross"))
    best = tuple(arrays["best"].tolist())
    return SearchTree(tuple(nodes), tuple(arrays["cutoffs"].tolist()), best, decoder, cross)


def _pack_traced(traced: TracedTranslation) -> Result:
    translation, lens = _pack_translation(traced.translation), vars(traced.logit_lens)
    arrays = translation.arrays | _prefixed("trace.", traced.trace.to_arrays()) | _prefixed("lens.", lens)
    return Result(translation.words, {**arrays, "ranks": traced.ranks})


def _traced(result: Result) -> TracedTranslation:
    trace = Trace.from_arrays(_under("trace.", result.arrays))
    lens = LogitLens(**_under("lens.", result.arrays))
    return TracedTranslation(_translation(result), trace, result.arrays["ranks"], lens)


def _pack_scores(scores: Scores) -> Result:
    return Result({}, dict(vars(scores)))


def _scores(result: Result) -> Scores:
    return Scores(**result.arrays)


def _pack_gradients(gradients: Mapping[Kind, np.ndarray]) -> Result:
    return Result({}, {str(kind): gradients[kind] for kind in KINDS})


def _gradients(result: Result) -> dict[Kind, np.ndarray]:
    return {kind: result.arrays[kind] for kind in KINDS}


def _pack_variants(translations: Iterable[tuple[Piece, ...]]) -> Result:
    return Result({"translations": [_pieces_words(pieces) for pieces in translations]}, {})


def _variants(result: Result) -> list[tuple[Piece, ...]]:
    return [_pieces(words) for words in result.words["translations"]]


# How the result of each run is taken apart, and put together.
PACKED: Mapping[str, tuple[Callable[[Any], Result], Callable[[Result], Any]]] = {
    "translate": (_pack_translation, _translation),
    "translate_variants": (_pack_variants, _variants),
    "trace": (_pack_trace, _trace),
    "trace_decoding": (_pack_traced, _traced),
    "score": (_pack_scores, _scores),
    "gate_gradients": (_pack_gradients, _gradients),
}
