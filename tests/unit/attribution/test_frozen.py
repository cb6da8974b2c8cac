import pytest
import torch

from tests.conftest import ONE_SHAPE
from transformer.attribution.attribution import Target
from transformer.attribution.frozen import FrozenFunctions
from transformer.attribution.objective import embed, token_ids


@pytest.mark.parametrize("gradients", [True, False], ids=["written out", "fused"])
def test_frozen_run_matches_the_model_output(shaped_translator, shaped_trace, gradients):
    model = shaped_translator._model
    source, prefix = (ids[None] for ids in token_ids(shaped_trace, torch.device("cpu")))
    with torch.inference_mode():
        expected = model(source, prefix)
    x, y = embed(model, shaped_trace, [Target((len(prefix[0]) - 1,))])
    with FrozenFunctions(torch.ones(1, 1, 1)):
        found = model.generator(model.decode(y[None], model.encode(x[None].requires_grad_(gradients), None)))
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-5)


@ONE_SHAPE
def test_frozen_run_leaves_the_model_unchanged(shaped_translator, shaped_trace):
    model = shaped_translator._model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for method in ("frozen_gradient", "integrated_gradients", "erasure"):
        shaped_translator.attribute(shaped_trace, method)
    shaped_translator.gate_gradients(shaped_trace.source_text, shaped_trace.target_text)
    assert not any(parameter.requires_grad or parameter.grad is not None for parameter in model.parameters())
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
