"""Patches a sentence's run with values of another sentence's run, and measures what they do to a choice of words.

Heimersheim and Nanda 2024, "How to use and interpret activation patching". A noising patch puts the corrupted value
into the clean run and asks whether the place is needed. A denoising patch puts the clean value into the corrupted run
and asks whether the place is enough. The two need not agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from transformer.ablation.continuation import telling_step
from transformer.analysis.word_matching import matched_positions
from transformer.config import TransformerConfig
from transformer.running.runs.scores import ContrastsRun
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.patches import Place, Site, has_heads, is_residual, kind_of, stack_of
from transformer.values.run import Run, Stated
from transformer.values.trace import STACKS, Trace

# Places, and the positions of the other sentence that they take their values from.
Patches = tuple[tuple[Place, int], ...]
# The two sentences must differ by more nats than this for an effect to be a share of the difference.
CLOSE = 0.5


@dataclass(frozen=True)
class PatchingQuestion:
    """A choice between two next tokens, in two sentences.

    Attributes:
        text: sentence whose run is patched.
        other: sentence whose run gives the values.
        target: ids of the translation that both runs read.
        step: position of the token that is predicted, from 0.
        pieces: ids of the two tokens.
    """

    text: str
    other: str
    target: tuple[int, ...]
    step: int
    pieces: tuple[int, int]

    @property
    def reversed(self) -> PatchingQuestion:
        """The question with the two sentences exchanged."""
        return replace(self, text=self.other, other=self.text)

    @property
    def runs(self) -> tuple[TraceRun, TraceRun]:
        """The run of each sentence, as trained."""
        return (TraceRun(self.text, self.target, details=True), TraceRun(self.other, self.target, details=True))


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Logit of the first token minus that of the second, nats.

    Attributes:
        run: in the run that is patched, before the patch.
        other: in the run that gives the values.
        patched: with each patch, of any shape; NaN where a patch is not possible.
    """

    run: float
    other: float
    patched: np.ndarray

    def __post_init__(self) -> None:
        self.patched.setflags(write=False)

    @property
    def close(self) -> bool:
        """Whether the two runs hardly differ."""
        return abs(self.other - self.run) < CLOSE

    @property
    def effects(self) -> np.ndarray | None:
        """Share of the difference of the runs that each patch makes: 0 as unpatched, 1 as in the other run.

        Values below 0 and above 1 exist. None if the runs are too close for a share.
        """
        return None if self.close else (self.patched - self.run) / (self.other - self.run)

    def stated(self) -> dict[str, Stated]:
        """All numbers by name."""
        effects = {} if self.effects is None else {"effect": self.effects}
        return {"unpatched": self.run, "other run": self.other, "patched": self.patched, **effects}


@dataclass(frozen=True)
class PatchRun(Run[Contrasts]):
    """The contrasts after applying one set of patches [1], or those of the two unpatched runs if the set is empty."""

    question: PatchingQuestion
    patches: Patches

    @property
    def needs(self) -> tuple[TraceRun]:
        return (self.question.runs[1],)

    def compute(self, runs: Translator, other: Trace) -> Contrasts:
        return contrasts_of(runs, self.question, [patch(dict(self.patches), other)])

    def states(self, result: Contrasts) -> Mapping[str, Stated]:
        return result.stated()


@dataclass(frozen=True)
class GridRun(Run[Contrasts]):
    """The contrasts of every single patch of a site.

    [depths or layers, positions]; for the heads' outputs [L, H], where a head is patched at all positions that have a
    partner. The target's positions are those up to the step.
    """

    question: PatchingQuestion
    site: Site

    message = "Patching every place …"
    long = True

    @property
    def needs(self) -> tuple[TraceRun, TraceRun]:
        return self.question.runs

    def compute(self, runs: Translator, text: Trace, other: Trace) -> Contrasts:
        cells = grid_cells(self.site, runs.config, partners(self.site, text, other, self.question.step))
        possible = cells.astype(bool)
        found = contrasts_of(runs, self.question, [patch(cell, other) for cell in cells[possible]])
        values = np.full(cells.shape, np.nan)
        values[possible] = found.patched
        return Contrasts(found.run, found.other, values)

    def states(self, result: Contrasts) -> Mapping[str, Stated]:
        return result.stated()


def question_of(a: Trace, b: Trace, step: int | None = None) -> PatchingQuestion:
    """The question that patches of A with values of B answer, about the tokens that the two prefer.

    Args:
        a, b: traces of both sentences, which read the same translation.
        step: position of the predicted token; None takes `telling_step`. Where both prefer the same token, the second
            one is A's next best.
    """
    step = telling_step(a, b) if step is None else step
    first, second = (int(trace.candidate_ids[step, 0]) for trace in (a, b))
    target = tuple(piece.id for piece in a.predicted_pieces)
    second = int(a.candidate_ids[step, 1]) if first == second else second
    return PatchingQuestion(a.source_text, b.source_text, target, step, (first, second))


