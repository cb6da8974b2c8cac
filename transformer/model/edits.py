"""Converts the interventions of a batch to tensors, which change attention and the residual stream in each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.errors import InterventionError
from transformer.model.masks import causal_mask
from transformer.values.interventions import AS_TRAINED, TOLERANCE, Cells, Interventions, Row, head_name
from transformer.values.kinds import KINDS, Kind, Stack
from transformer.values.patches import Place

# A tensor [B, L, H, ...] for each kind of attention.
ByKind = Mapping[Kind, Tensor]
# Places of one run, and the vector that replaces the value at each.
Patches = tuple[tuple[Place, Tensor], ...]
# Row of the batch, head, position, and the vector that replaces the value there.
VectorPatch = tuple[int, int, int, Tensor]


class Replacement(Protocol):
    """Source of values from other runs, for a run with interventions."""

    def __call__(self, interventions: Interventions) -> ByKind:
        """The outputs that replace those of every head, [L, H, 1 or P, K] by kind, for at most P positions."""
        ...

    def patches(self, interventions: Interventions) -> Patches:
        """The patched places and their vectors: [K] for a head's output, [S] for a row of weights, otherwise [D]."""
        ...


@dataclass(frozen=True)
class AttentionEdit:
    """Changes to one attention layer.

    Attributes:
        gate: factor of each head's output, [B, H, 1, 1]; None for 1.
        offset: added to the output after the gate, [B, H, 1 or P, K], for the first P positions; None for 0.
        sharpness: share that a head's own weights keep, [B, H, 1, 1]; the rest is spread evenly. None for 1.
        rows: given rows of weights; for each, the row of the batch, its kind, layer, head and query, and its cells.
        weight_patches, output_patches: rows of weights, and outputs, that come from other runs.
        start: position of the first query.
    """

    gate: Tensor | None = None
    offset: Tensor | None = None
    sharpness: Tensor | None = None
    rows: tuple[tuple[int, Row, Cells], ...] = ()
    weight_patches: tuple[VectorPatch, ...] = ()
    output_patches: tuple[VectorPatch, ...] = ()
    start: int = 0

    @property
    def changes_weights(self) -> bool:
        """Whether attention weights change; a fused kernel cannot change them."""
        return self.sharpness is not None or bool(self.rows or self.weight_patches)

    def weights(self, weights: Tensor, allowed: Tensor | None) -> Tensor:
        """Return the weights [B, H, T, S] to use instead of the model's; rows sum to 1, and masked cells stay 0.

        Raises:
            InterventionError: a given row does not fit the run.
        """
        if self.sharpness is not None:
            visible = torch.ones_like(weights) if allowed is None else allowed.expand_as(weights).to(weights.dtype)
            even = visible / visible.sum(dim=-1, keepdim=True).clamp_min(1)
            # In this form of the sum, a sharpness of 1 returns exactly the same weights, bit for bit.
            weights = self.sharpness * weights + (1 - self.sharpness) * even
        if self.rows:
            weights = weights.clone()
        for row_of_batch, row, cells in self.rows:
            query = row[3] - self.start
            if 0 <= query < weights.shape[2]:
                place = row_of_batch, row[2], query
                weights[place] = _given(weights[place], row, cells)
        return _patched(weights, self.weight_patches, self.start)

    def output(self, output: Tensor) -> Tensor:
        """Return the heads' outputs [B, H, T, K] to use instead of the model's."""
        if self.gate is not None:
            output = self.gate * output
        if self.offset is not None:
            rows = slice(self.start, self.start + output.shape[2])
            output = output + (self.offset if self.offset.shape[2] == 1 else self.offset[:, :, rows])
        return _patched(output, self.output_patches, self.start)


@dataclass(frozen=True)
class StreamEdit:
    """Changes to the residual stream after one layer, and to its feed-forward output; see `VectorPatch`."""

    residual_patches: tuple[VectorPatch, ...] = ()
    feed_forward_patches: tuple[VectorPatch, ...] = ()
    start: int = 0

    def stream(self, x: Tensor) -> Tensor:
        """Return the stream [B, T, D] to use instead of the model's."""
        return _patched(x, self.residual_patches, self.start)

    def feed_forward(self, y: Tensor) -> Tensor:
        """Return the network's output [B, T, D] to use instead of the model's."""
        return _patched(y, self.feed_forward_patches, self.start)


