"""Records: dataclasses that commands write as JSON, and that pages show."""

from __future__ import annotations

import json
from typing import Any, Self

import msgspec
import numpy as np

from transformer.files.small_files import json_object

# Digits after the point of what is in an array.
DIGITS = 6


class Record:
    """A frozen dataclass that is written as one JSON object.

    Its file has the names of its fields, unless it says otherwise in `_written` and `_fields`.

    Attributes:
        model: that was measured: `Translator.version`, or words.
    """

    model: str

    def to_json(self) -> str:
        """One JSON object, in which arrays are nested lists with six digits after the point."""
        return json.dumps(self._written(), default=_as_json, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ValueError: the text is no JSON object, or not such a record, such as one of a newer version.
        """
        values = json_object(text, "the record")
        try:
            return msgspec.convert(
                cls._fields(values), cls, dec_hook=lambda _, lists: np.array(lists, dtype=np.float64)
            )
        except (LookupError, TypeError, AttributeError, msgspec.ValidationError) as error:
            raise ValueError(
                f"it is another record, or of another version ({type(error).__name__}: {error})"
            ) from error

    def _written(self) -> dict[str, Any]:
        return vars(self)

    @classmethod
    def _fields(cls, values: dict[str, Any]) -> dict[str, Any]:
        """What was written, by the names of the fields."""
        return values


def _as_json(value: Any) -> Any:
    """The fields of a dataclass, and nested lists of an array; what is NaN is null."""
    if not isinstance(value, np.ndarray):
        return vars(value)
    rounded = np.array(np.round(value, DIGITS), dtype=object)
    rounded[np.isnan(value)] = None
    return rounded.tolist()
