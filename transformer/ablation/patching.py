"""Activation patching copies activations from a model run on one sentence into a model run on another.

The effect is measured on the choice between two next tokens. Source: Heimersheim and Nanda 2024, "How to use and
interpret activation patching". A noising patch puts a corrupted activation into the clean run, which tests whether
the patched activation is necessary. A denoising patch puts a clean activation into the corrupted run, which tests
whether the activation is sufficient. The two tests need not agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from transformer.ablation.continuation import candidates, default_step
from transformer.analysis.alignment import consensus
from transformer.analysis.word_matching import matched_positions
from transformer.config import TransformerConfig
from transformer.running.runs.scores import ContrastsRun
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.patches import PatchSite, Place, has_heads, is_residual, kind_of, stack_of
from transformer.values.run import Run, Stated
from transformer.values.trace import STACKS, Trace

# Each patch is the activation to replace, and the position in the other sentence from which the new value is copied.
Patches = tuple[tuple[Place, int], ...]
# Effects are undefined if the two sentences' logit differences differ by less than this, in nats.
MIN_DIFFERENCE = 0.5


@dataclass(frozen=True)
class PatchingQuestion:
    """The two sentences of a patching experiment, and the two candidate next tokens that it compares.

    Attributes:
        text: sentence whose model run is patched.
        other: sentence whose model run supplies the activations.
        target: token ids of the translation that the model reads with either sentence.
        step: 0-based position of the predicted token.
        tokens: ids of the two candidates.
    """

    text: str
    other: str
    target: tuple[int, ...]
    step: int
    tokens: tuple[int, int]

    @property
    def reversed(self) -> PatchingQuestion:
        """The question with the roles of the two sentences swapped."""
        return replace(self, text=self.other, other=self.text)

    @property
    def runs(self) -> tuple[TraceRun, TraceRun]:
        """The runs of the model on `text` and on `other`, without interventions."""
        return (TraceRun(self.text, self.target, details=True), TraceRun(self.other, self.target, details=True))


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Logit differences, in nats, between a question's two candidates for the next token, first minus second.

    Attributes:
        run: difference in the model run to be patched, before patching.
        other: difference in the model run that supplies the activations.
        patched: difference with each patch, an array of any shape; NaN where no patch is possible.
    """

    run: float
    other: float
    patched: np.ndarray

    def __post_init__(self) -> None:
        self.patched.setflags(write=False)

    @property
    def is_close(self) -> bool:
        """Whether the two model runs' logit differences are less than `MIN_DIFFERENCE` nats apart."""
        return abs(self.other - self.run) < MIN_DIFFERENCE

    @property
    def effects(self) -> np.ndarray | None:
        """Each patch's change of the logit difference, as a fraction of the gap between the two model runs.

        0 means no effect; 1 means that the logit difference becomes that of the other model run. Values below 0 or
        above 1 are possible. None if the gap is too small to divide by (`is_close`).
        """
        return None if self.is_close else (self.patched - self.run) / (self.other - self.run)

    def values_by_name(self) -> dict[str, Stated]:
        """Return the logit differences and effects by name."""
        effects = {} if self.effects is None else {"effect": self.effects}
        return {"unpatched": self.run, "other run": self.other, "patched": self.patched, **effects}


@dataclass(frozen=True)
class PatchRun(Run[Contrasts]):
    """Model run with all given patches applied together. The result's `patched` has shape [1]."""

    question: PatchingQuestion
    patches: Patches

    @property
    def needs(self) -> tuple[TraceRun]:
        return (self.question.runs[1],)

    def compute(self, runs: Translator, other: Trace) -> Contrasts:
        return contrasts_of(runs, self.question, [patch_interventions(dict(self.patches), other)])

    def states(self, result: Contrasts) -> Mapping[str, Stated]:
        return result.values_by_name()


