"""Interventions: changes to one run of a model that show what its parts do.

Kinds, layers, heads and positions count from 0, as in the arrays of a trace. Positions of the target are those of
`Trace.target_tokens`: 0 is the start symbol.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from transformer.errors import InterventionError
from transformer.values.kinds import KINDS, Kind
from transformer.values.patches import Pair, Place, checked_patch, is_residual, kind_of, patch_name, stack_of

if TYPE_CHECKING:
    from transformer.config import TransformerConfig

Mode = Literal["zero", "mean", "uniform", "resample"]
MODES: tuple[Mode, ...] = get_args(Mode)
MAX_GATE = 2.0
# Largest deviation of a given row's sum from 1; it allows for rounding in float32.
TOLERANCE = 1e-5

Head = tuple[Kind, int, int]
# A kind, a layer, a head, and the position of the query.
Row = tuple[Kind, int, int, int]
# The columns of a row, and the share of the attention that each gets.
Cells = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Interventions:
    """Changes to one run. They are an argument of the run and never change the model itself.

    >>> off = Interventions(gates={("cross", 0, 7): 0.0})
    >>> off == Interventions(gates={("cross", 0, 7): 0.0, ("encoder", 2, 0): 1.0})
    True
    >>> look = Interventions(attention={("cross", 5, 2, 3): {4: 0.75}})  # the other cells share a quarter

    Fields are normalised, so that equal runs are equal values: mappings become sorted tuples of pairs, and gates of 1,
    which change nothing, are left out.

    Attributes:
        gates: factor from 0 to 2 by (kind, layer, head), which says how much of the head is kept. The mode says what
            replaces the rest.
        mode: "zero" multiplies the head's output by the gate. "mean" multiplies the output's deviation from its mean
            over a set of sentences by the gate (`values.head_means`). "uniform" moves the head's weights towards an
            even share for every visible token. At a gate of 0 they are even; a gate above 1 is rejected. "resample"
            multiplies the output's deviation from the head's output in another sentence by the gate
            (`transformer.running.head_replacements`).
        attention: weights that replace the computed ones, by (kind, layer, head, row): the whole row, or shares by
            column. If the shares add up to less than 1, the row's other cells share the rest in their old proportions.
            A target row beyond the end of the translation is ignored.
        hidden_source: positions of source tokens that only they themselves can see, in every layer.
        hidden_target: positions of target tokens that only they themselves can see, in every layer.
        decoder_mask: whether later tokens are hidden from the decoder's self-attention. While a translation is decoded
            there are no later tokens, so False only changes the pass over the whole translation that makes a trace.
        positions: whether the positional encoding is added to the embeddings, on both sides.
        seed, draw: numbers that choose the other sentence of the mode "resample", and its positions; see `draws_of`.
        patches: places that get their value from an unchanged run of the other sentence, and the position there
            (`values.patches`). A patch acts after all other changes of its place.
        other: token ids of the other sentence, and of the tokens that the decoder reads for it; None without patches.

    Raises:
        InterventionError: a value is out of range, a row does not add up to 1, a masked cell gets weight, or patches
            lack the other sentence.
    """

    gates: Mapping[Head, float] | tuple[tuple[Head, float], ...] = ()
    mode: Mode = "zero"
    attention: Mapping[Row, Mapping[int, float] | Sequence[float]] | tuple[tuple[Row, Cells], ...] = ()
    hidden_source: Sequence[int] = ()
    hidden_target: Sequence[int] = ()
    decoder_mask: bool = True
    positions: bool = True
    seed: int = 0
    draw: int = 0
    patches: Mapping[Place, int] | tuple[tuple[Place, int], ...] = ()
    other: Pair | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InterventionError(f"There is no mode {self.mode!r}: choose one of {', '.join(MODES)}.")
        gates = sorted((_place(head, 3), float(gate)) for head, gate in _pairs(self.gates))
        attention = sorted((_place(row, 4), _cells(cells)) for row, cells in _pairs(self.attention))
        patches = sorted(checked_patch(*patch) for patch in _pairs(self.patches))
        if patches and self.other is None:
            raise InterventionError("There are patches, but no other sentence: give the ids of its tokens in other.")
        other = tuple(map(tuple, self.other)) if patches and self.other is not None else None
        hidden = {name: tuple(sorted(set(getattr(self, name)))) for name in ("hidden_source", "hidden_target")}
        if any(position < 0 for positions in hidden.values() for position in positions):
            raise InterventionError("A position of a hidden token is negative: positions count from 0.")
        most = 1.0 if self.mode == "uniform" else MAX_GATE
        for head, gate in gates:
            if not 0 <= gate <= most:
                raise InterventionError(
                    f"The gate of {head_name(head)} is {gate:g}: in the mode {self.mode} give 0 to {most:g}."
                )
        if not all(isinstance(number, int) and number >= 0 for number in (self.seed, self.draw)):
            raise InterventionError(f"Seed and draw are {self.seed!r} and {self.draw!r}: give integers from 0.")
        gates = [(head, gate) for head, gate in gates if gate != 1]
        if not (gates and self.mode == "resample"):
            self._set(seed=0, draw=0)
        self._set(gates=tuple(gates), attention=tuple(attention), patches=tuple(patches), other=other, **hidden)
        for row, cells in self.given_rows():
            self._check_row(row, cells)

    def gate(self, head: Head) -> float:
        """The gate of a head; 1 where none is set."""
        return dict(self.gates).get(head, 1.0)

    def head_gates(self) -> Iterator[tuple[Head, float]]:
        """Yield each head whose gate is not 1, and its gate."""
        yield from _pairs(self.gates)

    def given_rows(self) -> Iterator[tuple[Row, Cells]]:
        """Yield each row with given weights as (kind, layer, head, row), and its columns with their shares."""
        yield from _pairs(self.attention)

    def patched(self) -> Iterator[tuple[Place, int]]:
        """Yield each place that gets another sentence's value, and the position in that sentence."""
        yield from _pairs(self.patches)

    def visible(self, kind: Kind, rows: int, columns: int, *, start: int = 0) -> np.ndarray:
        """The attention mask of the run, bool [rows, columns]; True means that the query can see the key.

        Args:
            kind: kind of attention.
            rows: number of queries, from position `start` on.
            columns: number of keys, from the first one on.
        """
        query, key = np.arange(start, start + rows)[:, None], np.arange(columns)[None, :]
        visible = np.ones((rows, columns), dtype=bool)
        if kind == "decoder" and self.decoder_mask:
            visible = key <= query
        seen = ~np.isin(key, self.hidden_target if kind == "decoder" else self.hidden_source)
        return visible & (seen if kind == "cross" else seen | (key == query))

    def check(self, config: TransformerConfig, source: int) -> None:
        """Check that the model and the sentence have every part that the interventions change.

        Args:
            config: model configuration.
            source: number of source tokens S, the end symbol included.

        Raises:
            InterventionError: there is no such layer, head or source token, or a patch does not fit.
        """
        for head in [*(head for head, _ in self.head_gates()), *(row[:3] for row, _ in self.given_rows())]:
            layers = config.layers_of(head[0])
            if head[1] >= layers or head[2] >= config.heads:
                raise InterventionError(
                    f"There is no head {head_name(head)}: {head[0]} attention has {layers} layers of {config.heads} "
                    "heads."
                )
        positions = list(self.hidden_source)
        for (kind, _, _, row), cells in self.given_rows():
            positions += [row] if kind == "encoder" else []
            positions += [column for column, _ in cells] if kind != "decoder" else []
        if max(positions, default=0) >= source:
            raise InterventionError(
                f"There is no source token {max(positions) + 1}: the source has {source}, including the end symbol."
            )

        for place, other in self.patched():
            self._check_patch(config, source, place, other)

    def encoder_part(self) -> Interventions:
        """The interventions that change the encoder's output. Runs in which these are equal share that output."""
        return Interventions(
            gates=tuple((head, gate) for head, gate in self.head_gates() if head[0] == "encoder"),
            mode=self.mode,
            seed=self.seed,
            draw=self.draw,
            attention=tuple((row, cells) for row, cells in self.given_rows() if row[0] == "encoder"),
            hidden_source=self.hidden_source,
            positions=self.positions,
            patches=tuple(patch for patch in self.patched() if stack_of(patch[0][0]) == "encoder"),
            other=self.other,
        )

    def _check_patch(self, config: TransformerConfig, source: int, place: Place, other: int) -> None:
        """Raise an InterventionError if a place does not exist, or its value in the other sentence does not fit."""
        (site, layer, head, position), sides = place, self.other
        assert sides is not None, "patches have another sentence"
        where = f"The patch {patch_name(place, other)}"
        if layer >= config.layers_of(kind_of(site)) + is_residual(site) or head >= config.heads:
            raise InterventionError(f"{where} does not fit: the model has no such layer or head.")
        for ids, size in zip(sides, (config.source_vocabulary, config.target_vocabulary), strict=True):
            if not (0 < len(ids) <= config.max_positions and all(0 <= number < size for number in ids)):
                raise InterventionError(f"{where}: the ids of the other sentence are not those of this model.")
        side = stack_of(site)
        if (side == "encoder" and position >= source) or other >= len(sides[side == "decoder"]):
            raise InterventionError(f"{where} does not fit: one of the sentences has no such token.")
        if site.endswith("weights") and (position != other if site == "decoder.weights" else source != len(sides[0])):
            raise InterventionError(
                f"{where} does not fit: a row of attention can be patched only if both rows see equally many tokens."
            )

    def _check_row(self, row: Row, cells: Cells) -> None:
        where = f"Row {row[3] + 1} of {head_name(row[:3])}"
        if len({column for column, _ in cells}) < len(cells) or any(column < 0 for column, _ in cells):
            raise InterventionError(f"{where}: columns must count from 0, and each must have only one share.")
        if not all(0 <= share <= 1 for _, share in cells):
            raise InterventionError(f"{where}: every share must be a number from 0 to 1.")
        total = math.fsum(share for _, share in cells)
        if total > 1 + TOLERANCE:
            raise InterventionError(f"{where}: the shares add up to {total:.4g}; they must add up to 1.")
        width = 1 + max((column for column, _ in cells), default=0)
        visible = self.visible(row[0], 1, width, start=row[3])[0]
        for column, share in cells:
            if share > 0 and not visible[column]:
                raise InterventionError(f"{where}: column {column + 1} is masked, so it cannot get weight.")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def draws_of(interventions: Interventions, count: int) -> tuple[Interventions, ...]:
    """The interventions to average over: `count` draws in the mode "resample", otherwise only the given ones.

    The first draw is that of `interventions`, and the others follow it. Draws with the same seed take different
    sentences until all sentences are used.

    Raises:
        InterventionError: `count` is less than 1 or more than MAX_DRAWS.
    """
    if count < 1:
        raise InterventionError(f"The number of draws is {count}: give at least one.")
    if count > MAX_DRAWS:
        raise InterventionError(f"The number of draws is {count:,}: give at most {MAX_DRAWS}.")
    drawn = interventions.mode == "resample" and any(interventions.head_gates())
    first = interventions.draw
    return tuple(replace(interventions, draw=first + number) for number in range(count)) if drawn else (interventions,)


