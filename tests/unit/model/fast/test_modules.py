import copy

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

from tests.small_models import small
from transformer.model.fast.modules import FastModule, speed_up
from transformer.model.transformer import build


@pytest.fixture(params=[True, False], ids=["halves", "whole numbers of float32"])
def pair(request):
    """Return a model and its fast copy. Half-precision weights are packed if the CPU supports packing."""
    torch.manual_seed(2)
    plain = build(small(40, 16, 4, 32, tied_embeddings="all")).eval().requires_grad_(False)
    if request.param:
        for parameter in plain.parameters():
            parameter.copy_(parameter.half())
    fast = copy.deepcopy(plain)
    speed_up(fast)
    return plain, fast


@pytest.fixture
def texts():
    torch.manual_seed(3)
    return torch.randint(4, 40, (2, 2, 7))


def test_sped_up_model_has_the_output_and_parameter_names_of_the_original_model(pair, texts):
    plain, fast = pair
    assert list(fast.state_dict()) == list(plain.state_dict())
    assert all(isinstance(module, FastModule) for module in fast.modules())
    torch.testing.assert_close(fast(*texts), plain(*texts), atol=1e-5, rtol=1e-5)


def test_sped_up_model_has_the_stepwise_output_of_the_original_model(pair, texts):
    hidden = []
    for model in pair:
        cache, rows = model.start_cache(model.encode(texts[0], None)), []
        for column in texts[1].split(1, dim=1):
            row, cache = model.decode_step(column, cache)
            rows.append(row)
        hidden.append(torch.cat(rows, dim=1))
    torch.testing.assert_close(*hidden, atol=1e-5, rtol=1e-5)


def test_gradients_of_a_fast_model_match_those_of_the_original_model(pair, texts):
    found = []
    for model in pair:
        memory = model.encode(texts[0], None).requires_grad_()
        logits = model.generator(model.decode(texts[1], memory))
        found.append(torch.autograd.grad(logits.square().sum(), memory)[0])
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-4)


def test_speeding_up_a_model_twice_or_editing_a_copy_does_not_change_its_output(pair, texts):
    fast = pair[1]
    before = fast(*texts)
    speed_up(fast)
    copied = copy.deepcopy(pair[0])
    copied.generator.bias.fill_(1.0)
    assert torch.equal(fast(*texts), before)


def test_hooks_of_a_fast_module_are_called(pair, texts):
    seen = []
    fast = pair[1]
    every = register_module_forward_hook(lambda module, *_: seen.append(module))
    fast(*texts)
    every.remove()
    assert {fast.encoder_layers[0].feed_forward, fast.generator} <= set(seen)
    seen.clear()
    fast.generator.register_forward_hook(lambda module, *_: seen.append(module))
    fast(*texts)
    assert seen == [fast.generator]