@dataclass(frozen=True)
class GridRun(Run[Contrasts]):
    """Model run that applies the patches of one grid cell at a time, for every cell.

    The grid has the shape [depths or layers, positions]. Target positions after the question's step are left out. For
    head outputs and attention weights, the grid is [L, H]. Each cell's patches then cover all positions that have a
    counterpart in the other sentence.
    """

    question: PatchingQuestion
    site: PatchSite

    message = "Patching each cell of the grid …"
    long = True

    @property
    def needs(self) -> tuple[TraceRun, TraceRun]:
        return self.question.runs

    def compute(self, runs: Translator, text: Trace, other: Trace) -> Contrasts:
        cells = grid_cells(self.site, runs.config, partner_positions(self.site, text, other, self.question.step))
        possible = cells.astype(bool)
        contrasts = contrasts_of(runs, self.question, [patch_interventions(cell, other) for cell in cells[possible]])
        values = np.full(cells.shape, np.nan)
        values[possible] = contrasts.patched
        return Contrasts(contrasts.run, contrasts.other, values)

    def states(self, result: Contrasts) -> Mapping[str, Stated]:
        return result.values_by_name()


@dataclass(frozen=True)
class DifferencesRun(Run[np.ndarray]):
    """Model run that compares two sentences: the distance between their logit differences at each step, in nats, [T].

    The decoder reads the same translation for both sentences. A step's logit difference is the difference between the
    logits of the two tokens that `question_of` chooses for the step.
    """

    text: TraceRun
    other: TraceRun

    message = "Comparing the two sentences …"

    @property
    def needs(self) -> tuple[TraceRun, TraceRun]:
        return self.text, self.other

    def compute(self, runs: Translator, text: Trace, other: Trace) -> np.ndarray:
        return np.array([_difference(runs, text, other, step) for step in range(len(text.predicted_tokens))])


def _difference(runs: Translator, a: Trace, b: Trace, step: int) -> float:
    question = question_of(a, b, step)
    log_probs = dict(candidates((a, b), step, a.candidate_ids.shape[1]))
    first, second = (np.array(log_probs[token]) for token in question.tokens)
    stored = float(np.ptp(first - second))
    if np.isfinite(stored):
        return stored
    # A trace does not store the logits of unlikely tokens, so run the model again.
    contrasts = contrasts_of(runs, question, ())
    return abs(contrasts.other - contrasts.run)


def steps_of_changed_word(a: Trace, b: Trace) -> np.ndarray:
    """Find the steps of A's translation that are aligned with a token that sentence B lacks or replaces, bool [T]."""
    partner = matched_positions(a.source_tokens, b.source_tokens, (a.source_text, b.source_text))
    changed = [
        index
        for index, token in enumerate(a.source_tokens)
        if index not in partner or b.source_tokens[partner[index]].id != token.id
    ]
    # The end symbol is not aligned with any word.
    return np.append(np.isin(consensus(a), changed), False)


def step_to_show(a: Trace, b: Trace, differences: np.ndarray) -> int:
    """Choose the step to show first.

    Among the steps where the model prefers different tokens for the two sentences, choose the one with the largest
    difference. Steps that merely translate the changed word are left out. If no step remains, choose among all steps.

    Args:
        a, b: traces of the two sentences.
        differences: result of `DifferencesRun`.

    Returns:
        The 0-based step.
    """
    telling = (a.candidate_ids[:, 0] != b.candidate_ids[:, 0]) & ~steps_of_changed_word(a, b)
    return int((np.where(telling, differences, -np.inf) if telling.any() else differences).argmax())


def question_of(a: Trace, b: Trace, step: int | None = None) -> PatchingQuestion:
    """Return a question about the next tokens that the model prefers for sentences A and B.

    B's activations are patched into the model run on A. If the model prefers the same token for both sentences, the
    question's second token is the second choice for A.

    Args:
        a, b: traces of sentences A and B, with the same translation.
        step: 0-based position of the predicted token; None lets `default_step` choose.
    """
    step = default_step(a, b) if step is None else step
    first, second = (int(trace.candidate_ids[step, 0]) for trace in (a, b))
    target = tuple(token.id for token in a.predicted_tokens)
    second = int(a.candidate_ids[step, 1]) if first == second else second
    return PatchingQuestion(a.source_text, b.source_text, target, step, (first, second))


