"""Changes and records the values that a model run computes, at named sites.

Each model run receives its hooks as an argument. torch's own hooks would be stored on the modules, which several
users share.
"""

from __future__ import annotations

from torch import Tensor

from transformer.model.edits import Edits
from transformer.model.recorder import Recorder
from transformer.model.site_edits import SiteEdit
from transformer.values.kinds import Kind, Stack


class Hooks:
    """Changes and records the values of one layer in one model run. The layer calls `at` with the value at each site.

    Args:
        edits, record: the model run's edits and recorder; if `record` is None, nothing is recorded.
        kind: the stack or the attention kind.
        layer: index of the layer; -1 outside the layers.
        start: position of the first token in the model run.
    """

    __slots__ = ("_edits", "_kind", "_layer", "_record", "_start")

    def __init__(self, edits: Edits, record: Recorder | None, kind: Kind, *, layer: int = -1, start: int = 0) -> None:
        self._edits = edits
        self._record = record
        self._kind: Kind = kind
        self._layer, self._start = layer, start

    def of_layer(self, layer: int) -> Hooks:
        """Return the hooks for another layer of the same stack."""
        return Hooks(self._edits, self._record, self._kind, layer=layer, start=self._start)

    def of_attention(self, kind: Kind) -> Hooks:
        """Return the hooks for one attention kind in this layer."""
        return Hooks(self._edits, self._record, kind, layer=self._layer, start=self._start)

    @property
    def need_weights(self) -> bool:
        """Whether attention scores or weights are changed or recorded; the fused kernel returns neither."""
        return self._record is not None or any(self._edit(name) is not None for name in ("scores", "weights"))

    def at(self, name: str, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Change and record a value, and return the changed value for the model to use.

        Args:
            name: name of the value. Together with the kind of this `Hooks` object, it forms a site in
                `values.sites.SITES`, such as "cross.weights".
            x: the value that the model computed.
            mask: the attention mask, if the value is attention weights.
        """
        edit = self._edit(name)
        if edit is not None:
            x = edit(x, mask)
        return x if self._record is None else self._record.store(self._kind, name, x)

    def _edit(self, name: str) -> SiteEdit | None:
        return self._edits.at(self._kind, name, self._layer, start=self._start)


class _NoHooks(Hooks):
    """Hooks that change and record nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Edits(), None, "encoder")

    def of_layer(self, layer: int) -> Hooks:
        return self

    def of_attention(self, kind: Kind) -> Hooks:
        return self

    @property
    def need_weights(self) -> bool:
        return False

    def at(self, name: str, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x


NO_HOOKS = _NoHooks()


def hooks_of(edits: Edits, record: Recorder | None, stack: Stack, *, start: int = 0) -> Hooks:
    """Return the hooks for a stack's values outside its layers; `of_layer` returns those for a layer."""
    return Hooks(edits, record, stack, start=start) if edits.change_values or record is not None else NO_HOOKS
