"""What an app sends to a model's server: a run of a translator by name, with its arguments, as JSON.

GET /identity says who answers, POST /run asks for a run. Both, and the members `protocol` and `model` of whatever is
JSON, are the same in every version of the protocol, so that each side can tell that the other one is of another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from transformer import errors
from transformer.errors import AtlasError
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions

# Another number whenever what travels, or what it means, is another.
PROTOCOL = 2
IDENTITY, RUN = "/identity", "/run"
# Bytes of a request: thousands of variants, and no end of them.
MOST_BYTES = 16 * 2**20
DECODING = ("text", "settings", "prefix", "suppressed", "interventions")
# Arguments of each run, a method of the translator.
RUNS: Mapping[str, tuple[str, ...]] = {
    "translate": DECODING,
    "translate_variants": ("text", "variants"),
    "trace": ("text", "target", "details", "interventions"),
    "trace_decoding": DECODING,
    "score": ("text", "target", "variants"),
    "compare": ("text", "target", "variants", "details"),
    "gate_gradients": ("text", "target"),
}
# These take seconds for a long sentence, and nobody should wait for them who wants a translation.
LONG_RUNS = frozenset({"translate_variants", "score", "compare", "gate_gradients"})
# Errors whose messages are for the reader, wherever they were raised.
ERRORS: Mapping[str, type[ValueError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, AtlasError)
} | {"ValueError": ValueError}


class RequestError(ValueError):
    """A request that is none."""


@dataclass(frozen=True)
class Request:
    """A run that is asked for.

    Attributes:
        model: `Translator.version` of the model that is to run.
        run: one of `RUNS`.
        arguments: of that method, by name.
    """

    model: str
    run: str
    arguments: Mapping[str, Any]

    @property
    def plain(self) -> bool:
        """Whether it is what a hall full of people asks for: a trace that can be made together with others."""
        asked = self.arguments
        return self.run == "trace" and asked["target"] is None and not asked["details"] \
            and asked["interventions"] == AS_TRAINED

    def to_json(self) -> bytes:
        arguments = {name: CODES[name][0](self.arguments[name]) for name in RUNS[self.run]}
        words = {"protocol": PROTOCOL, "model": self.model, "run": self.run, "arguments": arguments}
        return json.dumps(words).encode("ascii")

    @classmethod
    def from_json(cls, words: Mapping[str, Any]) -> Request:
        """The request of a JSON document that `read_words` has read.

        Raises:
            RequestError: it is none.
            InterventionError: its interventions contradict themselves.
        """
        try:
            run, arguments = words["run"], words["arguments"]
            if sorted(arguments) != sorted(RUNS[run]):
                raise RequestError(f"the run {run} has the arguments {', '.join(RUNS[run])}")
            return cls(words["model"], run, {name: CODES[name][1](value) for name, value in arguments.items()})
        except (AtlasError, RequestError):
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise RequestError(f"{type(error).__name__}: {error}") from error


def read_words(body: bytes) -> dict[str, Any]:
    """The JSON object of a request or of an answer.

    Raises:
        RequestError: it is none.
    """
    try:
        words = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"it is no JSON ({error})") from error
    if not isinstance(words, dict):
        raise RequestError("it is no JSON object")
    return words


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{value!r} is no text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RequestError(f"{value!r} is neither true nor false")
    return value


def _ids(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or any(type(value) is not int for value in values):
        raise RequestError("pieces are a list of whole numbers")
    return tuple(values)


def _target_words(target: str | Sequence[int] | None) -> str | list[int] | None:
    return target if target is None or isinstance(target, str) else [int(piece) for piece in target]


def _target(value: Any) -> str | tuple[int, ...] | None:
    return value if value is None or isinstance(value, str) else _ids(value)


def read_settings(words: Mapping[str, Any]) -> DecodingSettings:
    """Settings of decoding from their JSON.

    Raises:
        RequestError: one is missing, unknown or of another type.
    """
    kinds = {field.name: type(field.default) for field in fields(DecodingSettings)}
    if sorted(words) != sorted(kinds):
        raise RequestError(f"the settings of decoding are {', '.join(kinds)}")
    for name, kind in kinds.items():
        if type(words[name]) not in ((int, float) if kind is float else (kind,)):
            raise RequestError(f"{name} is {words[name]!r}")
    return DecodingSettings(**words)


def _interventions(words: Any) -> Interventions:
    for name in ("decoder_mask", "positions"):
        if name in words:
            _flag(words[name])
    return Interventions(**words)


def _variants(values: Any) -> tuple[Interventions, ...]:
    return tuple(_interventions(value) for value in values)


def _variants_words(variants: Iterable[Interventions]) -> list[dict[str, Any]]:
    return [asdict(variant) for variant in variants]


# How each argument becomes JSON, and the reverse, which sees that it is one.
CODES: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "text": (str, _text),
    "target": (_target_words, _target),
    "details": (bool, _flag),
    "settings": (asdict, read_settings),
    "prefix": (_target_words, _ids),
    "suppressed": (lambda pieces: sorted(map(int, pieces)), lambda values: frozenset(_ids(values))),
    "interventions": (asdict, _interventions),
    "variants": (_variants_words, _variants),
}