def contrasts_of(runs: Translator, question: PatchingQuestion, variants: Sequence[Interventions]) -> Contrasts:
    """Measure the question's logit differences without a patch and with each of N patches."""
    on_text = ContrastsRun(question.text, question.target, question.step, question.tokens, (AS_TRAINED, *variants))
    run, *patched = runs.get(on_text).astype(float)
    (other,) = runs.get(replace(on_text, text=question.other, variants=(AS_TRAINED,))).astype(float)
    return Contrasts(float(run), float(other), np.array(patched))


def patch_interventions(patches: Mapping[Place, int], other: Trace) -> Interventions:
    """Return the interventions that copy activations from another sentence's trace.

    Args:
        patches: each place to patch, and the position in `other` from which to copy the activation.
        other: trace of the other sentence, without interventions.
    """
    source, target = (tuple(token.id for token in tokens) for tokens in (other.source_tokens, other.target_tokens))
    return Interventions(patches=dict(patches), other=(source, target))


def reversed_patches(patches: Patches) -> Patches:
    """Return the patches with the roles of the two sentences swapped."""
    return tuple(((site, layer, head, other), position) for (site, layer, head, position), other in patches)


def partner_positions(site: PatchSite, text: Trace, other: Trace, step: int) -> dict[int, int]:
    """Map positions to the corresponding positions in another sentence's trace, for patching at `site`.

    For encoder and cross-attention weights, the result is empty unless both sentences have the same number of tokens.
    """
    rows = {position: position for position in range(step + 1)}
    if site.endswith("weights") and site != "decoder.weights" and len(text.source_tokens) != len(other.source_tokens):
        return {}
    if stack_of(site) == "decoder":
        return rows
    return matched_positions(text.source_tokens, other.source_tokens, (text.source_text, other.source_text))


def grid_cells(site: PatchSite, config: TransformerConfig, partner: Mapping[int, int]) -> np.ndarray:
    """Return an array with one dict of patches per grid cell.

    A dict is empty if none of its cell's positions has a counterpart.

    Args:
        site: site to patch.
        config: model configuration.
        partner: result of `partner_positions`.
    """
    layers = range(config.layers_of(kind_of(site)) + is_residual(site))
    columns = range(config.heads if has_heads(site) else 1 + max(partner, default=0))
    cells = np.empty((len(layers), len(columns)), dtype=object)
    for layer, column in product(layers, columns):
        cells[layer, column] = (
            dict(head_patches(site, layer, column, partner))
            if has_heads(site)
            else {(site, layer, 0, column): partner[column]}
            if column in partner
            else {}
        )
    return cells


def head_patches(site: PatchSite, layer: int, head: int, partner: Mapping[int, int]) -> Patches:
    """Return one head's patches at all positions that have a counterpart in the other sentence."""
    return tuple(((site, layer, head, position), other) for position, other in partner.items())


def influence_cone(
    interventions: Interventions, config: TransformerConfig, source: int, target: int
) -> dict[str, np.ndarray]:
    """Find the cells of the residual streams that patches can change.

    All other cells are bit-identical with and without the patches.

    Args:
        interventions: the patches.
        config: model configuration.
        source, target: numbers of tokens that the encoder and the decoder read.

    Returns:
        Masks by stack: bool [1 + L, S] for the encoder and [1 + L, T] for the decoder. Row 0 is the embedding, and row
        l is the stream after l layers.
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


def stream_changes(before: Trace, after: Trace) -> dict[str, np.ndarray]:
    """Measure how much each cell of the residual streams changes between two traces that were recorded with details.

    Shapes are as in `influence_cone`.

    The change is the length of the difference, divided by the length of the original vector. It is exactly 0 where the
    two traces are bit-identical.
    """
    distances = {}
    for stack in STACKS:
        # The trace stores the stream after every sub-layer. Take only the embedding and the stream after every layer.
        old, new = (trace.residual_stream(stack)[:: len(trace.parts(stack))] for trace in (before, after))
        distances[stack] = np.linalg.norm(new - old, axis=-1) / np.linalg.norm(old, axis=-1)
    return distances
