"""The learning curve of a run: what is noted every few steps, in a file that a plot can be made of."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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

    def add(self, row: Mapping[str, str], validation: Validation | None) -> None:
        """Append a row of formatted values; without a validation its two columns stay empty."""
        values = dict(row)
        if validation:
            values |= {"validation_loss": f"{validation.loss:.4f}", "validation_chrf": f"{validation.chrf:.2f}"}
        new = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            if new:
                writer.writeheader()
            writer.writerow(values)