def all_heads(config: TransformerConfig) -> tuple[Head, ...]:
    """Every head of a model, ordered by kind, layer and number."""
    return tuple(
        (kind, layer, head)
        for kind in config.kinds
        for layer in range(config.layers_of(kind))
        for head in range(config.heads)
    )


def head_name(head: Head) -> str:
    """The name of a head on the screen, such as cross.1.8; its numbers count from 1."""
    kind, layer, number = head
    return f"{kind}.{layer + 1}.{number + 1}"


def parse_head(text: str) -> Head:
    """Parse a head's name of the form that `head_name` returns.

    Raises:
        InterventionError: the text is not the name of a head.
    """
    kind, _, rest = text.partition(".")
    layer, _, head = rest.partition(".")
    if kind not in KINDS or not (layer.isdecimal() and head.isdecimal() and int(layer) and int(head)):
        raise InterventionError(
            f"{text!r} is not a head: write kind, layer and head, counted from 1, as in cross.1.8; "
            f"the kinds are {', '.join(KINDS)}."
        )
    return kind, int(layer) - 1, int(head) - 1


def _pairs(values: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
    return values.items() if isinstance(values, Mapping) else values


def _place(place: Sequence[Any], length: int) -> Any:
    """Validate a head or row and return it as a tuple."""
    place = tuple(place)
    numbers = place[1:]
    if len(place) != length or place[0] not in KINDS or not all(isinstance(n, int) and n >= 0 for n in numbers):
        wanted = "(kind, layer, head, row)" if length == 4 else "(kind, layer, head)"
        raise InterventionError(f"{place!r} is not {wanted}, counted from 0; the kinds are {', '.join(KINDS)}.")
    return place


def _cells(cells: Mapping[int, float] | Sequence[Any]) -> Cells:
    """Convert a given row to columns and shares; a sequence of numbers is a row that starts at its first column."""
    if isinstance(cells, Mapping):
        cells = list(cells.items())
    elif not all(isinstance(cell, (tuple, list)) for cell in cells):
        cells = list(enumerate(cells))
    return tuple(sorted((int(column), float(share)) for column, share in cells))


# No changes: the model runs as it was trained.
AS_TRAINED = Interventions()
# Default number of draws to average over in the mode "resample".
DEFAULT_DRAWS = 8
# Each draw is one row of a batch. A thousand draws take four gigabytes and minutes, even for one short sentence.
MAX_DRAWS = 512
