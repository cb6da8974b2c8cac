"""Records: JSON files that commands write and pages read. What a page would stumble over is refused when it is read.

A record is a frozen dataclass, or is made of one: its fields are there, of their types, and within the limits that
these types say. What a type cannot say, `__post_init__` or a check of an array says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

Record = TypeVar("Record")
# No number of a record is larger, and every whole number up to it is exact in float64.
MOST = 10**15
# Whole numbers from 0 and from 1; numbers from 0, from 0 to 1, and above 0.
Whole = Annotated[int, Meta(ge=0, le=MOST)]
Count = Annotated[int, Meta(ge=1, le=MOST)]
Amount = Annotated[float, Meta(ge=0, le=MOST)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(gt=0, le=MOST)]


def read_record(text: str, kind: type[Record]) -> Record:
    """A record; what else stands there may be of a newer version.

    Args:
        kind: a dataclass, whose arrays are nested lists of numbers; null in them is NaN.

    Raises:
        ValueError: the text is something else; the message says where.
    """
    try:
        return msgspec.json.decode(text, type=kind, dec_hook=_array)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error


def check_array(
    what: str, array: np.ndarray, shape: tuple[int, ...], low: float = -MOST, high: float = MOST, *, gaps: bool = False
) -> None:
    """Refuse an array of another shape, or with a number that is not within limits.

    Args:
        what: it is, for the message.
        gaps: whether NaN is allowed.

    Raises:
        ValueError: it is such an array.
    """
    if array.shape != shape:
        raise ValueError(f"{what} has the shape {array.shape}; it must be {shape}")
    if not np.all((low <= array) & (array <= high) | (gaps & np.isnan(array))):
        raise ValueError(f"{what} must have numbers from {low:,} to {high:,}")


def check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse numbers of heads that no model has.

    Args:
        shapes: layers and heads of each kind of attention.

    Raises:
        ValueError: a kind is missing or has none, kinds differ in their heads, or the two of the decoder in their
            layers.
    """
    if missing := {"encoder", "decoder", "cross"} - shapes.keys():
        raise ValueError(f"kinds.{min(missing)} is missing")
    sizes = {shape[1:] for shape in shapes.values()}
    if any(len(shape) != 2 or 0 in shape for shape in shapes.values()) or len(sizes) > 1 \
            or shapes["decoder"] != shapes["cross"]:
        raise ValueError(f"layers and heads of its kinds of attention do not fit each other: {dict(shapes)}")


def _array(kind: type, value: Any) -> np.ndarray:
    """Nested lists of numbers as float64."""
    if kind is not np.ndarray:
        raise TypeError(f"a record has no {kind.__name__}")
    plain = np.array(value, dtype=object).ravel().tolist()
    if not all(type(each) in (int, float, type(None)) for each in plain):
        raise ValueError("expected numbers, in rows that are equally long")
    return np.array(value, dtype=np.float64)
