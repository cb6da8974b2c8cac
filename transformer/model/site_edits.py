"""Edits to the values at one site, for all texts in a batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.errors import InterventionError
from transformer.values.interventions import TOLERANCE, Cells, Row, head_name
from transformer.values.sites import HookFunction

# Text index in the batch, head, position, and the vector that replaces the value at that position.
VectorPatch = tuple[int, int, int, Tensor]
# Function of the value at a site and, for attention weights, of the mask. It returns the value to use instead.
SiteEdit = Callable[[Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class WeightsEdit:
    """Changes to the weights of one attention layer.

    Attributes:
        sharpness: fraction of a head's own weights to keep, [B, H, 1, 1]; the rest is spread evenly over the
            visible tokens. None means 1.
        given: rows of weights set by the user. Each entry is the text index, the row (kind, layer, head, query), and
            its cells.
        patches: rows of weights from other runs.
        start: position of the first query.
    """

    sharpness: Tensor | None = None
    given: tuple[tuple[int, Row, Cells], ...] = ()
    patches: tuple[VectorPatch, ...] = ()
    start: int = 0

    def __call__(self, weights: Tensor, mask: Tensor | None) -> Tensor:
        """Return the weights [B, H, T, S] to use instead of the model's; rows sum to 1, and masked cells stay 0.

        Raises:
            InterventionError: a row that the user set has a column that does not exist, or cannot sum to 1.
        """
        if self.sharpness is not None:
            visible = torch.ones_like(weights) if mask is None else mask.expand_as(weights).to(weights.dtype)
            even = visible / visible.sum(dim=-1, keepdim=True).clamp_min(1)
            # With the weighted sum written in this way, a sharpness of 1 leaves the weights bitwise unchanged.
            weights = self.sharpness * weights + (1 - self.sharpness) * even
        if self.given:
            weights = weights.clone()
        for text, row, cells in self.given:
            query = row[3] - self.start
            if 0 <= query < weights.shape[2]:
                place = text, row[2], query
                weights[place] = _given(weights[place], row, cells)
        return _patched(weights, self.patches, self.start)


@dataclass(frozen=True)
class OutputsEdit:
    """Changes to the outputs of the heads in one attention layer.

    The changes act on each head before the heads are joined, because the output projection mixes the heads.

    Attributes:
        gate: factor that multiplies each head's output, [B, H, 1, 1]; None means 1.
        offset: vectors added to the gated output, [B, H, P, K] for the first P positions or [B, H, 1, K] for all; None
            for 0.
        patches: outputs from other runs.
        start: position of the first query.
    """

    gate: Tensor | None = None
    offset: Tensor | None = None
    patches: tuple[VectorPatch, ...] = ()
    start: int = 0

    def __call__(self, outputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the outputs [B, H, T, K] to use instead of the model's."""
        if self.gate is not None:
            outputs = self.gate * outputs
        if self.offset is not None:
            positions = slice(self.start, self.start + outputs.shape[2])
            outputs = outputs + (self.offset if self.offset.shape[2] == 1 else self.offset[:, :, positions])
        return _patched(outputs, self.patches, self.start)


@dataclass(frozen=True)
class StreamEdit:
    """Replaces vectors of the residual stream or of a feed-forward output with vectors from other runs.

    Attributes:
        patches: vectors from other runs.
        start: position of the first vector passed to the edit.
    """

    patches: tuple[VectorPatch, ...]
    start: int = 0

    def __call__(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the vectors [B, T, D] to use instead of the model's."""
        return _patched(x, self.patches, self.start)


@dataclass(frozen=True)
class HookEdit:
    """A user's hook, which reads or changes the value at a site after any other edit.

    Attributes:
        site: name of the site.
        hook: a function as in `Edits.hooks`.
        edit: edit to apply before the hook; None for no edit.
        layer, start: arguments passed to the hook.
    """

    site: str
    hook: HookFunction
    edit: SiteEdit | None
    layer: int
    start: int

    def __call__(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the value to use instead of x, with the same shape as x.

        Raises:
            InterventionError: the hook returns neither None nor a tensor of the same shape as x.
        """
        if self.edit is not None:
            x = self.edit(x, mask)
        # The hook may write into its copy, but not into x, which may be a view of cached keys and values.
        copy = x.clone()
        given = self.hook(copy, self.layer, self.start)
        if given is None:
            # If nothing changed, return x itself: its memory layout keeps all later results bitwise identical. In a run
            # that needs gradients, return the copy, because the hook may have kept it.
            return x if not copy.requires_grad and torch.equal(copy, x) else copy
        if not isinstance(given, Tensor) or given.shape != x.shape:
            found = f"{type(given).__name__} {tuple(getattr(given, 'shape', ()))}"
            raise InterventionError(
                f"the hook at {self.site} returned {found}: return a tensor of shape {tuple(x.shape)}, or None"
            )
        return given.to(x)


def _patched(x: Tensor, patches: Sequence[VectorPatch], start: int) -> Tensor:
    """Return x [B, H, T, W] or [B, T, W] with rows replaced by the patches' vectors, cut or zero-padded to length W."""
    there = [put for put in patches if start <= put[2] < start + x.shape[-2]]
    if there:
        x = x.clone()
    for text, head, position, value in there:
        cell = x[text, position - start] if x.ndim == 3 else x[text, head, position - start]
        cell[len(value) :] = 0
        cell[: len(value)] = value[: len(cell)]
    return x


def _given(weights: Tensor, row: Row, cells: Cells) -> Tensor:
    """Replace some cells of a row of weights [S]; the other cells share the rest in proportion to their weights."""
    where = f"Row {row[3] + 1} of {head_name(row[:3])}"
    beyond = [column for column, share in cells if column >= len(weights) and share > 0]
    if beyond:
        raise InterventionError(f"{where}: there is no column {beyond[0] + 1}; the row has {len(weights)} columns.")
    columns = [column for column, _ in cells if column < len(weights)]
    shares = weights.new_tensor([share for column, share in cells if column < len(weights)])
    left = 1 - float(shares.sum())
    others = weights.index_fill(0, torch.tensor(columns, device=weights.device, dtype=torch.long), 0.0)
    total = float(others.sum())
    if left <= TOLERANCE:
        others, left, total = torch.zeros_like(others), 0.0, 1.0
    elif total == 0:
        raise InterventionError(
            f"{where}: the weights add up to {1 - left:.4g}, and no other cell can get the rest: make them add up to 1."
        )
    others = others * (left / total)
    others[columns] = shares
    return others
