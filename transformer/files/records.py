"""Records: JSON objects that commands write, and that pages show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import numpy as np

from transformer.files.small_files import json_object

Record = TypeVar("Record")


def read_record(text: str, make: Callable[[dict[str, Any]], Record]) -> Record:
    """What is made of the JSON object of a text.

    Raises:
        ValueError: the text is no JSON object, or not one that `make` knows, such as one of a newer version.
    """
    values = json_object(text, "the record")
    try:
        return make(values)
    except (LookupError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ValueError(f"it is another record, or of another version ({type(error).__name__}: {error})") from error


def typed(values: Any, kind: type[Record]) -> Record:
    """What `asdict` made the values of, for the `make` of a record; arrays are nested lists."""
    return msgspec.convert(values, kind, dec_hook=lambda _, lists: np.array(lists, dtype=np.float64))