def contrasts_of(runs: Translator, question: PatchingQuestion, variants: Sequence[Interventions]) -> Contrasts:
    """The contrasts of some interventions [N]."""
    asked = ContrastsRun(question.text, question.target, question.step, question.pieces, (AS_TRAINED, *variants))
    run, *patched = runs.get(asked).astype(float)
    (other,) = runs.get(replace(asked, text=question.other, variants=(AS_TRAINED,))).astype(float)
    return Contrasts(float(run), float(other), np.array(patched))


def patch(patches: Mapping[Place, int], other: Trace) -> Interventions:
    """The interventions that take the values of some places from a trace as trained.

    Args:
        patches: places, and the positions in the trace.
        other: of the other sentence.
    """
    source, target = (tuple(piece.id for piece in pieces) for pieces in (other.source_pieces, other.target_pieces))
    return Interventions(patches=dict(patches), other=(source, target))


def reversed_patches(patches: Patches) -> Patches:
    """The patches of the other sentence's run at the same pairs of positions."""
    return tuple(((site, layer, head, other), position) for (site, layer, head, position), other in patches)


def partners(site: Site, text: Trace, other: Trace, step: int) -> dict[int, int]:
    """Positions of a site, and their partners in the other trace, which reads the same translation.

    A row of attention has a partner only if both sentences have equally many tokens.
    """
    rows = {position: position for position in range(step + 1)}
    if site.endswith("weights") and site != "decoder.weights" and len(text.source_pieces) != len(other.source_pieces):
        return {}
    if stack_of(site) == "decoder":
        return rows
    return matched_positions(text.source_pieces, other.source_pieces, (text.source_text, other.source_text))


def grid_cells(site: Site, config: TransformerConfig, partner: Mapping[int, int]) -> np.ndarray:
    """The patches of every cell of a grid, an array of dicts; empty where no token has a partner.

    Args:
        site: of the grid.
        config: of the model.
        partner: result of `partners`.
    """
    layers = range(config.layers_of(kind_of(site)) + is_residual(site))
    columns = range(config.heads if has_heads(site) else 1 + max(partner, default=0))
    cells = np.empty((len(layers), len(columns)), dtype=object)
    for layer, column in product(layers, columns):
        cells[layer, column] = (
            dict(patch_everywhere(site, layer, column, partner))
            if has_heads(site)
            else {(site, layer, 0, column): partner[column]}
            if column in partner
            else {}
        )
    return cells


def patch_everywhere(site: Site, layer: int, head: int, partner: Mapping[int, int]) -> Patches:
    """The patches of a head at all positions that have a partner."""
    return tuple(((site, layer, head, position), other) for position, other in partner.items())


def cone(interventions: Interventions, config: TransformerConfig, source: int, target: int) -> dict[str, np.ndarray]:
    """The cells of the residual stream that patches can change, by stack: bool [1 + L, S] and [1 + L, T].

    Every other cell is bit-identical in the patched run. Row 0 is the embedding, and row l the stream after l layers.

    Args:
        interventions: patches of the run.
        config: of the model.
        source, target: numbers of tokens that encoder and decoder read.
    """
    reached = {
        "encoder": np.zeros((1 + config.encoder_layers, source), bool),
        "decoder": np.zeros((1 + config.decoder_layers, target), bool),
    }
    for (site, layer, _, position), _ in interventions.patched():
        reached[stack_of(site)][layer + (not is_residual(site)) :, position : position + 1] = True
    for before, after in zip(reached["encoder"], reached["encoder"][1:], strict=False):
        after |= before.any()
    reached["decoder"][1:] |= reached["encoder"][-1].any()
    for before, after in zip(reached["decoder"], reached["decoder"][1:], strict=False):
        after |= np.logical_or.accumulate(before) if interventions.decoder_mask else before.any()
    return reached


def changes(before: Trace, after: Trace) -> dict[str, np.ndarray]:
    """How far each cell of the residual stream moves between two traces with details, by stack, shaped as in `cone`.

    The length of the difference over the length of the vector before; exactly 0 where the two are bit-identical.
    """
    found = {}
    for stack in STACKS:
        # The stream is stored after every sub-layer.
        old, new = (trace.residual_stream(stack)[:: len(trace.parts(stack))] for trace in (before, after))
        found[stack] = np.linalg.norm(new - old, axis=-1) / np.linalg.norm(old, axis=-1)
    return found
