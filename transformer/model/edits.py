"""Converts the interventions of a batch to tensors, which change attention and the residual stream in each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.model.masks import causal_mask
from transformer.model.site_edits import OutputsEdit, SiteEdit, StreamEdit, VectorPatch, WeightsEdit
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.kinds import KINDS, Kind
from transformer.values.patches import Place, has_heads

# A tensor [B, L, H, ...] for each kind of attention.
ByKind = Mapping[Kind, Tensor]
# Places of one run, and the vector that replaces the value at each.
Patches = tuple[tuple[Place, Tensor], ...]


class Replacement(Protocol):
    """Source of values from other runs, for a run with interventions."""

    def __call__(self, interventions: Interventions) -> ByKind:
        """The outputs that replace those of every head, [L, H, 1 or P, K] by kind, for at most P positions."""
        ...

    def patches(self, interventions: Interventions) -> Patches:
        """The patched places and their vectors: [K] for a head's output, [S] for a row of weights, otherwise [D]."""
        ...


@dataclass(frozen=True)
class Edits:
    """Changes to all rows of a batch, as `edits_of` makes them.

    Attributes:
        interventions: one for each of the B rows; empty if no row has any.
        gates, sharpness: as in `OutputsEdit` and `WeightsEdit`, by kind, [B, L, H]; absent if all are 1.
        offsets: as in `OutputsEdit`, by kind, [B, L, H, 1 or P, K]; absent if all are 0.
        positions: whether the positional encoding is added; the same for every row.
        patches: those of each of the B rows; empty if no row has any.
    """

    interventions: tuple[Interventions, ...] = ()
    gates: ByKind = field(default_factory=dict)
    sharpness: ByKind = field(default_factory=dict)
    offsets: ByKind = field(default_factory=dict)
    positions: bool = True
    patches: tuple[Patches, ...] = ()

    @property
    def change_attention(self) -> bool:
        """Whether an intervention changes masks, weights or outputs of attention."""
        return any(
            replace(each, positions=True, patches=()) != AS_TRAINED
            or any(has_heads(place[0]) for place, _ in each.patched())
            for each in self.interventions
        )

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

    def at(self, kind: Kind, name: str, layer: int, *, start: int = 0) -> SiteEdit | None:
        """The change to a value of a layer, for positions from `start` on; None for no change.

        Args:
            kind, name: the two parts of a site of `Recorder`.
            layer: index of the layer; -1 for the embeddings, which are the residual stream before the first layer.
            start: position of the first token.
        """
        if not self.interventions:
            return None
        # In the residual stream, a patch names the depth.
        patches = self._patches_at(f"{kind}.{name}", layer + 1 if name == "residual" else layer)
        if name == "weights":
            return self._of_weights(kind, layer, patches, start)
        if name == "outputs":
            return self._of_outputs(kind, layer, patches, start)
        return StreamEdit(patches, start) if patches else None

    def allowed(self, kind: Kind, queries: int, keys: int, device: torch.device, *, start: int = 0) -> Tensor | None:
        """The mask of the interventions, bool, broadcastable to [B, H, queries, keys]; None allows everything.

        Padding is not part of it. The arguments are those of `Interventions.visible`.
        """
        if not self.interventions:
            # The mask is built on the device, because training calls this at every step.
            causal = kind == "decoder" and queries > 1
            return causal_mask(keys, device=device)[start:] if causal else None
        masks = [each.visible(kind, queries, keys, start=start) for each in self.interventions]
        if all(mask.all() for mask in masks):
            return None
        return torch.stack([torch.from_numpy(mask) for mask in masks])[:, None].to(device)

    def _of_weights(self, kind: Kind, layer: int, patches: tuple[VectorPatch, ...], start: int) -> WeightsEdit | None:
        given = tuple(
            (number, row, cells)
            for number, each in enumerate(self.interventions)
            for row, cells in each.given_rows()
            if row[:2] == (kind, layer)
        )
        sharpness = _of_layer(self.sharpness, kind, layer)
        if sharpness is None and not given and not patches:
            return None
        return WeightsEdit(None if sharpness is None else sharpness[..., None, None], given, patches, start)

    def _of_outputs(self, kind: Kind, layer: int, patches: tuple[VectorPatch, ...], start: int) -> OutputsEdit | None:
        gate, offset = _of_layer(self.gates, kind, layer), _of_layer(self.offsets, kind, layer)
        if gate is None and offset is None and not patches:
            return None
        return OutputsEdit(None if gate is None else gate[..., None, None], offset, patches, start)

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


def _of_layer(by_kind: ByKind, kind: Kind, layer: int) -> Tensor | None:
    """The part [B, H, ...] of a layer; None if the kind is absent."""
    return by_kind[kind][:, layer] if kind in by_kind else None
