"""Values from other runs that replace values of a run: mean outputs, outputs in another sentence, and patches.

Mean ablation shows which information the variation of a head's output carries, but the head may never have its mean as
an output. Resample ablation replaces the output by one that the head has for another input (Chan et al. 2022, "Causal
Scrubbing"; the default of ACDC, Conmy et al. 2023). In these papers all prompts have one length, and position i takes
the output at position i of the other prompt. Sentences have different lengths, and their positions do not correspond.
So here every position takes the output at a random position of the other sentence, the same for all heads of a stack.
This allows sentences of any length. The mean over many draws is that of mean ablation, except that a long sentence
counts no more than a short one.
"""

from __future__ import annotations

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
from transformer.values.patches import Pair, Place, has_heads, is_residual

# Maximum number of positions of a run, including the start or the end symbol.
POSITIONS = MAX_TOKENS + 1


class HeadReplacements:
    """Computes the replacements of the heads in one run; `edits_of` calls it.

    A new object is made for each run and passed as an argument, like the recorder.

    Args:
        model: in evaluation mode; call under `torch.inference_mode()`.
        means: mean outputs of the model's heads, with the sentences that they were measured on.
        source: token ids of the source, [S]; a draw never takes the same sentence.
        positions: maximum number of positions of the run.
    """

    def __init__(
        self, model: Transformer, means: HeadMeans | None, source: Sequence[int], positions: int = POSITIONS
    ) -> None:
        self._model, self._means = model, means
        self._source, self._positions = tuple(source), positions
        self._drawn: dict[tuple[int, int], ByKind] = {}
        self._records: dict[Pair, Recorder] = {}

    def __call__(self, interventions: Interventions) -> ByKind:
        """The replacement of every head, [L, H, 1 or P, K] by kind, on the CPU; P is `positions`.

        Raises:
            InterventionError: the means or their sentences are missing.
        """
        if self._means is None:
            raise InterventionError(
                "The heads' mean outputs are missing for this model: make them with "
                "`python -m transformer.analysis means`, or choose the mode zero or uniform."
            )
        if interventions.mode == "mean":
            return {kind: torch.from_numpy(self._means.outputs[kind][:, :, None].copy()) for kind in KINDS}
        draw = interventions.seed, interventions.draw
        if draw not in self._drawn:
            pair, places = drawn(self._means.pairs, self._source, *draw)
            outputs = head_outputs(self._model, pair)
            # Edits are combined on the CPU, head by head, so one transfer from the device is enough.
            self._drawn[draw] = {kind: outputs[kind][:, :, places[kind][: self._positions]].cpu() for kind in KINDS}
        return self._drawn[draw]

    def patches(self, interventions: Interventions) -> Patches:
        """The patched places, and their vectors from the run of the other sentence without interventions."""
        if interventions.other is None:
            return ()
        if interventions.other not in self._records:
            self._records[interventions.other] = recorded(self._model, interventions.other)
        record = self._records[interventions.other]
        return tuple((place, value_at(record, place, position)) for place, position in interventions.patched())


def drawn(pairs: Sequence[Pair], source: Sequence[int], seed: int, draw: int) -> tuple[Pair, dict[Kind, np.ndarray]]:
    """Draw another sentence, and for every position the position there whose output replaces it, by kind.

    The draws of a seed go through the sentences in one random order, and start again after the last one.

    Args:
        pairs: sentences to draw from.
        source: token ids of the source that the model reads, which is not drawn.
        seed, draw: fields of `Interventions`.

    Raises:
        InterventionError: there is no other sentence.
    """
    shuffled = np.random.default_rng(seed).permutation(len(pairs))
    others = [pairs[number] for number in shuffled if pairs[number][0] != tuple(source)]
    if not others:
        raise InterventionError(
            "There are no other sentences to take the heads' outputs from: make them with "
            "`python -m transformer.analysis means`, or choose the mode zero, mean or uniform."
        )
    pair = others[draw % len(others)]
    random = np.random.default_rng([seed, draw])
    encoder, decoder = (random.integers(len(side), size=POSITIONS) for side in pair)
    return pair, {"encoder": encoder, "decoder": decoder, "cross": decoder}


def head_outputs(model: Transformer, pair: Pair) -> dict[Kind, Tensor]:
    """The outputs of all heads while a model reads a sentence and its translation, [L, H, N, K] by kind."""
    record = recorded(model, pair)
    return {kind: torch.cat(record.tensors[f"{kind}.outputs"]) for kind in KINDS}


def recorded(model: Transformer, pair: Pair) -> Recorder:
    """Everything that a model computes while it reads a sentence and its translation."""
    source, target = (torch.tensor([ids], device=model.device) for ids in pair)
    record = Recorder(details=True)
    memory = model.encode(source, None, record=record)
    model.decode(target, memory, None, record=record)
    return record


def value_at(record: Recorder, place: Place, position: int) -> Tensor:
    """The vector of a place at a position of a recorded sentence: [K] or [S] of a head, otherwise [D]."""
    site, layer, head, _ = place
    # The stream is stored after every sub-layer: two in a layer of the encoder, three in the decoder's.
    step = (2 if site == "encoder.residual" else 3) if is_residual(site) else 1
    tensor = record.tensors[site][layer * step][0]
    return tensor[head, position] if has_heads(site) else tensor[position]
