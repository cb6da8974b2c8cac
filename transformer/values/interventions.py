"""Interventions: changes to a single model run that reveal what each part of the model does.

Layers, heads and positions are 0-based, as in a trace's arrays. Target positions index `Trace.target_tokens`: 0 is the
start symbol.
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
# The sum of the weights that a user gives for a row may exceed 1 by this much, because of float32 rounding.
TOLERANCE = 1e-5

Head = tuple[Kind, int, int]
# (attention kind, layer, head, query position)
Row = tuple[Kind, int, int, int]
# (column, attention weight) pairs of one row.
Cells = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Interventions:
    """Changes to a single model run. Interventions are passed to the run and never modify the model itself.

    >>> off = Interventions(gates={("cross", 0, 7): 0.0})
    >>> off == Interventions(gates={("cross", 0, 7): 0.0, ("encoder", 2, 0): 1.0})
    True
    >>> look = Interventions(attention={("cross", 5, 2, 3): {4: 0.75}})  # the other cells share the remaining 0.25

    Fields are normalised, so that equivalent interventions compare equal: mappings become sorted tuples of pairs, and
    gates of 1, which change nothing, are dropped.

    Attributes:
        gates: strength of each head, 0 to 2, by (kind, layer, head); 1 leaves the head as trained.
        mode: meaning of the gates. "zero" scales the head's output by the gate. "mean" scales the output's deviation
            from the head's mean output over a set of sentences (`values.head_means`). "uniform" interpolates between
            uniform weights over all visible tokens (gate 0) and the head's own weights (gate 1, the maximum).
            "resample" scales the output's deviation from the head's output on another sentence
            (`transformer.decoding.head_replacements`).
        attention: attention weights that replace the computed ones, by (kind, layer, head, row): a full row, or a
            mapping of columns to weights. If the weights sum to less than 1, the row's other cells share the remainder
            in proportion to their computed weights. A target row beyond the end of the translation is ignored.
        hidden_source: positions of source tokens that are hidden from all other tokens, in every layer.
        hidden_target: positions of target tokens that are hidden from all other target tokens, in every layer.
        decoder_mask: whether the decoder's self-attention hides later tokens. Decoding has no later tokens, so False
            affects only passes over a finished translation, such as the one that records a trace.
        positions: whether the positional encoding is applied to the source and the target.
        seed, draw: random seed and draw number, which select the sentence and the positions for the mode "resample";
            see `draws_of`.
        patches: vectors copied from an unmodified run on another sentence. For each `Place` to overwrite, `patches`
            gives the position in the other sentence that the vector comes from (`values.patches`). A patch is applied
            after all other interventions at the same `Place`.
        other: token ids of the other sentence's source and decoder input; None without patches.

    Raises:
        InterventionError: a value is out of range, a row sums to more than 1, a masked cell has a weight above 0, or
            there are patches without the other sentence.
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
            raise InterventionError("Patches need another sentence to copy from: pass its token ids in `other`.")
        other = tuple(map(tuple, self.other)) if patches and self.other is not None else None
        hidden = {name: tuple(sorted(set(getattr(self, name)))) for name in ("hidden_source", "hidden_target")}
        if any(position < 0 for positions in hidden.values() for position in positions):
            raise InterventionError("The position of a hidden token is negative: positions start at 0.")
        most = 1.0 if self.mode == "uniform" else MAX_GATE
        for head, gate in gates:
            if not 0 <= gate <= most:
                raise InterventionError(
                    f"The gate of {head_name(head)} is {gate:g}: in {self.mode} mode, it must be from 0 to {most:g}."
                )
        if not all(isinstance(number, int) and number >= 0 for number in (self.seed, self.draw)):
            raise InterventionError(f"Seed and draw are {self.seed!r} and {self.draw!r}: pass non-negative integers.")
        gates = [(head, gate) for head, gate in gates if gate != 1]
        if not (gates and self.mode == "resample"):
            self._set(seed=0, draw=0)
        self._set(gates=tuple(gates), attention=tuple(attention), patches=tuple(patches), other=other, **hidden)
        for row, cells in self.given_rows():
            self._check_row(row, cells)

    def gate(self, head: Head) -> float:
        """Return a head's gate, which is 1 by default."""
        return dict(self.gates).get(head, 1.0)

    def head_gates(self) -> Iterator[tuple[Head, float]]:
        """Yield each head whose gate is not 1, and its gate."""
        yield from _pairs(self.gates)

    def given_rows(self) -> Iterator[tuple[Row, Cells]]:
        """Yield each (kind, layer, head, row) with replaced attention weights, and the row's (column, weight) pairs."""
        yield from _pairs(self.attention)

    def patched(self) -> Iterator[tuple[Place, int]]:
        """Yield each patched `Place`, and the position in the other sentence that its vector comes from."""
        yield from _pairs(self.patches)

    def visible(self, kind: Kind, queries: int, keys: int, *, start: int = 0) -> np.ndarray:
        """Return the attention mask under these interventions, bool [queries, keys]; True if the query sees the key.

        Args:
            kind: attention kind.
            queries: number of queries.
            keys: number of keys, beginning with position 0.
            start: position of the first query.
        """
        not_hidden = self.not_hidden(kind, queries, keys, start=start)
        causal = kind == "decoder" and self.decoder_mask
        return not_hidden & np.tri(queries, keys, start, dtype=bool) if causal else not_hidden

    def not_hidden(self, kind: Kind, queries: int, keys: int, *, start: int = 0) -> np.ndarray:
        """Return the attention mask without its causal part, bool [queries, keys]; False if the key is hidden.

        The arguments are as in `visible`.
        """
        query, key = np.arange(start, start + queries)[:, None], np.arange(keys)[None, :]
        seen = ~np.isin(key, self.hidden_target if kind == "decoder" else self.hidden_source)
        return np.ones((queries, keys), dtype=bool) & (seen if kind == "cross" else seen | (key == query))

    def check(self, config: TransformerConfig, source_length: int) -> None:
        """Check that every head, source position and patch in the interventions fits the model and the source.

        Args:
            config: model configuration.
            source_length: number of source tokens, including the end symbol; 0 for a language model.

        Raises:
            InterventionError: a layer, head or source token does not exist, or a patch does not fit.
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
        if positions and max(positions) >= source_length:
            raise InterventionError(
                f"There is no source token {max(positions) + 1}: the source has {source_length} tokens, including the "
                "end symbol."
            )

        for place, other in self.patched():
            self._check_patch(config, source_length, place, other)

    def encoder_part(self) -> Interventions:
        """Return the interventions that affect the encoder.

        Runs with the same source and the same encoder interventions can share the encoder's output.
        """
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

    def _check_patch(self, config: TransformerConfig, source_length: int, place: Place, other: int) -> None:
        """Check that a patch fits: layer, head and positions exist, and an attention row replaces one of equal length.

        Raises:
            InterventionError: a check fails.
        """
        (site, layer, head, position), sides = place, self.other
        assert sides is not None, "patches require another sentence"
        where = f"The patch {patch_name(place, other)}"
        if layer >= config.layers_of(kind_of(site)) + is_residual(site) or head >= config.heads:
            raise InterventionError(f"{where} cannot be applied: the model has no such layer or head.")
        for ids, size in zip(sides, (config.source_vocabulary, config.target_vocabulary), strict=True):
            fits = len(ids) <= config.max_positions and all(0 <= number < size for number in ids)
            # A language model has no source tokens, and its source vocabulary has size 0.
            if not fits or bool(ids) != bool(size):
                raise InterventionError(
                    f"{where}: the sentence to copy from is empty, has over {config.max_positions} tokens or has token "
                    f"ids outside the vocabulary: pass 1 to {config.max_positions} ids of this model's tokenizer."
                )
        side = stack_of(site)
        if side == "encoder" and position >= source_length:
            raise InterventionError(f"{where} cannot be applied: the run has only {source_length} encoder positions.")
        if other >= (length := len(sides[side == "decoder"])):
            raise InterventionError(
                f"{where} cannot be applied: the sentence to copy from has only {length} {side} positions."
            )
        if site.endswith("weights") and (
            position != other if site == "decoder.weights" else source_length != len(sides[0])
        ):
            raise InterventionError(
                f"{where} cannot be applied: an attention row can be replaced only by a row of the same length. Choose "
                "another position or sentence."
            )

    def _check_row(self, row: Row, cells: Cells) -> None:
        where = f"Row {row[3] + 1} of {head_name(row[:3])}"
        if len({column for column, _ in cells}) < len(cells) or any(column < 0 for column, _ in cells):
            raise InterventionError(f"{where}: no column may be negative or occur twice.")
        if not all(0 <= share <= 1 for _, share in cells):
            raise InterventionError(f"{where}: every weight must be a number from 0 to 1.")
        total = math.fsum(share for _, share in cells)
        if total > 1 + TOLERANCE:
            raise InterventionError(f"{where}: the weights add up to {total:.4g}; the maximum is 1.")
        width = 1 + max((column for column, _ in cells), default=0)
        visible = self.visible(row[0], 1, width, start=row[3])[0]
        for column, share in cells:
            if share > 0 and not visible[column]:
                raise InterventionError(f"{where}: column {column + 1} is masked, so its weight must be 0.")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def draws_of(interventions: Interventions, count: int) -> tuple[Interventions, ...]:
    """Return the interventions to average over: `count` consecutive draws if a head is resampled, otherwise one.

    Draw numbers start at `interventions.draw`. Draws with the same seed use different sentences until all sentences
    have been used.

    Raises:
        InterventionError: `count` is less than 1 or more than MAX_DRAWS.
    """
    if count < 1:
        raise InterventionError(f"The number of draws is {count}: it must be at least 1.")
    if count > MAX_DRAWS:
        raise InterventionError(f"The number of draws is {count:,}: it must be at most {MAX_DRAWS}.")
    drawn = interventions.mode == "resample" and any(interventions.head_gates())
    first = interventions.draw
    return tuple(replace(interventions, draw=first + number) for number in range(count)) if drawn else (interventions,)


def all_heads(config: TransformerConfig) -> tuple[Head, ...]:
    """Return all heads of a model, ordered by attention kind, layer and head number."""
    return tuple(
        (kind, layer, head)
        for kind in config.kinds
        for layer in range(config.layers_of(kind))
        for head in range(config.heads)
    )


def head_name(head: Head) -> str:
    """Return a head's display name, such as cross.1.8, with 1-based layer and head numbers."""
    kind, layer, number = head
    return f"{kind}.{layer + 1}.{number + 1}"


