"""Changes and records the values that one run computes, at named sites.

Hooks are an argument of the run. torch's hooks would stay on the modules, which several users share.
"""

from __future__ import annotations

from torch import Tensor

from transformer.model.edits import Edits
from transformer.model.recorder import Recorder
from transformer.model.site_edits import SiteEdit
from transformer.values.kinds import Kind, Stack


class Hooks:
    """Changes and records the values of one layer in one run. The layer calls `at` where a value arises.

    Args:
        edits, record: those of the run.
        kind: the stack, or the kind of attention.
        layer: index of the layer; -1 outside the layers.
        start: position of the run's first token.
    """

    __slots__ = ("_edits", "_kind", "_layer", "_record", "_start")

    def __init__(self, edits: Edits, record: Recorder | None, kind: Kind, *, layer: int = -1, start: int = 0) -> None:
        self._edits = edits
        self._record = record
        self._kind: Kind = kind
        self._layer, self._start = layer, start

    def of_layer(self, layer: int) -> Hooks:
        """The hooks of another layer of the stack."""
        return Hooks(self._edits, self._record, self._kind, layer=layer, start=self._start)

    def of_attention(self, kind: Kind) -> Hooks:
        """The hooks of this layer's attention of one kind."""
        return Hooks(self._edits, self._record, kind, layer=self._layer, start=self._start)

    @property
    def need_weights(self) -> bool:
        """Whether attention scores or weights are changed or recorded; a fused kernel returns none."""
        return self._record is not None or any(self._edit(name) is not None for name in ("scores", "weights"))

    def at(self, name: str, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Change a value, record it, and return it for the model to go on with.

        Args:
            name: name of the value; with the kind, it is one of `values.sites.SITES`, such as "cross.weights".
            x: the value that the model computed.
            mask: the attention mask, if the value is attention weights.
        """
        edit = self._edit(name)
        if edit is not None:
            x = edit(x, mask)
        if self._record is not None:
            self._record.store(self._kind, name, x)
        return x

    def _edit(self, name: str) -> SiteEdit | None:
        return self._edits.at(self._kind, name, self._layer, start=self._start)


class _NoHooks(Hooks):
    """Hooks of a run without changes and without a recorder."""

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
    """The hooks of a run through a stack, outside its layers; `of_layer` returns those of each layer."""
    return Hooks(edits, record, stack, start=start) if edits.change_values or record is not None else NO_HOOKS
