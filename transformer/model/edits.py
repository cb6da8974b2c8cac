"""Converts the interventions for a batch of texts into changes to the values that the model computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.model.site_edits import HookEdit, OutputsEdit, SiteEdit, StreamEdit, VectorPatch, WeightsEdit
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.kinds import KINDS, Kind
from transformer.values.patches import Place, has_heads
from transformer.values.sites import HookFunctions, check_hooks, functions_at

ByKind = Mapping[Kind, Tensor]
# One text's patches: each `Place` to overwrite, and the vector that replaces the value there.
Patches = tuple[tuple[Place, Tensor], ...]


class Replacement(Protocol):
    """Interface of objects that compute the replacement values for a run with interventions."""

    def __call__(self, interventions: Interventions) -> ByKind:
        """Return all heads' replacement outputs by kind: [L, H, P, K], or [L, H, 1, K] if constant over positions."""
        ...

    def patches(self, interventions: Interventions) -> Patches:
        """Return each patched `Place` and its vector: [K] for head outputs, [S] for rows of weights, [D] otherwise."""
        ...


@dataclass(frozen=True)
class Edits:
    """Changes to a model's values for a batch of texts; created by `edits_of`.

    Attributes:
        interventions: the interventions for each of the B texts; empty if no text has any.
        gates, sharpness: as in `OutputsEdit` and `WeightsEdit`, by kind, [B, L, H]; a kind whose values are all 1
            is absent.
        offsets: as in `OutputsEdit`, by kind, [B, L, H, 1 or P, K]; a kind whose values are all 0 is absent.
        positions: whether the positional encoding is applied; the same for every text.
        patches: the patches for each of the B texts; empty if no text has any.
        hooks: one or more functions by site, or by site and layer. They receive the whole batch's values after all
            other changes.

    Raises:
        InterventionError: a hook is invalid.
    """

    interventions: tuple[Interventions, ...] = ()
    gates: ByKind = field(default_factory=dict)
    sharpness: ByKind = field(default_factory=dict)
    offsets: ByKind = field(default_factory=dict)
    positions: bool = True
    patches: tuple[Patches, ...] = ()
    hooks: HookFunctions = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_hooks(self.hooks)

    @property
    def change_values(self) -> bool:
        """Whether any intervention or hook may change a value."""
        return bool(self.interventions or self.hooks)

    @property
    def change_attention(self) -> bool:
        """Whether an intervention changes attention masks, attention weights or head outputs."""
        return any(
            replace(each, positions=True, patches=()) != AS_TRAINED
            or any(has_heads(place[0]) for place, _ in each.patched())
            for each in self.interventions
        )

    def select(self, indices: Tensor) -> Edits:
        """Return the edits for the texts with these indices [B'] in the batch, in that order; repeats are allowed."""
        if not self.interventions:
            return self
        chosen = indices.tolist()
        return replace(
            self,
            interventions=tuple(self.interventions[text] for text in chosen),
            patches=tuple(self.patches[text] for text in chosen) if self.patches else (),
            **{
                name: {kind: part[indices] for kind, part in getattr(self, name).items()}
                for name in ("gates", "sharpness", "offsets")
            },
        )

    def at(self, kind: Kind, name: str, layer: int, *, start: int = 0) -> SiteEdit | None:
        """Return the edit to a layer's value at one site, for positions from `start` on; None for no change.

        Args:
            kind, name: the two parts of the site's name.
            layer: index of the layer; -1 outside the layers.
            start: position of the first query.
        """
        edit = self._of_interventions(kind, name, layer, start) if self.interventions else None
        for site in (f"{kind}.{name}", f"{kind}.{name}.{layer}"):
            for hook in functions_at(site, self.hooks) if site in self.hooks else ():
                edit = HookEdit(site, hook, edit, layer, start)
        return edit

    def mask(self, kind: Kind, queries: int, keys: int, device: torch.device, *, start: int = 0) -> Tensor | None:
        """Return a mask that is False for hidden tokens, bool [B, 1, queries, keys]; None if no token is hidden.

        The arguments are as in `Interventions.visible`. The returned mask is on `device`.
        """
        masks = [each.not_hidden(kind, queries, keys, start=start) for each in self.interventions]
        if all(mask.all() for mask in masks):
            return None
        return torch.stack([torch.from_numpy(mask) for mask in masks])[:, None].to(device)

    def lift(self, causal: Tensor) -> Tensor | None:
        """Return the causal mask [T, S], or None if it is switched off for all texts.

        If it is switched off for only some texts, the mask is [B, 1, T, S] and all True for these texts.
        """
        off = [not each.decoder_mask for each in self.interventions]
        if not any(off):
            return causal
        return None if all(off) else causal | torch.tensor(off, device=causal.device)[:, None, None, None]

    def _of_interventions(self, kind: Kind, name: str, layer: int, start: int) -> SiteEdit | None:
        # Patches of the residual stream specify a depth instead of a layer: 0 for the embeddings, l for the stream
        # after l layers.
        stream = name in ("embedding", "residual")
        patches = self._patches_at(f"{kind}.residual" if stream else f"{kind}.{name}", layer + stream)
        if name == "weights":
            return self._of_weights(kind, layer, patches, start)
        if name == "outputs":
            return self._of_outputs(kind, layer, patches, start)
        return StreamEdit(patches, start) if patches else None

    def _of_weights(self, kind: Kind, layer: int, patches: tuple[VectorPatch, ...], start: int) -> WeightsEdit | None:
        given = tuple(
            (text, row, cells)
            for text, each in enumerate(self.interventions)
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
            (text, place[2], place[3], value)
            for text, patches in enumerate(self.patches)
            for place, value in patches
            if place[:2] == (site, layer)
        )


