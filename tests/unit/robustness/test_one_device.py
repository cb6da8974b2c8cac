"""Tests that a model computes everything on its own device, and that a device failure is reported in one line."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pages.ui.language_model.copying_heads import scores_of_model
from pages.ui.runs.inference import RUNS
from tests.conftest import EACH_SHAPE, SHAPES
from tests.small_models import small
from tests.unit.robustness.one_device import META, OneDevice, ids
from transformer.checkpoints.checkpoint import load_language_model
from transformer.config import TransformerConfig
from transformer.decoding.beam import beam_search
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.sampling import sample
from transformer.decoding.search import logit_lens
from transformer.errors import DeviceError
from transformer.language_modelling.attention_map import map_of_text
from transformer.language_modelling.head_scores import head_scores
from transformer.language_modelling.tracing import trace_continuation, trace_text
from transformer.model.edits import UNEDITED, Edits, edits_of
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer
from transformer.training.batching import Batch
from transformer.training.loss import SummedLoss
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions


@pytest.fixture(params=EACH_SHAPE)
def model(request: pytest.FixtureRequest) -> Transformer:
    config = small(50, 24, 3, 40, max_positions=64, **SHAPES[request.param])
    return Transformer(config).to(META).eval()


def edits(config: TransformerConfig) -> list[Edits]:
    """Return two cases: no interventions, and a batch whose rows have different interventions."""
    changes = [
        Interventions(
            gates={("cross", 0, 1): 0.0, ("encoder", 1, 2): 0.5},
            attention={("decoder", 1, 0, 2): {1: 0.25}},
            hidden_source=(1,),
            hidden_target=(3,),
            positions=False,
        ),
        Interventions(gates={("cross", 1, 1): 0.5}, mode="uniform", decoder_mask=False, positions=False),
    ]
    return [UNEDITED, edits_of(changes, config, device=META)]


def test_model_run_stays_on_the_device_of_the_model(model):
    for edit in edits(model.config):
        for record in (None, Recorder(details=True)):
            with torch.inference_mode(), OneDevice() as mode:
                memory = model.encode(ids(2, 5), None, edits=edit, record=record)
                read = model.decode(ids(2, 7), memory, None, edits=edit, record=record)
                cache = model.start_cache(memory, None, edits=edit)
                for _ in range(3):
                    step, cache = model.decode_step(ids(2, 1), cache, record=record)
                cache = cache.select(torch.ones(2, dtype=torch.long, device=META))
                logits = model.generator(step)
            assert mode.operations > 100
            assert {each.device for each in (memory, read, step, logits, cache.past[0].keys)} == {META}
            if record is not None:
                assert {each.device for name in record.tensors for each in record.tensors[name]} == {META}


def test_run_with_padding_stays_on_the_device_of_the_model(model):
    with OneDevice():
        assert model(ids(2, 5), ids(2, 4), source_mask=ids(2, 5) != 1).device == META


METHODS: dict[str, Callable[..., Any]] = {
    "greedy": greedy,
    "beam": lambda *args, **settings: beam_search(*args, beam_size=3, length_penalty=1.0, **settings),
    "sample": lambda *args, **settings: sample(*args, seed=1, temperature=0.8, top_k=9, top_p=0.9, **settings),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("capture", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_decoding_copies_only_results_to_the_cpu(model, method, capture):
    with torch.inference_mode(), OneDevice(results=True):
        cache = model.start_cache(model.encode(ids(1, 5), None), None)
        steps = list(
            METHODS[method](model, cache, limit=4, constraints=Constraints((7,), frozenset({9})), capture=capture)
        )
    assert len(steps) == 4
    for step in steps:
        assert step.read.device == step.distribution.log_probs.device == META
        assert not capture or step.distribution.attention.cross.device == META


def test_logit_lens_copies_only_results_to_the_cpu(model):
    record = Recorder(details=True)
    with torch.inference_mode(), OneDevice(results=True):
        model.decode(ids(1, 4), model.encode(ids(1, 5), None), None, record=record)
        lens, ranks = logit_lens(model.decoder_norm, model.generator, record.tensors["decoder.residual"][3::3], ids(4))
    assert ranks.device == META and lens.taken.shape == (2, 4)


def test_training_step_stays_on_the_device_of_the_model(model):
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=False, foreach=False, capturable=False)
    with OneDevice(results=True) as mode:
        loss = SummedLoss(model, label_smoothing=0.1)(Batch(ids(3, 6), ids(3, 5), ids(3, 5)))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    assert mode.operations > 500 and loss.device == META
    assert all(each.grad is not None and each.grad.device == META for each in model.parameters())


class Breaking(TorchDispatchMode):
    """Raises an error at the first matrix multiplication, as a failing device would."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "mm" in func.name() or "linear" in func.name():
            raise self.error
        return func(*args, **(kwargs or {}))


ERRORS = {
    "too little free memory": [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
    ],
    "no longer responds": [
        torch.AcceleratorError("CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronous"),
        RuntimeError("CUDA error: no CUDA-capable device is detected"),
    ],
}


@pytest.mark.parametrize(("said", "error"), [(said, error) for said in ERRORS for error in ERRORS[said]], ids=str)
def test_device_failure_raises_a_one_line_error_and_the_next_run_succeeds(small_translator, said, error):
    detailed = small_translator.trace("A dog.", details=True)
    runs: list[Callable[[], object]] = [
        lambda: small_translator.translate("A dog."),
        lambda: small_translator.trace("A dog.", "Ein Hund."),
        lambda: small_translator.trace_decoding("A dog."),
        lambda: small_translator.attribute(detailed, "erasure"),
        lambda: small_translator.score("A dog.", None, [Interventions()]),
        lambda: small_translator.gate_gradients("A dog.", None),
    ]
    for run in runs:
        with Breaking(error), pytest.raises(DeviceError, match=said) as raised:
            run()
        assert "cpu" in str(raised.value) and "\n" not in str(raised.value)
        run()


# One type of error suffices, because the test above covers all of them.
@pytest.mark.parametrize(("said", "error"), [(said, errors[0]) for said, errors in ERRORS.items()][:1], ids=str)
def test_language_model_reports_a_device_failure_and_the_next_run_succeeds(said, error):
    loaded = load_language_model(device="cpu")
    runs: list[Callable[[], object]] = [
        lambda: head_scores(loaded.model),
        lambda: map_of_text(loaded.model, loaded.tokenizer, "A dog.", 10),
        lambda: trace_text(loaded, "A dog."),
        lambda: trace_continuation(loaded, "A dog", DecodingSettings(), limit=3),
    ]
    for run in runs:
        with Breaking(error), pytest.raises(DeviceError, match=said):
            run()
        run()
    RUNS.clear()
    with Breaking(error):
        assert re.match(f"The device cpu .*{said}", str(scores_of_model(loaded)))


def test_error_unrelated_to_the_device_is_not_reported_as_a_device_error(small_translator):
    with Breaking(RuntimeError("shapes cannot be multiplied")), pytest.raises(RuntimeError, match="shapes cannot"):
        small_translator.translate("A dog.")
