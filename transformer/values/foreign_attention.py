"""Converts attention weights from other programs, in any common layout, to arrays [L, H, rows, columns].

Letters: B texts in a batch, L layers, H heads. Input that does not contain attention weights is rejected with a message
that says what to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from transformer.errors import AttentionError
from transformer.values.foreign_tokens import Offsets, tokens_of
from transformer.values.interventions import AS_TRAINED
from transformer.values.kinds import KINDS, Kind
from transformer.values.tokens import Token

# Largest allowed deviation of a row's sum from 1. A row may have hundreds of bfloat16 weights, each accurate to 8 bits.
TOLERANCE = 0.02


def weights_of(attention: Any, name: str, *, item: int | None = None, beam_indices: Any = None) -> np.ndarray:
    """Convert the attention weights of one attention kind to a float32 array [L, H, rows, columns].

    Args:
        attention: numpy, torch or jax arrays of any precision, or nested lists, in one of these layouts:

            - [L, H, rows, columns], or [L, B, H, rows, columns];
            - one layer [H, rows, columns];
            - a list of layers [B, H, rows, columns] or [H, rows, columns];
            - the attentions that `generate` returns: a list of steps, each a list of layers
              [B, H, new rows, columns so far].
        name: attention kind, for error messages.
        item: index of the text in the batch; None if the batch has one text.
        beam_indices: `beam_indices` as returned by `generate`, [B, steps] or [steps]: the batch row of the text's
            hypothesis at each step.

    Raises:
        AttentionError: `attention` has none of these layouts, or `item` does not select a text.
    """
    if isinstance(attention, (list, tuple)) and not attention:
        # A common mistake is to pass outputs[-1], which may be an empty tuple of cross-attentions.
        raise AttentionError(
            f"The {name} attention has no layers: pass outputs.attentions instead of the last output, and load "
            'the model with attn_implementation="eager".'
        )
    if isinstance(attention, (list, tuple)):
        first = attention[0]
        if isinstance(first, (list, tuple)) and first and not isinstance(first[0], (list, tuple, float, int)):
            return _of_steps(attention, name, item, beam_indices)
        layers = [_of_batch(_weights(layer, name), name, item) for layer in attention]
    else:
        array = _weights(attention, name)
        layers = [_of_batch(layer, name, item) for layer in (array if array.ndim > 3 else [array])]
    if len({layer.shape for layer in layers}) != 1:
        raise AttentionError(
            f"The layers of the {name} attention have different shapes: pass layers with the same number of heads and "
            "tokens."
        )
    return np.stack(layers)


@dataclass(frozen=True)
class Side:
    """Source or target text of imported attention: the tokens, and the data needed to convert them to `Token` objects.

    Attributes:
        name: "source" or "target".
        tokens, text, offsets: arguments of `tokens_of`.
        mask: 1 for each token and 0 for padding, [N] or [B, N], like a tokenizer's `attention_mask`; None if there is
            no padding. Tokens beyond the end of the mask were written by `generate`, and none of them is padding.
        item: index of the text in the batch; None if the batch has one text.
    """

    name: Literal["source", "target"]
    tokens: Sequence[str | Token]
    text: str | None = None
    offsets: Offsets | None = None
    mask: Any = None
    item: int | None = None

    def kept(self, count: int) -> np.ndarray:
        """Return the positions among the first `count` rows or columns that are not padding."""
        if self.mask is None:
            return np.arange(count)
        mask = np.atleast_2d(_numbers(self.mask, f"{self.name} mask"))
        if self.item is None and len(mask) > 1:
            raise AttentionError(f"The {self.name} mask has {len(mask)} texts: choose one, for example with item=0.")
        row = mask[self.item or 0][:count] > 0
        if count and not row.any():
            raise AttentionError(f"The {self.name} mask hides every token: use 0 for padding only.")
        return np.flatnonzero(np.concatenate([row, np.ones(count - len(row), dtype=bool)]))

    def text_and_tokens(self, count: int) -> tuple[str, tuple[Token, ...]]:
        """Return the text, and a `Token` for each of the `count` rows or columns that is not padding.

        A target may have one more token than its attention has rows. The extra token, the last prediction, is included.
        """
        given = len(self.tokens)
        if given < count:
            raise AttentionError(
                f"The {self.name} has {given} tokens, but its attention has {count} rows or columns: pass one token "
                "for each, including special tokens and padding."
            )
        if self.offsets is not None and len(self.offsets) < given:
            raise AttentionError(
                f"The {self.name} has {given} tokens but {len(self.offsets)} offsets: pass one offset for each token."
            )
        kept = self.kept(count)
        more = [count] if self.name == "target" and given > count else []
        # In a batch, shorter texts end in padding tokens, which have no attention rows.
        unread = tokens_of(list(self.tokens[count + len(more) :]))[1]
        if not all(token.special and more for token in unread):
            raise AttentionError(
                f"The {self.name} has {given} tokens, but its attention has {count} rows or columns: remove the "
                "tokens that the model did not read."
            )
        places = [*map(int, kept), *more]
        return tokens_of(
            [self.tokens[place] for place in places],
            text=self.text,
            offsets=None if self.offsets is None else [self.offsets[place] for place in places],
            first="start" if self.name == "target" else "",
        )


def fields_of(given: Mapping[Kind, Any], source: Side, target: Side, *, beam_indices: Any = None) -> dict[str, Any]:
    """Build a `Trace`'s fields from imported attention. Arrays that the attention does not determine are empty.

    Args:
        given: attention by attention kind, in any layout that `weights_of` accepts; None for kinds that the model
            lacks.
        source, target: source and target text with their tokens.
        beam_indices: as in `weights_of`.

    Raises:
        AttentionError: an array does not contain attention weights, or its shape does not match another array or the
            tokens.
    """
    found: dict[Kind, np.ndarray] = {
        kind: weights_of(attention, kind, item=source.item, beam_indices=None if kind == "encoder" else beam_indices)
        for kind, attention in given.items()
        if attention is not None
    }
    if not found:
        weights_of(None, "model's")
    sides = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    counts: dict[str, int] = {}
    for kind, weights in found.items():
        check_axes(weights, kind)
        for side, count in zip(sides[kind], weights.shape[-2:], strict=True):
            if counts.setdefault(side.name, count) != count:
                raise AttentionError(
                    f"The {kind} attention has {count} {side.name} tokens, but another array has {counts[side.name]}: "
                    "pass arrays from one run."
                )
    read: dict[str, tuple[str, tuple[Token, ...]]] = {"source": ("", ()), "target": ("", ())}
    for side in (source, target):
        if side.name in counts:
            read[side.name] = side.text_and_tokens(counts[side.name])
    (source_text, source_tokens), (target_text, written) = read["source"], read["target"]
    lengths = {side.name: len(side.kept(counts.get(side.name, 0))) for side in (source, target)}
    target_tokens = written[: lengths["target"]]
    arrays: dict[str, np.ndarray] = {}
    for kind in KINDS:
        rows, columns = sides[kind]
        size = lengths[rows.name], lengths[columns.name]
        weights = found.get(kind, np.zeros((0, 0, counts.get(rows.name, 0), counts.get(columns.name, 0)), np.float32))
        weights = weights[..., rows.kept(weights.shape[-2]), :][..., columns.kept(weights.shape[-1])]
        check_rows(weights, kind)
        arrays[kind] = weights
        masked = kind == "decoder" and is_causal(weights)
        arrays[f"{kind}_mask"] = np.tri(*size, dtype=bool) if masked else np.ones(size, dtype=bool)
    unknown = np.zeros(0, np.float32)
    return {
        **arrays,
        "source_text": source_text,
        "target_text": target_text,
        "source_tokens": source_tokens,
        "target_tokens": target_tokens,
        # If there is one more target token than there are rows, each row predicts the next token. Otherwise, the
        # predictions are unknown.
        "predicted_tokens": written[1:] if len(written) > len(target_tokens) else (),
        "complete": True,
        "log_probs": unknown,
        "entropy": unknown,
        "candidate_ids": np.zeros((0, 0), np.int64),
        "candidate_log_probs": np.zeros((0, 0), np.float32),
        "details": {},
        "interventions": AS_TRAINED,
    }


def is_causal(weights: np.ndarray) -> bool:
    """Whether self-attention weights are causal: every weight above the diagonal is 0."""
    return weights.shape[-1] == weights.shape[-2] and not np.triu(weights, 1).any()


def check_axes(weights: np.ndarray, kind: Kind) -> None:
    """Check, as far as shape and values allow, that attention weights have the axes [L, H, rows, columns].

    Raises:
        AttentionError: an axis is empty, a self-attention map is not square, or rows and columns seem to be swapped.
    """
    layer = list(weights.shape[1:])
    if not weights.size:
        raise AttentionError(
            f"A layer of the {kind} attention has the shape {layer}: pass at least one head and one token."
        )
    if kind != "cross" and layer[1] != layer[2]:
        raise AttentionError(
            f"A layer of the {kind} attention has the shape {layer}: pass [heads, rows, columns], with as many rows as "
            "columns. If one text attends to another, pass the weights as cross-attention."
        )
    if _sum_to_one(weights, -2) and not _sum_to_one(weights, -1):
        raise AttentionError(
            f"The {kind} attention has columns that sum to 1: swap its last two axes, so that rows are queries."
        )


def _sum_to_one(weights: np.ndarray, axis: int) -> bool:
    return bool(np.abs(weights.sum(axis=axis) - 1).max(initial=0) <= TOLERANCE)


def check_rows(weights: np.ndarray, name: str) -> None:
    """Check that every row of attention weights is a probability distribution.

    Raises:
        AttentionError: a row is not a distribution; the message suggests the likely cause.
    """
    what = f"The {name} attention"
    if not np.isfinite(weights).all():
        raise AttentionError(
            f"{what} has values that are not finite: mask padding with attention_mask, or run the model in float32."
        )
    if weights.min(initial=0) < 0 or weights.max(initial=0) > 1 + TOLERANCE:
        raise AttentionError(f"{what} contains scores instead of weights from 0 to 1: pass the softmax output.")
    if _sum_to_one(weights, -1):
        return
    rows = weights.sum(axis=-1)
    raise AttentionError(
        f"{what} has rows whose sums are between {rows.min():.3g} and {rows.max():.3g} instead of 1. Call "
        "model.eval() before the run, because dropout changes weights. Also check that the attention mask and all "
        "columns, including padding, are passed."
    )


def _of_steps(steps: Sequence[Any], name: str, item: int | None, beam_indices: Any) -> np.ndarray:
    """Concatenate the rows of all decoding steps into [L, H, rows, columns], padding missing columns with 0."""
    chosen: list[int | None] = [item] * len(steps)
    if beam_indices is not None:
        indices = np.atleast_2d(np.asarray(_numbers(beam_indices, "beam_indices"), dtype=int))
        row = indices[item or 0]
        chosen = [int(index) for index in row[: len(steps)] if index >= 0]
    parts: list[np.ndarray] = []
    done = 0
    for step, index in zip(steps, chosen, strict=False):
        layers = np.stack([_of_batch(_weights(layer, name), name, index, beams=True) for layer in step])
        # Without a key-value cache, each step recomputes all earlier rows, so keep only the new rows.
        parts.append(layers[..., done:, :] if layers.shape[-2] > done else layers)
        done += parts[-1].shape[-2]
    width = max(part.shape[-1] for part in parts)
    if name == "decoder":
        # A static key-value cache has columns for positions not yet written: cut them off.
        width = min(width, done)
    padded = [np.pad(part[..., :width], [(0, 0)] * 3 + [(0, max(0, width - part.shape[-1]))]) for part in parts]
    return np.concatenate(padded, axis=-2)


def _of_batch(layer: np.ndarray, name: str, item: int | None, *, beams: bool = False) -> np.ndarray:
    """Select one text's attention weights [H, rows, columns] from a layer's batch."""
    if layer.ndim == 2:
        layer = layer[None]
    if layer.ndim == 4:
        if item is None and len(layer) > 1:
            raise AttentionError(
                f"The {name} attention has {len(layer)} texts or beams: choose one, for example with item=0"
                + (", or pass the beam_indices returned by generate." if beams else ".")
            )
        if not -len(layer) <= (item or 0) < len(layer):
            raise AttentionError(f"The {name} attention has {len(layer)} texts, so there is no item {item}.")
        layer = layer[item or 0]
    if layer.ndim != 3:
        raise AttentionError(
            f"A layer of the {name} attention has {layer.ndim} axes: pass [heads, rows, columns] for each layer, or "
            "[1, heads, rows, columns]."
        )
    return layer


def _weights(array: Any, name: str) -> np.ndarray:
    if array is None:
        raise AttentionError(
            f"The {name} attention is None, because fused kernels return no weights: load the model with "
            'attn_implementation="eager" and call it with output_attentions=True.'
        )
    outputs = "outputs.attentions, or outputs.encoder_attentions, .decoder_attentions and .cross_attentions"
    return _numbers(array, f"{name} attention", remedy=f": pass the model's {outputs}")


def _numbers(array: Any, what: str, *, remedy: str = "") -> np.ndarray:
    """Convert a numpy, torch or jax array, or a nested list, to a float32 numpy array."""
    if hasattr(array, "detach"):
        # numpy has no bfloat16, so torch converts the tensor to float32 first.
        array = array.detach().cpu().float().numpy()
    try:
        return np.asarray(array).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise AttentionError(f"The {what} is not an array of numbers but a {type(array).__name__}{remedy}.") from error