@dataclass(frozen=True)
class LayerEdits:
    """Changes to one layer; None for no change."""

    self_attention: AttentionEdit | None = None
    cross_attention: AttentionEdit | None = None
    stream: StreamEdit | None = None


NO_EDITS = LayerEdits()


@dataclass(frozen=True)
class Edits:
    """Changes to all rows of a batch, as `edits_of` makes them.

    Attributes:
        interventions: one for each of the B rows; empty if no row has any.
        gates, sharpness: as in `AttentionEdit`, by kind, [B, L, H]; absent if all are 1.
        offsets: as in `AttentionEdit`, by kind, [B, L, H, 1 or P, K]; absent if all are 0.
        positions: whether the positional encoding is added; the same for every row.
        patches: those of each of the B rows; empty if no row has any.
    """

    interventions: tuple[Interventions, ...] = ()
    gates: ByKind = field(default_factory=dict)
    sharpness: ByKind = field(default_factory=dict)
    offsets: ByKind = field(default_factory=dict)
    positions: bool = True
    patches: tuple[Patches, ...] = ()

    def select(self, rows: Tensor) -> Edits:
        """The edits for the rows `rows` [B'] of this batch, in that order; repeats are allowed."""
        if not self.interventions:
            return self
        chosen = rows.tolist()
        return replace(
            self,
            interventions=tuple(self.interventions[row] for row in chosen),
            patches=tuple(self.patches[row] for row in chosen) if self.patches else (),
            **{
                name: {kind: part[rows] for kind, part in getattr(self, name).items()}
                for name in ("gates", "sharpness", "offsets")
            },
        )

    def of_layers(self, stack: Stack, count: int, *, start: int = 0) -> list[LayerEdits]:
        """The changes to each of a stack's `count` layers for positions from `start` on."""
        if not self.interventions:
            return [NO_EDITS] * count
        return [
            LayerEdits(
                self._of_attention(stack, layer, start),
                self._of_attention("cross", layer, start) if stack == "decoder" else None,
                self._of_stream(stack, layer + 1, start),
            )
            for layer in range(count)
        ]

    def edit_embeddings(self, x: Tensor, stack: Stack, *, start: int = 0) -> Tensor:
        """Return the stream [B, T, D] to use instead of the one that a stack's first layer would read."""
        edit = self._of_stream(stack, 0, start)
        return x if edit is None else edit.stream(x)

    def allowed(self, kind: Kind, rows: int, columns: int, device: torch.device, *, start: int = 0) -> Tensor | None:
        """The mask of the interventions, bool, broadcastable to [B, H, rows, columns]; None allows everything.

        Padding is not part of it. The arguments are those of `Interventions.visible`.
        """
        if not self.interventions:
            # The mask is built on the device, because training calls this at every step.
            causal = kind == "decoder" and rows > 1
            return causal_mask(columns, device=device)[start:] if causal else None
        masks = [each.visible(kind, rows, columns, start=start) for each in self.interventions]
        if all(mask.all() for mask in masks):
            return None
        return torch.stack([torch.from_numpy(mask) for mask in masks])[:, None].to(device)

    def _of_stream(self, stack: Stack, depth: int, start: int) -> StreamEdit | None:
        if not self.patches:
            return None
        return StreamEdit(
            self._patches_at(f"{stack}.residual", depth), self._patches_at(f"{stack}.feed_forward", depth - 1), start
        )

    def _of_attention(self, kind: Kind, layer: int, start: int) -> AttentionEdit | None:
        rows = tuple(
            (number, row, cells)
            for number, each in enumerate(self.interventions)
            for row, cells in each.given_rows()
            if row[:2] == (kind, layer)
        )
        weights, outputs = (self._patches_at(f"{kind}.{name}", layer) for name in ("weights", "outputs"))
        changed = any(kind in part for part in (self.gates, self.sharpness, self.offsets))
        if not (rows or weights or outputs or changed):
            return None
        gate, sharpness = (
            part[kind][:, layer, :, None, None] if kind in part else None for part in (self.gates, self.sharpness)
        )
        offset = self.offsets[kind][:, layer] if kind in self.offsets else None
        return AttentionEdit(gate, offset, sharpness, rows, weights, outputs, start)

    def _patches_at(self, site: str, layer: int) -> tuple[VectorPatch, ...]:
        return tuple(
            (row, place[2], place[3], value)
            for row, patches in enumerate(self.patches)
            for place, value in patches
            if place[:2] == (site, layer)
        )


