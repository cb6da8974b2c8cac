"""The learning curve of a run: what is noted every few steps, in a file that lies beside the model it led to."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FIELDS = ("step", "epoch", "seconds", "training_loss", "validation_loss", "validation_chrf", "gradient_norm",
          "learning_rate", "pieces_per_second")


@dataclass(frozen=True)
class Validation:
    """How good the weights of one step are.

    Attributes:
        loss: mean over the validation pairs, in nats a piece, label smoothing included.
        chrf: 0 to 100, of greedy translations of the first of them.
    """

    loss: float
    chrf: float


class Curve:
    """A CSV file with the columns FIELDS; a row is added at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def go_back(self, step: int) -> None:
        """Forget what was noted after that step: an interrupted run takes those steps again."""
        if not self.path.exists():
            return
        with self.path.open(newline="", encoding="utf-8") as file:
            kept = [row for row in csv.DictReader(file) if int(row["step"]) <= step]
        self.path.unlink()
        if kept:
            self._write(kept, "w")

    def add(self, row: Mapping[str, str], validation: Validation | None) -> None:
        """Append a row of formatted values; without a validation its two columns stay empty."""
        values = dict(row)
        if validation:
            values |= {"validation_loss": f"{validation.loss:.4f}", "validation_chrf": f"{validation.chrf:.2f}"}
        self._write([values], "a" if self.path.exists() else "w")

    def _write(self, rows: Sequence[Mapping[str, str]], mode: Literal["a", "w"]) -> None:
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open(mode, newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            if mode == "w":
                writer.writeheader()
            writer.writerows(rows)
