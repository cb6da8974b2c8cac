"""Serialises dataclasses that contain arrays: to JSON for files, and to MessagePack for messages between processes."""

import json
from collections.abc import Mapping
from typing import Any, Self, TypeVar

import msgspec
import numpy as np

from transformer.files.small_files import json_object

Value = TypeVar("Value")
# Decimal places of array elements in JSON.
DIGITS = 6


class Record:
    """Base class of frozen dataclasses that are saved as JSON objects.

    JSON keys are the field names, unless a subclass overrides `_written` and `_fields`.

    Attributes:
        model: `Translator.version` of the measured model, or a description in words.
    """

    model: str

    def to_json(self) -> str:
        """Serialise the record to a JSON object, with arrays as nested lists rounded to six decimal places."""
        return json.dumps(self._written(), default=_as_json, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse JSON written by `to_json`.

        Raises:
            ValueError: the text is not a JSON object, or does not match the class, for example because it is from a
                newer version.
        """
        values = json_object(text, "the record")
        try:
            return msgspec.convert(
                cls._fields(values), cls, dec_hook=lambda _, lists: np.array(lists, dtype=np.float64)
            )
        except (LookupError, TypeError, AttributeError, msgspec.ValidationError) as error:
            raise ValueError(
                f"the record has unexpected contents, or is from another version ({type(error).__name__}: {error})"
            ) from error

    def _written(self) -> dict[str, Any]:
        return vars(self)

    @classmethod
    def _fields(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return a file's values by field name. Subclasses whose files use other names override this method."""
        return values


def pack(value: object) -> bytes:
    """Serialise dataclasses, mappings, tuples and numeric arrays to MessagePack, without loss."""
    return msgspec.msgpack.encode(value, enc_hook=_pack_value)


def unpack(content: bytes | msgspec.Raw, kind: type[Value]) -> Value:
    """Parse the output of `pack` as a value of the type `kind`.

    Raises:
        ValueError: the bytes are invalid.
    """
    try:
        return msgspec.msgpack.decode(content, type=kind, dec_hook=_unpack_array)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def _pack_value(value: Any) -> Any:
    """Convert an array or mapping to a type that MessagePack supports."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be converted to MessagePack")


def _unpack_array(kind: type, value: Any) -> np.ndarray:
    """Restore an array that `_pack_value` converted. Only numeric types are accepted, never objects."""
    dtype, shape, data = value
    if kind is not np.ndarray or np.dtype(dtype).kind not in "biuf":
        raise TypeError(f"expected a numeric array, not an array of dtype {dtype!r}")
    return np.frombuffer(data, dtype).reshape(shape)


def _as_json(value: Any) -> Any:
    """Convert a dataclass to its fields, or an array to nested lists with NaN as null."""
    if not isinstance(value, np.ndarray):
        return vars(value)
    rounded = np.array(np.round(value, DIGITS), dtype=object)
    rounded[np.isnan(value)] = None
    return rounded.tolist()
