"""Activations from other inputs, for mean ablation, resample ablation and activation patching.

Mean ablation removes the information in the variation of a head's output, but the mean may be an output that the head
never produces. Resample ablation instead uses the head's output on another input (Chan et al. 2022, "Causal
Scrubbing"; the default of ACDC, Conmy et al. 2023). In these papers, all prompts have the same length, so position i
takes the output at position i of the other prompt. Natural sentences cannot be aligned by position. Here, every
position therefore takes the output at a random position of the other sentence; all heads of a stack use the same random
positions. Averaged over many draws, the replacement approaches that of mean ablation, except that all sentences have
equal weight, regardless of length.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from transformer.decoding.texts import MAX_TOKENS
from transformer.errors import InterventionError
from transformer.model.edits import ByKind, Patches
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import Interventions
from transformer.values.kinds import KINDS, Kind
from transformer.values.patches import Pair, Place, has_heads, is_residual, kind_of

# Maximum number of source or target positions, including the start or end symbol.
POSITIONS = MAX_TOKENS + 1


class HeadReplacements:
    """Computes the activations that replace head outputs, and those that patches copy. Used by `edits_of`.

    Create a new object for every model run.

    Args:
        model: model in evaluation mode; use this object under `torch.inference_mode()`.
        means: the heads' mean outputs and the sentences they were measured on; None if not available.
        source_ids: token ids of the source text, from which no replacement is sampled; empty for a language model.
        positions: maximum number of positions in the run.
    """

    def __init__(
        self, model: Transformer, means: HeadMeans | None, source_ids: Sequence[int], positions: int = POSITIONS
    ) -> None:
        self._model, self._means = model, means
        self._source_ids, self._positions = tuple(source_ids), positions
        self._drawn: dict[tuple[int, int], ByKind] = {}
        self._records: dict[Pair, Recorder] = {}

    def __call__(self, interventions: Interventions) -> ByKind:
        """Return every head's replacement output by attention kind, on the CPU.

        The shape is [L, H, 1, K] in the mode mean, and otherwise [L, H, P, K], where P is the class's `positions`.

        Raises:
            InterventionError: the model is a language model, or has no measured means, or no sentences to sample
                from.
        """
        if not self._model.config.encoder_layers:
            raise InterventionError(
                f"The mode {interventions.mode} needs the heads' outputs on other sentences, which are measured only "
                "for translators: choose the mode zero or uniform."
            )
        if self._means is None:
            raise InterventionError(
                "The heads' mean outputs are missing for this model: measure them with "
                "`python -m transformer.analysis means`, or choose the mode zero or uniform."
            )
        if interventions.mode == "mean":
            return {kind: torch.from_numpy(self._means.outputs[kind][:, :, None].copy()) for kind in KINDS}
        draw = interventions.seed, interventions.draw
        if draw not in self._drawn:
            pair, places = drawn(self._means.pairs, self._source_ids, *draw)
            outputs = head_outputs(self._model, pair)
            # Move all outputs to the CPU in one transfer, because edits are combined there head by head.
            self._drawn[draw] = {kind: outputs[kind][:, :, places[kind][: self._positions]].cpu() for kind in KINDS}
        return self._drawn[draw]

    def patches(self, interventions: Interventions) -> Patches:
        """Return each patched `Place`, and the activation copied there from an unmodified run on the other sentence."""
        if interventions.other is None:
            return ()
        if interventions.other not in self._records:
            self._records[interventions.other] = recorded(self._model, interventions.other)
        record = self._records[interventions.other]
        return tuple((place, value_at(record, place, position)) for place, position in interventions.patched())


def drawn(
    pairs: Sequence[Pair], source_ids: Sequence[int], seed: int, draw: int
) -> tuple[Pair, dict[Kind, np.ndarray]]:
    """Sample another sentence and, for each attention kind, a position in it for every position in a model run.

    Draws with the same seed go through all sentences in one random order, and then start over.

    Args:
        pairs: sentences to sample from.
        source_ids: token ids of the model's source text, which is never sampled.
        seed, draw: fields of `Interventions`.

    Raises:
        InterventionError: `pairs` has no sentence other than the source.
    """
    shuffled = np.random.default_rng(seed).permutation(len(pairs))
    others = [pairs[number] for number in shuffled if pairs[number][0] != tuple(source_ids)]
    if not others:
        raise InterventionError(
            "There are no other sentences whose head outputs could be used: measure head outputs with "
            "`python -m transformer.analysis means`, or choose the mode zero, mean or uniform."
        )
    pair = others[draw % len(others)]
    random = np.random.default_rng([seed, draw])
    encoder, decoder = (random.integers(len(side), size=POSITIONS) for side in pair)
    return pair, {"encoder": encoder, "decoder": decoder, "cross": decoder}


def head_outputs(model: Transformer, pair: Pair) -> dict[Kind, Tensor]:
    """Run a model on a sentence and its translation; return all heads' outputs, [L, H, N, K] by attention kind."""
    record = recorded(model, pair)
    return {kind: torch.cat(record.tensors[f"{kind}.outputs"]) for kind in KINDS}


def recorded(model: Transformer, pair: Pair) -> Recorder:
    """Run a model on a sentence and its translation, and record all activations; a language model's source is empty."""
    source, target = (torch.tensor([ids], device=model.device) for ids in pair)
    record = Recorder(details=True)
    memory = model.encode(source, None, record=record) if pair[0] else None
    model.decode(target, memory, None, record=record)
    return record


def value_at(record: Recorder, place: Place, position: int) -> Tensor:
    """Return the recorded activation for a place's site, layer and head at `position`.

    Shapes are [K] for a head's output, [S] for a head's attention weights on S keys, and [D] otherwise.
    """
    site, layer, head, _ = place
    tensors = record.tensors[site]
    # The residual stream is recorded before the first layer and after every sub-layer.
    step = (len(tensors) - 1) // len(record.tensors[f"{kind_of(site)}.weights"]) if is_residual(site) else 1
    tensor = tensors[layer * step][0]
    return tensor[head, position] if has_heads(site) else tensor[position]
