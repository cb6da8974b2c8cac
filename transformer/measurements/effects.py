"""Measures the effects of every head for many sentences, and keeps the values of each sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from transformer.ablation.estimate import Estimate
from transformer.ablation.importance import head_importance
from transformer.analysis.heads.metrics import METRICS, head_metrics
from transformer.attribution.attribution import Target
from transformer.attribution.direct_logits import ATTENTION, direct_logits
from transformer.errors import TextError
from transformer.measurements.corpus import check_corpus, measure_in_parts
from transformer.measurements.importance import bootstrap
from transformer.running.translator import Translator
from transformer.values.interventions import DEFAULT_DRAWS, Mode
from transformer.values.kinds import KINDS, Kind
from transformer.values.trace import Trace
from transformer.values.weights import Weights

# Title of each effect, by name. The head metrics come last.
EFFECTS: dict[str, str] = {
    "off": "change in the log-probability without the head, nats",
    "changed": "share of draws in which removing the head makes another token the most likely",
    "estimated": "change in the log-probability without the head, estimated by a gradient, nats",
    "written": "mean contribution of the head to the logit of a written token",
    **{metric.name: f"{metric.title}, {metric.unit}" for metric in METRICS},
}


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """Effects of every head on each of N sentences, with the model's own translations.

    Results of the same model can be added, so a file of sentences can be measured in parts.

    Attributes:
        texts: the N sentences.
        translations: the translations of the sentences.
        log_probs: log-probability of each translation, nats, float64 [N].
        skipped: sentences that the model cannot read.
        values: effects by name (a key of `EFFECTS`) and attention kind, float64 [N, L, H] each; NaN if an effect is not
            defined for a sentence.
    """

    texts: tuple[str, ...]
    translations: tuple[str, ...]
    log_probs: np.ndarray
    skipped: tuple[str, ...]
    values: dict[str, dict[Kind, np.ndarray]]

    @property
    def read(self) -> int:
        """Number of sentences, including skipped ones."""
        return len(self.texts) + len(self.skipped)

    def __add__(self, other: HeadEffects) -> HeadEffects:
        values: dict[str, dict[Kind, np.ndarray]] = self.values or other.values
        if self.texts and other.texts:
            values = {
                name: {kind: np.concatenate([each, other.values[name][kind]]) for kind, each in by_kind.items()}
                for name, by_kind in self.values.items()
            }
        return HeadEffects(
            self.texts + other.texts,
            self.translations + other.translations,
            np.concatenate([self.log_probs, other.log_probs]),
            self.skipped + other.skipped,
            values,
        )

    def kinds(self, effect: str) -> tuple[Kind, ...]:
        """Return the attention kinds for which an effect is defined."""
        return tuple(self.values[effect])

    def mean(self, effect: str, kind: Kind) -> Estimate:
        """Return an effect's mean over all sentences, with a 95% confidence interval (`bootstrap`), [L, H] each."""
        return bootstrap(self.values[effect][kind])

    def to_npz(self, file: BinaryIO) -> None:
        """Write an .npz file with the arrays `EFFECT.KIND`, `texts`, `translations`, `skipped` and `log_probs`."""
        arrays = {f"{name}.{kind}": each for name, kinds in self.values.items() for kind, each in kinds.items()}
        words = {name: np.array(getattr(self, name), dtype=np.str_) for name in ("texts", "translations", "skipped")}
        np.savez_compressed(file, allow_pickle=False, **words, log_probs=self.log_probs, **arrays)


NO_EFFECTS = HeadEffects((), (), np.zeros(0), (), {})


def measure_effects(
    translator: Translator,
    sentences: Iterable[str],
    *,
    mode: Mode = "zero",
    seed: int = 0,
    draws: int = DEFAULT_DRAWS,
    weights: Weights | None = None,
) -> HeadEffects:
    """Measure every head's effects on the model's own translation of each sentence.

    Args:
        translator: the model.
        sentences: sentences in the source language; each is measured before the next one is read.
        mode, seed, draws: as in `head_importance`. Only the effects "off" and "changed" depend on these arguments.
        weights: weights of the model; None requests them from the translator.
    """
    effects = NO_EFFECTS
    for text in sentences:
        try:
            effects += _measure_sentence(translator, text, weights, mode, seed, draws)
        except TextError:
            effects += HeadEffects((), (), np.zeros(0), (text,), {})
    return effects


def effects_of_file(
    translator: Translator,
    path: Path,
    state: Path,
    report: Callable[[int, HeadEffects], object] = lambda read, so_far: None,
) -> HeadEffects:
    """Apply `measure_effects` to a file's sentences.

    If an earlier call with the same `state` was interrupted, the measurement is resumed.

    Args:
        translator: the model.
        path, state, report: as in `measure_corpus`.

    Raises:
        ValueError: as in `measure_corpus`.
    """
    check_corpus(path)
    weights = translator.weights()

    def measure(stretches: Iterator[list[str]]) -> Iterator[HeadEffects]:
        for stretch in stretches:
            yield measure_effects(translator, stretch, weights=weights)

    effects = measure_in_parts(path, state, translator.version, measure, NO_EFFECTS, 1, report)
    if not effects.texts:
        state.unlink(missing_ok=True)
        raise ValueError(f"{path} has no sentence that the model can read: write one short sentence per line")
    return effects


def _measure_sentence(
    translator: Translator, text: str, weights: Weights | None, mode: Mode, seed: int, draws: int
) -> HeadEffects:
    trace = translator.trace(text, details=True)
    target = [token.id for token in trace.predicted_tokens]
    worth = head_importance(translator, text, target, mode=mode, seed=seed, draws=draws)
    values: dict[str, dict[Kind, np.ndarray]] = {name: {} for name in EFFECTS}
    for kind in KINDS:
        values["off"][kind] = worth.measured[kind]
        values["changed"][kind] = worth.changed[kind]
        values["estimated"][kind] = worth.estimated[kind]
        for name, each in head_metrics(trace, kind, translator.tokenizer.key_scores(kind)).values.items():
            values[name][kind] = each
    if translator.config.norm == "pre":
        values["written"] = _logit_effects(trace, translator.weights() if weights is None else weights, values["off"])
    return HeadEffects(
        (text,),
        (trace.target_text,),
        np.array([worth.log_prob]),
        (),
        {name: {kind: each[None] for kind, each in kinds.items()} for name, kinds in values.items() if kinds},
    )


def _logit_effects(trace: Trace, weights: Weights, shapes: dict[Kind, np.ndarray]) -> dict[Kind, np.ndarray]:
    """Return each head's mean contribution to the logits of the written tokens, [L, H] by attention kind."""
    positions = range(len(trace.predicted_tokens))
    logits = direct_logits(trace, weights, [Target((position,)) for position in positions])
    heads: dict[Kind, np.ndarray] = {kind: np.zeros(shapes[kind].shape) for kind in ATTENTION}
    kinds: dict[str, Kind] = {component: kind for kind, (component, _) in ATTENTION.items()}
    for component, score in zip(logits.components, logits.scores.mean(axis=0), strict=True):
        if component.head is not None and component.layer is not None:
            heads[kinds[component.kind]][component.layer, component.head] = score
    return heads