UNEDITED = Edits()


def edits_of(
    interventions: Sequence[Interventions],
    config: TransformerConfig,
    replacement: Replacement | None = None,
    device: torch.device | str | None = None,
) -> Edits:
    """Convert the interventions of the rows of a batch to tensors.

    Args:
        interventions: one per row.
        config: configuration of the model.
        replacement: returns the outputs for the modes "mean" and "resample", and the vectors of patches.
        device: device of the model.

    Raises:
        ValueError: the rows differ in whether they add positions.
    """
    if all(each == AS_TRAINED for each in interventions):
        return UNEDITED
    positions = {each.positions for each in interventions}
    if len(positions) > 1:
        raise ValueError("the rows of one batch must either all add positions or all leave them out")
    # Tensors by name and kind. A tensor is created only if something in it changes.
    parts: dict[str, dict[Kind, Tensor]] = {"gates": {}, "sharpness": {}, "offsets": {}}

    def part(name: str, kind: Kind, make: Callable[..., Tensor], *shape: int) -> Tensor:
        if kind not in parts[name]:
            parts[name][kind] = make(len(interventions), config.layers_of(kind), config.heads, *shape)
        return parts[name][kind]

    replaced: dict[int, ByKind] = {}
    if replacement is not None:
        replaced = {
            number: replacement(each)
            for number, each in enumerate(interventions)
            if each.mode in ("mean", "resample") and any(each.head_gates())
        }
    longest = {kind: max((each[kind].shape[2] for each in replaced.values()), default=1) for kind in KINDS}
    for number, each in enumerate(interventions):
        for (kind, layer, head), gate in each.head_gates():
            if each.mode == "uniform":
                part("sharpness", kind, torch.ones)[number, layer, head] = gate
                continue
            part("gates", kind, torch.ones)[number, layer, head] = gate
            if number in replaced:
                other = replaced[number][kind][layer, head]
                offsets = part("offsets", kind, torch.zeros, longest[kind], config.d_model // config.heads)
                offsets[number, layer, head] = (1 - gate) * other
    moved: dict[str, ByKind] = {
        name: {kind: tensor.to(device) for kind, tensor in by.items()} for name, by in parts.items()
    }
    patches = () if replacement is None else tuple(map(replacement.patches, interventions))
    return Edits(tuple(interventions), **moved, positions=positions.pop(), patches=patches if any(patches) else ())


def _patched(x: Tensor, patches: Sequence[VectorPatch], start: int) -> Tensor:
    """Put the vectors of patches into x [B, H, T, W] or [B, T, W]; cells of a row beyond its vector become 0."""
    there = [put for put in patches if start <= put[2] < start + x.shape[-2]]
    if there:
        x = x.clone()
    for row, head, position, value in there:
        cell = x[row, position - start] if x.ndim == 3 else x[row, head, position - start]
        cell[len(value) :] = 0
        cell[: len(value)] = value[: len(cell)]
    return x


def _given(weights: Tensor, row: Row, cells: Cells) -> Tensor:
    """Replace some cells of a row of weights [S]; the other cells share the rest in their old proportions."""
    where = f"Row {row[3] + 1} of {head_name(row[:3])}"
    beyond = [column for column, share in cells if column >= len(weights) and share > 0]
    if beyond:
        raise InterventionError(f"{where}: there is no column {beyond[0] + 1}, it has {len(weights)}.")
    columns = [column for column, _ in cells if column < len(weights)]
    shares = weights.new_tensor([share for column, share in cells if column < len(weights)])
    left = 1 - float(shares.sum())
    others = weights.index_fill(0, torch.tensor(columns, device=weights.device, dtype=torch.long), 0.0)
    total = float(others.sum())
    if left <= TOLERANCE:
        others, left, total = torch.zeros_like(others), 0.0, 1.0
    elif total == 0:
        raise InterventionError(
            f"{where}: the shares add up to {1 - left:.4g}, a row adds up to 1, and no other cell can take the rest."
        )
    others = others * (left / total)
    others[columns] = shares
    return others
