"""Converts attention that another program computed, in any common form, to arrays [L, H, rows, columns].

Letters: B texts of a batch, L layers, H heads. Nothing is guessed: input that is not attention weights is rejected with
one sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from transformer.errors import AttentionError
from transformer.values.foreign_tokens import Offsets, tokens_of
from transformer.values.interventions import AS_TRAINED
from transformer.values.kinds import KINDS, Kind
from transformer.values.tokens import Token

# Largest deviation of a row's sum from 1. A bfloat16 weight has only eight exact bits, and a row has hundreds of them.
TOLERANCE = 0.02


def weights_of(attention: Any, name: str, *, item: int | None = None, beam_indices: Any = None) -> np.ndarray:
    """Convert attention of one kind to weights, float32 [L, H, rows, columns].

    Args:
        attention: arrays of numpy, torch or jax, of any precision, or nested lists, in one of these forms:

            - [L, H, rows, columns], or [L, B, H, rows, columns];
            - one layer [H, rows, columns];
            - a list of layers [B, H, rows, columns] or [H, rows, columns];
            - as `generate` returns it, a list of steps, each a list of layers [B, H, new rows, columns so far].
        name: name of the attention, for error messages.
        item: index of the text in the batch; None if there is one text.
        beam_indices: the `beam_indices` that `generate` returned, [B, steps] or [steps]: the text's row of the batch at
            each step.

    Raises:
        AttentionError: `attention` has none of these forms.
    """
    if isinstance(attention, (list, tuple)) and not attention:
        # The last element of a model's outputs may be cross-attention, which is empty if the model has none.
        raise AttentionError(
            f"The {name} attention has no layers: take outputs.attentions instead of the last of the outputs, and load "
            'the model with attn_implementation="eager".'
        )
    if isinstance(attention, (list, tuple)):
        first = attention[0]
        if isinstance(first, (list, tuple)) and first and not isinstance(first[0], (list, tuple, float, int)):
            return _of_steps(attention, name, item, beam_indices)
        layers = [_of_batch(_numbers(layer, name), name, item) for layer in attention]
    else:
        array = _numbers(attention, name)
        layers = [_of_batch(layer, name, item) for layer in (array if array.ndim > 3 else [array])]
    if len({layer.shape for layer in layers}) != 1:
        raise AttentionError(
            f"The layers of the {name} attention have different shapes: give layers with the same number of heads and "
            "tokens."
        )
    return np.stack(layers)


@dataclass(frozen=True)
class Side:
    """The source or the target of attention from another program: its tokens, and how they become `Token` objects.

    Attributes:
        name: "source" or "target".
        tokens, text, offsets: arguments of `tokens_of`.
        mask: 1 for each token and 0 for padding, [N] or [B, N], like a tokenizer's `attention_mask`; None without
            padding. Tokens beyond the end of the mask are not padding: `generate` wrote them.
        item: index of the text in the batch; None if there is one text.
    """

    name: Literal["source", "target"]
    tokens: Sequence[str | Token]
    text: str | None = None
    offsets: Offsets | None = None
    mask: Any = None
    item: int | None = None

    def kept(self, count: int) -> np.ndarray:
        """Positions that are not padding, among the first `count` rows or columns."""
        if self.mask is None:
            return np.arange(count)
        mask = np.atleast_2d(_numbers(self.mask, f"{self.name} mask"))
        if self.item is None and len(mask) > 1:
            raise AttentionError(f"The {self.name} mask has {len(mask)} texts: choose one, for example with item=0.")
        row = mask[self.item or 0][:count] > 0
        if count and not row.any():
            raise AttentionError(f"The {self.name} mask leaves out every token: give 0 for padding only.")
        return np.flatnonzero(np.concatenate([row, np.ones(count - len(row), dtype=bool)]))

    def text_and_tokens(self, count: int) -> tuple[str, tuple[Token, ...]]:
        """The text, and a `Token` for each of `count` rows or columns that is not padding.

        If the target has one token more than rows, the result includes it: it is the last prediction.
        """
        given = len(self.tokens)
        if given < count:
            raise AttentionError(
                f"The {self.name} has {given} tokens, but its attention has {count} rows or columns: give one token "
                "for each, including special tokens and padding."
            )
        if self.offsets is not None and len(self.offsets) < given:
            raise AttentionError(f"The {self.name} has {given} tokens, {len(self.offsets)} offsets: give one for each.")
        kept = self.kept(count)
        more = [count] if self.name == "target" and given > count else []
        # In a batch, a shorter sequence has padding after its end, which no row reads.
        unread = tokens_of(list(self.tokens[count + len(more) :]))[1]
        if not all(token.special and more for token in unread):
            raise AttentionError(
                f"The {self.name} has {given} tokens, but its attention has {count} rows or columns: leave out the "
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
    """Build the fields of a `Trace` from attention; every unknown array is empty.

    Args:
        given: attention by kind, in a form that `weights_of` accepts; None for a kind that the model does not have.
        source, target: the two sides, with their tokens.
        beam_indices: as in `weights_of`.

    Raises:
        AttentionError: the arrays are not weights, or their shapes do not match each other or the tokens.
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
                    "give arrays of one run."
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
        # The last given token may be a prediction that no row reads. Without it, the predictions are unknown.
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
    """Whether no row of self-attention gives weight to a later column."""
    return weights.shape[-1] == weights.shape[-2] and not np.triu(weights, 1).any()


