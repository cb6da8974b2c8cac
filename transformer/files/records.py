"""Records: JSON objects that commands write, and that pages show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"it is another record, or of another version ({type(error).__name__}: {error})") from error
