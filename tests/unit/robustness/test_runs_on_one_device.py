"""Tests that the app runs a model entirely on the model's device, from the input text to the resulting arrays."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.small_models import small
from tests.unit.robustness.one_device import META, OneDevice, ids
from transformer.attribution.attribution import Target
from transformer.checkpoints.checkpoint import Checkpoint, LanguageModel
from transformer.config import TransformerConfig, decoder_only
from transformer.decoding.constraints import UNCONSTRAINED
from transformer.decoding.greedy import greedy_batch, most_likely
from transformer.decoding.loop import decode_loop
from transformer.language_modelling.tracing import trace_continuation, trace_reading, trace_text
from transformer.model.transformer import Transformer, build
from transformer.running.translator import Translator
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import Interventions

TEXT, LONGER, TARGET = "A dog.", "The dog sleeps in the street.", "Ein Hund."
VERSION = "simulated"


@pytest.fixture(scope="module")
def config(tokenizer) -> TransformerConfig:
    return small(tokenizer.size, 24, 3, 40, max_positions=8)


@pytest.fixture(scope="module")
def translator(config, tokenizer) -> Translator:
    means = HeadMeans(
        VERSION,
        "",
        {kind: np.zeros((2, 3, 8), dtype=np.float32) for kind in ("encoder", "decoder", "cross")},
        (((5, 6, 2), (1, 7)),),
    )
    return Translator(Checkpoint(Transformer(config).eval(), tokenizer), device="meta", version=VERSION, means=means)


@pytest.fixture(scope="module")
def language_model(tokenizer) -> LanguageModel:
    config = decoder_only(vocabulary=tokenizer.size, d_model=24, heads=3, layers=2, d_ff=40, max_positions=64)
    model = build(config).to(META).eval()
    return Checkpoint(model, tokenizer, version=VERSION, device="meta", folder=Path())


def traced_together(translator: Translator) -> list[Any]:
    found: dict[int, Any] = {}
    translator.trace_together([TEXT, LONGER], found.__setitem__)
    return [found[number].log_probs for number in range(2)]


CHANGED = Interventions(gates={("cross", 0, 1): 0.0, ("encoder", 1, 2): 0.5})
RUNS: dict[str, Callable[[Translator], Any]] = {
    "translate": lambda each: each.translate(TEXT).tokens,
    "beam": lambda each: each.translate(TEXT, DecodingSettings("beam", beam_size=3)).tokens,
    "sample": lambda each: each.translate(TEXT, DecodingSettings("sample", seed=1)).tokens,
    "variants": lambda each: each.translate_variants(TEXT, [Interventions(), CHANGED]),
    "trace": lambda each: each.trace(TEXT, TARGET, details=True, interventions=CHANGED).log_probs,
    "trace together": traced_together,
    "trace decoding": lambda each: each.trace_decoding(TEXT).ranks,
    "score": lambda each: each.score(TEXT, TARGET, [CHANGED, Interventions(gates={("cross", 1, 0): 0.0})]).kl,
    "score by the mean": lambda each: each.score(TEXT, TARGET, [replace(CHANGED, mode="mean")]).kl,
    "score by another sentence": lambda each: each.score(TEXT, TARGET, [replace(CHANGED, mode="resample")]).kl,
    "gate gradients": lambda each: each.gate_gradients(TEXT, TARGET)["cross"],
    "weights": lambda each: each.weights().gain_and_bias("decoder_norm"),
}


# These runs are slow and take the same code paths as the others, so only the thorough tests include them.
SLOW = ("translate", "sample", "trace decoding", "score by another sentence")


@pytest.mark.parametrize("run", [pytest.param(run, marks=pytest.mark.thorough) if run in SLOW else run for run in RUNS])
def test_translator_copies_only_results_to_the_cpu(translator, run):
    with OneDevice(results=True, given=True) as mode:
        assert len(RUNS[run](translator))
    assert mode.operations > 10


@pytest.mark.parametrize("method", ["erasure", "frozen_gradient", "integrated_gradients"])
def test_attribution_copies_only_scores_to_the_cpu(translator, method):
    with OneDevice(results=True, given=True) as mode:
        trace = translator.trace(TEXT, TARGET, details=True)
        targets = [Target((0,)), Target((1,))]
        assert translator.attribute(trace, method, targets).source.shape == (2, len(trace.source_tokens))
    assert mode.operations > 100


def test_finished_sentence_is_removed_from_its_batch_without_copying_data_to_the_cpu(config):
    model = Transformer(config).to(META).eval()
    # Row n predicts token n, so the last row predicts the end token at once.
    rows = model.symbols.end + 1
    with torch.inference_mode(), OneDevice(results=True, counting=True):
        memory = model.encode(ids(rows, 5), None)
        written = dict(greedy_batch(model, model.start_cache(memory, None), [3] * rows))
        steps = list(
            decode_loop(
                model, model.start_cache(memory, None), most_likely, limit=3, constraints=UNCONSTRAINED, capture=False
            )
        )
    assert [len(written[number]) for number in range(rows)] == [3] * (rows - 1) + [1] and len(steps) == 3
    assert {step.predicted.device for step in steps} == {META}


LANGUAGE_RUNS: dict[str, Callable[[Checkpoint], Any]] = {
    "text": lambda each: trace_text(each, TEXT)[0].log_probs,
    "continuation": lambda each: trace_continuation(each, TEXT, DecodingSettings(), limit=3).ranks,
    "unmasked": lambda each: trace_reading(each, TEXT, interventions=Interventions(decoder_mask=False)).log_probs,
}


@pytest.mark.parametrize("run", LANGUAGE_RUNS)
def test_language_model_copies_only_results_to_the_cpu(language_model, run):
    with OneDevice(results=True, given=True) as mode:
        assert len(LANGUAGE_RUNS[run](language_model))
    assert mode.operations > 50
