"""Reads and writes a training run's learning curve, a CSV file in the model folder."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from transformer.files.atomic_writes import atomic_file, write_errors_explained

FIELDS: tuple[str, ...] = (
    "step",
    "epoch",
    "seconds",
    "training_loss",
    "validation_loss",
    "validation_chrf",
    "gradient_norm",
    "learning_rate",
    "pieces_per_second",
)
# Columns that are empty in a row without validation.
VALIDATION_FIELDS = ("validation_loss", "validation_chrf")


@dataclass(frozen=True)
class Validation:
    """Validation results after a training step.

    Attributes:
        loss: mean loss on the validation data, in nats per token, including label smoothing.
        chrf: chrF, 0 to 100, for greedy translations of the first validation pairs; None for language models.
    """

    loss: float
    chrf: float | None

    def __str__(self) -> str:
        return f"{self.loss:.3f}" if self.chrf is None else f"{self.loss:.3f}, chrF {self.chrf:.1f}"


def check_curve(text: str) -> None:
    """Check that the text is a valid learning curve in CSV format.

    Args:
        text: contents of the file; "" if the file does not exist.

    Raises:
        ValueError: the columns are not FIELDS, or a line is not CSV or has invalid values. The message names the line.
    """
    if not text:
        return
    lines = csv.reader(StringIO(text), strict=True)
    try:
        if tuple(next(lines)) != FIELDS:
            raise ValueError(f"the first line must be {','.join(FIELDS)}")
        for row in lines:
            if len(row) != len(FIELDS) or not all(map(_is_valid, FIELDS, row)):
                optional = " and ".join(VALIDATION_FIELDS)
                raise ValueError(
                    f"line {lines.line_num} needs a finite number in each column; only {optional} may be empty"
                )
    except csv.Error as error:
        raise ValueError(f"line {lines.line_num} is not CSV ({error})") from error


def _is_valid(name: str, value: str) -> bool:
    try:
        return (name in VALIDATION_FIELDS and not value) or math.isfinite(float(value))
    except ValueError:
        return False


class Curve:
    """Appends measurements to a learning-curve file, a CSV with the columns in FIELDS."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def truncate(self, step: int) -> None:
        """Remove the rows after `step`, which a resumed training run will write again.

        Raises:
            ValueError: the file is not a valid learning curve.
            OSError: the file cannot be written; the old file is unchanged.
        """
        text = self._whole_lines()
        try:
            check_curve(text)
        except ValueError as error:
            raise self._unusable(str(error)) from error
        remaining = [row for row in csv.DictReader(StringIO(text)) if float(row["step"]) <= step]
        if not remaining:
            self.path.unlink(missing_ok=True)
            return
        with atomic_file(self.path) as unfinished:
            _append(unfinished, remaining)

    def add(self, row: Mapping[str, str], validation: Validation | None) -> None:
        """Append a row of formatted values; `validation` is None for a step without validation."""
        values = dict(row)
        if validation:
            values["validation_loss"] = f"{validation.loss:.4f}"
            if validation.chrf is not None:
                values["validation_chrf"] = f"{validation.chrf:.2f}"
        with write_errors_explained(self.path):
            self.path.parent.mkdir(exist_ok=True)
            _append(self.path, [values])

    def _whole_lines(self) -> str:
        """Return the file's complete lines; a power failure or a full disk may leave an incomplete last line."""
        try:
            text = self.path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise self._unusable(f"it is not UTF-8 text ({error})") from error
        except OSError as error:
            raise self._unusable(f"it cannot be read ({error.strerror})") from error
        return text[: text.rfind("\n") + 1]

    def _unusable(self, why: str) -> ValueError:
        return ValueError(
            f"the learning curve {self.path} cannot be continued: {why}. Restore the file from a copy, or delete it to "
            "start a new one"
        )


def _append(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Append rows to a CSV file, after a header row if the file is new or empty."""
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not file.tell():
            writer.writeheader()
        writer.writerows(rows)