def parse_head(text: str) -> Head:
    """Parse a head name as returned by `head_name`.

    Raises:
        InterventionError: `text` is not a head name.
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
    """Validate a head (length 3) or a row (length 4), and return it as a tuple."""
    place = tuple(place)
    numbers = place[1:]
    if len(place) != length or place[0] not in KINDS or not all(isinstance(n, int) and n >= 0 for n in numbers):
        wanted = "(kind, layer, head, row)" if length == 4 else "(kind, layer, head)"
        raise InterventionError(
            f"{place!r} is invalid: pass {wanted} with numbers that start at 0; the kinds are {', '.join(KINDS)}."
        )
    return place


def _cells(cells: Mapping[int, float] | Sequence[Any]) -> Cells:
    """Convert one row's attention to (column, weight) pairs.

    Args:
        cells: mapping of columns to weights, (column, weight) pairs, or the weights from column 0 on.
    """
    if isinstance(cells, Mapping):
        cells = list(cells.items())
    elif not all(isinstance(cell, (tuple, list)) for cell in cells):
        cells = list(enumerate(cells))
    return tuple(sorted((int(column), float(share)) for column, share in cells))


# No interventions: the model runs as trained.
AS_TRAINED = Interventions()
# Default number of draws for the mode "resample".
DEFAULT_DRAWS = 8
# Each draw is one batch row. A thousand draws need four gigabytes and take minutes, even for one short sentence.
MAX_DRAWS = 512