UNEDITED = Edits()


def edits_of(
    interventions: Sequence[Interventions],
    config: TransformerConfig,
    replacement: Replacement | None = None,
    device: torch.device | str | None = None,
    hooks: HookFunctions | None = None,
) -> Edits:
    """Convert the interventions for a batch of texts into edits.

    Args:
        interventions: one `Interventions` object per text.
        config: configuration of the model.
        replacement: object that computes the outputs for the modes "mean" and "resample", and the vectors of patches.
        device: device of the model.
        hooks: as in `Edits`.

    Raises:
        ValueError: the positional encoding is switched off for some texts but not for others.
        InterventionError: the site of a hook does not exist.
    """
    if all(each == AS_TRAINED for each in interventions):
        return Edits(hooks=hooks) if hooks else UNEDITED
    positions = {each.positions for each in interventions}
    if len(positions) > 1:
        raise ValueError("the positional encoding must be switched off for either all or none of the texts in a batch")
    # Tensors by name and kind. A tensor is created only if it changes a value.
    parts: dict[str, dict[Kind, Tensor]] = {"gates": {}, "sharpness": {}, "offsets": {}}

    def part(name: str, kind: Kind, make: Callable[..., Tensor], *shape: int) -> Tensor:
        if kind not in parts[name]:
            parts[name][kind] = make(len(interventions), config.layers_of(kind), config.heads, *shape)
        return parts[name][kind]

    replaced: dict[int, ByKind] = {}
    if replacement is not None:
        replaced = {
            text: replacement(each)
            for text, each in enumerate(interventions)
            if each.mode in ("mean", "resample") and any(each.head_gates())
        }
    longest = {kind: max((each[kind].shape[2] for each in replaced.values()), default=1) for kind in KINDS}
    for text, each in enumerate(interventions):
        for (kind, layer, head), gate in each.head_gates():
            if each.mode == "uniform":
                part("sharpness", kind, torch.ones)[text, layer, head] = gate
                continue
            part("gates", kind, torch.ones)[text, layer, head] = gate
            if text in replaced:
                other = replaced[text][kind][layer, head]
                offsets = part("offsets", kind, torch.zeros, longest[kind], config.d_model // config.heads)
                offsets[text, layer, head] = (1 - gate) * other
    moved: dict[str, ByKind] = {
        name: {kind: tensor.to(device) for kind, tensor in by.items()} for name, by in parts.items()
    }
    patches = () if replacement is None else tuple(map(replacement.patches, interventions))
    return Edits(
        tuple(interventions),
        **moved,
        positions=positions.pop(),
        patches=patches if any(patches) else (),
        hooks=hooks or {},
    )


def _of_layer(by_kind: ByKind, kind: Kind, layer: int) -> Tensor | None:
    """Return one layer's slice [B, H, ...] of a tensor in `by_kind`; None if the kind is absent."""
    return by_kind[kind][:, layer] if kind in by_kind else None
