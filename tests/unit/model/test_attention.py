import pytest
import torch
import torch.nn.functional as F

from transformer.model.attention import (
    AttentionContext,
    CrossAttention,
    SelfAttention,
    masked_softmax,
    scaled_dot_product_attention,
)
from transformer.model.edits import UNEDITED
from transformer.model.hooks import hooks_of
from transformer.model.masks import causal_mask
from transformer.model.recorder import Recorder


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(3)


@pytest.fixture
def attention():
    return with_bias(SelfAttention)


@pytest.fixture
def cross_attention():
    return with_bias(CrossAttention)


def with_bias(kind):
    module = kind(12, 3, dropout=0.4).eval()
    torch.nn.init.normal_(module.in_projection.bias)
    return module


def recording(record, mask=None):
    """Return a context that records the attention as cross-attention in decoder layer 0."""
    return AttentionContext(mask, hooks=hooks_of(UNEDITED, record, "decoder").of_layer(0).of_attention("cross"))


def test_masked_softmax_matches_the_lecture_example():
    # Raw scores of 112 and 96, divided by sqrt(64), give softmax(14, 12) = (0.88, 0.12).
    weights = masked_softmax(torch.tensor([112.0, 96.0]) / 8)
    torch.testing.assert_close(weights, torch.tensor([0.880797, 0.119203]), atol=1e-6, rtol=0)


def test_attention_scores_have_one_row_per_query():
    query, key = torch.randn(2, 4), torch.randn(3, 4)
    scores = scaled_dot_product_attention(query, key, key).scores
    assert scores.shape == (2, 3)
    torch.testing.assert_close(scores[1, 2], query[1] @ key[2] / 2)


def test_attention_rows_sum_to_one_and_masked_cells_are_exactly_zero():
    allowed = causal_mask(6)
    weights = scaled_dot_product_attention(*torch.randn(3, 2, 4, 6, 8), allowed).weights
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 6), atol=1e-6, rtol=0)
    assert (weights[..., ~allowed] == 0).all()
    assert (weights[..., allowed] > 0).all()


def test_fully_masked_row_has_zero_weights_and_output():
    allowed = torch.tensor([[True, True], [False, False]])
    _, weights, output = scaled_dot_product_attention(*torch.randn(3, 2, 4), allowed)
    assert (weights[1] == 0).all() and (output[1] == 0).all()
    torch.testing.assert_close(weights[0].sum(), torch.tensor(1.0))


def test_recorder_stores_attention_weights_before_dropout():
    query, key, value = torch.randn(3, 5, 4)
    _, weights, output = scaled_dot_product_attention(query, key, value, dropout=0.5)
    torch.testing.assert_close(weights, masked_softmax(query @ key.T / 2))
    assert not torch.allclose(output, weights @ value)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_matches_pytorch_multi_head_attention(cross_attention, masked):
    attention = cross_attention
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    allowed = torch.rand(5, 7) < 0.7 if masked else None
    if masked:
        allowed[:, 0] = True
    record = Recorder(details=True)
    ours = attention(x, attention.project_keys_and_values(memory), recording(record, allowed))
    theirs, weights = F.multi_head_attention_forward(
        x.transpose(0, 1),
        memory.transpose(0, 1),
        memory.transpose(0, 1),
        12,
        3,
        attention.in_projection.weight,
        attention.in_projection.bias,
        None,
        None,
        False,
        0.0,
        attention.out_projection.weight,
        attention.out_projection.bias,
        training=False,
        attn_mask=None if allowed is None else ~allowed,
        average_attn_weights=False,
    )
    torch.testing.assert_close(ours, theirs.transpose(0, 1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(record.tensors["cross.weights"][0], weights, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_fused_attention_matches_explicit_attention(attention):
    x = torch.randn(2, 6, 12)
    fused = attention(x, AttentionContext(causal_mask(6)))
    written = attention(x, recording(Recorder(details=False), causal_mask(6)))
    torch.testing.assert_close(fused, written, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_fused_attention_is_used_only_without_a_recorder(attention, monkeypatch):
    calls = []
    fused = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *args, **kwargs: calls.append(1) or fused(*args, **kwargs)
    )
    x = torch.randn(1, 4, 12)
    attention(x)
    assert calls == [1]
    attention(x, recording(Recorder(details=False)))
    assert calls == [1]


def test_separate_query_and_key_value_projections_match_the_joint_projection(attention, cross_attention):
    x = torch.randn(2, 5, 12)
    attention.load_state_dict(cross_attention.state_dict())
    query, keys_and_values = attention.project(x)
    torch.testing.assert_close(cross_attention.project_queries(x), query)
    torch.testing.assert_close(cross_attention.project_keys_and_values(x).joined, keys_and_values.joined)


def test_recorder_stores_only_weights_unless_details_are_requested(attention):
    x = torch.randn(1, 4, 12)
    plain, detailed = Recorder(details=False), Recorder(details=True)
    for record in (plain, detailed):
        attention(x, recording(record, causal_mask(4)))
    assert set(plain.tensors) == {"cross.weights"}
    assert set(detailed.tensors) == {
        f"cross.{part}" for part in ("weights", "scores", "queries", "keys", "values", "outputs")
    }
    scores, weights = detailed.tensors["cross.scores"][0], detailed.tensors["cross.weights"][0]
    assert scores.isfinite().all() and (scores[..., 0, 1:] != 0).all()
    torch.testing.assert_close(masked_softmax(scores, causal_mask(4)), weights)
    torch.testing.assert_close(weights @ detailed.tensors["cross.values"][0], detailed.tensors["cross.outputs"][0])
