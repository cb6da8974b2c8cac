"""Matches two translators' heads over many sentences, and compares the matches with shuffled and untrained heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from transformer.ablation.estimate import Estimate
from transformer.analysis.heads.matching import best_match, matched_similarity, shuffled_similarity, similarities
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.errors import AtlasError, TextError
from transformer.files.records import Record
from transformer.measurements.corpus import BATCH_SIZE, check_corpus, measure_in_parts
from transformer.measurements.importance import BOOTSTRAP, bootstrap
from transformer.model.devices import available_devices
from transformer.model.transformer import build
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.text.languages import Languages, language
from transformer.text.vocabulary import split_code, with_code
from transformer.values.kinds import KINDS, Kind
from transformer.values.run import Runs
from transformer.values.trace import Trace


@dataclass(frozen=True, eq=False)
class KindMatch:
    """Matched heads of models A and B for one attention kind, numbered as in `head_distances`.

    Attributes:
        heads: how many heads a layer of A and a layer of B have.
        similarity: mean similarity over the sentences, [heads of A, heads of B].
        match: head of B that `best_match` assigns to each head of A; -1 for unmatched heads, if B has fewer heads.
        matched: similarity between each head of A and its match, [heads of A]; NaN for heads without a match.
        shuffled: expected value of `matched` if B's heads were shuffled within each layer.
        mean: mean of `matched` over the heads.
        mean_shuffled: mean of `shuffled` over the heads.
        mean_random: mean of `matched` over the heads if B had random weights.
    """

    heads: tuple[int, int]
    similarity: np.ndarray
    match: tuple[int, ...]
    matched: Estimate
    shuffled: Estimate
    mean: Estimate
    mean_shuffled: Estimate
    mean_random: Estimate


@dataclass(frozen=True, eq=False)
class HeadMatches(Record):
    """The heads of models A and B, matched one to one by how similarly they behave, for each attention kind.

    Attributes:
        model, other: `Translator.version` of A and of B.
        sentences: number of measured sentences.
        skipped: number of sentences that at least one model cannot read.
        kinds: matched heads by attention kind; only the encoder if the models write different languages.
    """

    model: str
    other: str
    sentences: int
    skipped: int
    kinds: Mapping[Kind, KindMatch]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", MappingProxyType(dict(self.kinds)))

    def _written(self) -> dict[str, Any]:
        return {**vars(self), "kinds": dict(self.kinds), "interval": BOOTSTRAP}


@dataclass(frozen=True, eq=False)
class SentenceSimilarities:
    """Similarities between the heads of models A and B, float32 [sentences, heads of A, heads of B] by attention kind.

    Attributes:
        skipped: number of sentences that at least one model cannot read.
        matched: similarities between A and B.
        random: similarities between A and a model of B's shape with random weights.
    """

    skipped: int
    matched: dict[Kind, np.ndarray]
    random: dict[Kind, np.ndarray]

    def __add__(self, other: SentenceSimilarities) -> SentenceSimilarities:
        return SentenceSimilarities(
            self.skipped + other.skipped,
            _concatenate(self.matched, other.matched),
            _concatenate(self.random, other.random),
        )


def shared_kinds(a: Translator, b: Translator, text: str) -> tuple[Kind, ...]:
    """Return the attention kinds that can be compared between two models, for a text that model `a` reads.

    Raises:
        ValueError: the models read different languages.
    """
    _, first, second = _text_for_second(a, b, text)
    if first.source.name != second.source.name:
        raise ValueError(
            f"the models read {first.source.name} and {second.source.name}: choose two that read the same language"
        )
    return KINDS if first.target.name == second.target.name else ("encoder",)


def second_trace(a: Translator, runs: Runs, b: Translator, trace: Trace) -> Trace:
    """Return model B's trace of a text that model A has translated.

    If both models write the same language, B reads A's translation. Otherwise, B writes its own.

    Args:
        a, b: models A and B.
        runs: `Runs` object that computes model B's runs.
        trace: model A's trace of the text.

    Raises:
        AtlasError: B cannot read the text.
    """
    text, first, second = _text_for_second(a, b, trace.source_text)
    # Token ids are valid only for the tokenizer that produced them. If B's tokenizer differs, pass the text instead.
    alike = a.tokenizer.fingerprint == b.tokenizer.fingerprint
    target = tuple(token.id for token in trace.predicted_tokens) if alike else trace.target_text
    return runs.get(TraceRun(text, target if first.target.name == second.target.name else None))


def untrained_model(translator: Translator, seed: int = 0) -> Translator:
    """Return a model with the shape and vocabulary of `translator` but random weights, on a local device."""
    devices = available_devices()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build(translator.config, translator.tokenizer.symbols).eval()
    return Translator(
        Checkpoint(model, translator.tokenizer, translator.languages),
        # A remote server's model may run on a device that this machine does not have.
        device=translator.device if translator.device in devices else devices[0],
        version=f"untrained {seed} {translator.version}",
    )


def match_heads(
    a: Translator,
    b: Translator,
    path: Path,
    state: Path,
    report: Callable[[int, SentenceSimilarities], object] = lambda read, so_far: None,
) -> HeadMatches:
    """Match the heads of two models over a file's sentences.

    If both models write the same language, both read model A's translation. If an earlier call with the same `state`
    was interrupted, the measurement is resumed.

    Args:
        a, b: the two models, A and B.
        path, state, report: as in `measure_corpus`.

    Raises:
        ValueError: as in `measure_corpus`, or the models read different languages.
    """
    check_corpus(path)
    shared_kinds(a, b, "")
    random = untrained_model(b)

    def measure(stretches: Iterator[list[str]]) -> Iterator[SentenceSimilarities]:
        for stretch in stretches:
            yield _measure(a, b, random, stretch)

    nothing = SentenceSimilarities(0, {}, {})
    similarities_found = measure_in_parts(path, state, f"{a.version} {b.version}", measure, nothing, BATCH_SIZE, report)
    if not similarities_found.matched:
        raise ValueError(f"{path} has no sentence that both models can read: write one short sentence per line")
    counts = a.config.heads, b.config.heads
    return HeadMatches(
        a.version,
        b.version,
        len(similarities_found.matched["encoder"]),
        similarities_found.skipped,
        {
            kind: kind_match(each, similarities_found.random[kind], counts)
            for kind, each in similarities_found.matched.items()
        },
    )


def kind_match(similarity: np.ndarray, random: np.ndarray, heads: tuple[int, int]) -> KindMatch:
    """Match the heads of two models, A and B, for one attention kind.

    Args:
        similarity: similarities between A and B, [sentences, heads of A, heads of B].
        random: similarities between A and a model with random weights, in the same shape.
        heads: how many heads a layer of A and a layer of B have.
    """
    mean = similarity.mean(axis=0, dtype=np.float64)
    match, by_chance = best_match(mean), best_match(random.mean(axis=0))
    matched, shuffled = matched_similarity(similarity, match), shuffled_similarity(similarity, match, heads[1])
    null = matched_similarity(random, by_chance)
    return KindMatch(
        heads,
        mean,
        tuple(map(int, match)),
        bootstrap(matched),
        bootstrap(shuffled),
        *(bootstrap(np.nanmean(each, axis=1)) for each in (matched, shuffled, null)),
    )


def _measure(a: Translator, b: Translator, random: Translator, sentences: Sequence[str]) -> SentenceSimilarities:
    measured_sentences: list[SentenceSimilarities] = []

    def note(number: int, trace: Trace | AtlasError) -> None:
        try:
            if isinstance(trace, AtlasError):
                raise trace
            kinds = shared_kinds(a, b, trace.source_text)
            others = [second_trace(a, model, model, trace) for model in (b, random)]
            both: list[dict[Kind, np.ndarray]] = [
                {kind: similarities(trace, other, kind).astype(np.float32)[None] for kind in kinds} for other in others
            ]
            measured_sentences.append(SentenceSimilarities(0, *both))
        except TextError:
            measured_sentences.append(SentenceSimilarities(1, {}, {}))

    a.trace_together(sentences, note)
    return sum(measured_sentences, start=SentenceSimilarities(0, {}, {}))


def _text_for_second(a: Translator, b: Translator, text: str) -> tuple[str, Languages, Languages]:
    """Return model A's text in the form that model B reads, and the languages that A and B use for this text."""
    code, rest = split_code(text, a.tokenizer.codes)
    wanted = a.languages.for_codes(code)
    sides = (
        (each for each in b.tokenizer.codes if each[0] == side and language(each[2:-2]).name == of.name)
        for side, of in zip("<>", wanted, strict=True)
    )
    asked = " ".join(filter(None, (next(codes, "") for codes in sides)))
    return with_code(rest.lstrip() if code else text, asked, b.tokenizer.codes), wanted, b.languages.for_codes(asked)


def _concatenate(first: dict[Kind, np.ndarray], second: dict[Kind, np.ndarray]) -> dict[Kind, np.ndarray]:
    """Concatenate arrays along the sentence axis, for attention kinds in both arguments; ignore an empty argument."""
    if not (first and second):
        return first or second
    return {kind: np.concatenate([first[kind], second[kind]]) for kind in KINDS if kind in first and kind in second}