def check_axes(weights: np.ndarray, kind: Kind) -> None:
    """Check that weights [L, H, rows, columns] have their axes in this order, as far as the numbers show it.

    Raises:
        AttentionError: an axis is empty, or the axes seem to be in another order.
    """
    layer = list(weights.shape[1:])
    if not weights.size:
        raise AttentionError(f"A layer of the {kind} attention is {layer}: give at least one head and one token.")
    if kind != "cross" and layer[1] != layer[2]:
        raise AttentionError(
            f"A layer of the {kind} attention is {layer}: give [heads, rows, columns], with as many rows as columns. "
            "Attention from one text to another is cross."
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
        AttentionError: a row is not a distribution; the message says what the numbers seem to be.
    """
    what = f"The {name} attention"
    if not np.isfinite(weights).all():
        raise AttentionError(
            f"{what} has values that are not finite: mask padding with attention_mask, or run the model in float32."
        )
    if weights.min(initial=0) < 0 or weights.max(initial=0) > 1 + TOLERANCE:
        raise AttentionError(f"{what} holds scores instead of weights from 0 to 1: give the output of the softmax.")
    if _sum_to_one(weights, -1):
        return
    rows = weights.sum(axis=-1)
    raise AttentionError(
        f"{what} has rows that sum to between {rows.min():.3g} and {rows.max():.3g} instead of 1: call model.eval() "
        "before the run, because dropout changes weights, and give every column, also padding, with its attention mask."
    )


def _of_steps(steps: Sequence[Any], name: str, item: int | None, beam_indices: Any) -> np.ndarray:
    """Join the rows of all steps, [L, H, rows, columns]; columns that a step did not have are 0."""
    chosen: list[int | None] = [item] * len(steps)
    if beam_indices is not None:
        indices = np.atleast_2d(np.asarray(_numbers(beam_indices, "beam_indices"), dtype=int))
        row = indices[item or 0]
        chosen = [int(index) for index in row[: len(steps)] if index >= 0]
    parts: list[np.ndarray] = []
    done = 0
    for step, index in zip(steps, chosen, strict=False):
        layers = np.stack([_of_batch(_numbers(layer, name), name, index, beams=True) for layer in step])
        # Without a cache, each step computes all rows again; only its new rows are taken.
        parts.append(layers[..., done:, :] if layers.shape[-2] > done else layers)
        done += parts[-1].shape[-2]
    width = max(part.shape[-1] for part in parts)
    if name == "decoder":
        # A cache of a fixed size has columns that are not written yet; they are cut off.
        width = min(width, done)
    padded = [np.pad(part[..., :width], [(0, 0)] * 3 + [(0, max(0, width - part.shape[-1]))]) for part in parts]
    return np.concatenate(padded, axis=-2)


def _of_batch(layer: np.ndarray, name: str, item: int | None, *, beams: bool = False) -> np.ndarray:
    """Select one text of a layer, [H, rows, columns]."""
    if layer.ndim == 2:
        layer = layer[None]
    if layer.ndim == 4:
        if item is None and len(layer) > 1:
            raise AttentionError(
                f"The {name} attention has {len(layer)} texts or beams: choose one, for example with item=0"
                + (", or give the beam_indices that generate returned." if beams else ".")
            )
        if not -len(layer) <= (item or 0) < len(layer):
            raise AttentionError(f"The {name} attention has {len(layer)} texts, so there is no item {item}.")
        layer = layer[item or 0]
    if layer.ndim != 3:
        raise AttentionError(
            f"A layer of the {name} attention has {layer.ndim} axes: give [heads, rows, columns] for each layer, or "
            "[1, heads, rows, columns]."
        )
    return layer


def _numbers(array: Any, name: str) -> np.ndarray:
    """Convert an array of numpy, torch or jax, or a plain list, to float32."""
    if array is None:
        raise AttentionError(
            f"The {name} attention is None, because fused kernels return no weights: load the model with "
            'attn_implementation="eager" and call it with output_attentions=True.'
        )
    if hasattr(array, "detach"):
        # numpy has no bfloat16, so a tensor is first converted to float32.
        array = array.detach().cpu().float().numpy()
    try:
        return np.asarray(array).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise AttentionError(
            f"The {name} attention is not an array of numbers but a {type(array).__name__}: of a model's outputs, give "
            "attentions, or encoder_attentions, decoder_attentions and cross_attentions."
        ) from error
