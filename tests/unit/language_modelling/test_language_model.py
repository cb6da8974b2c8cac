import torch

from tests.unit.language_modelling.conftest import random_weights
from transformer.config import decoder_only
from transformer.language_modelling.continuation import start_after
from transformer.model.recorder import Recorder
from transformer.model.sinusoids import sinusoids
from transformer.model.transformer import Transformer, build


def attention(record):
    return torch.stack(record.tensors["decoder.weights"])


def tokens(vocabulary, *, rows=3, length=17):
    return torch.randint(vocabulary, (rows, length), generator=torch.Generator().manual_seed(5))


def small(**choices):
    torch.manual_seed(6)
    return build(
        decoder_only(
            **{"vocabulary": 40, "d_model": 16, "heads": 2, "layers": 2, "d_ff": 20, "max_positions": 32} | choices
        )
    ).eval()


def assert_equal_to(theirs, model):
    """Check that logits and attention weights agree to within 1e-5, in one pass and token by token."""
    ids = tokens(model.config.target_vocabulary)
    with torch.inference_mode():
        expected = theirs(ids, output_attentions=True)
        maps = torch.stack(expected.attentions)
        record = Recorder(details=False)
        torch.testing.assert_close(model(None, ids, record=record), expected.logits, atol=1e-5, rtol=0)
        torch.testing.assert_close(attention(record), maps, atol=1e-5, rtol=0)
        torch.testing.assert_close(model(None, ids), expected.logits, atol=1e-5, rtol=0)

        cache, last = start_after(model, ids[:, :5]), ids[:, 4:5]
        for at in range(4, ids.shape[1]):
            record = Recorder(details=False)
            hidden, cache = model.decode_step(last, cache, record=record)
            torch.testing.assert_close(model.generator(hidden)[:, 0], expected.logits[:, at], atol=1e-5, rtol=0)
            row = maps[:, :, :, at : at + 1, : at + 1]
            torch.testing.assert_close(attention(record), row, atol=1e-5, rtol=0)
            last = ids[:, at + 1 : at + 2]
        assert cache.length == ids.shape[1]


def test_language_model_matches_hugging_face_gpt2(huggingface, model):
    assert_equal_to(huggingface, model)


def test_post_norm_language_model_matches_hugging_face_gpt1():
    from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

    theirs = random_weights(
        OpenAIGPTLMHeadModel(
            OpenAIGPTConfig(vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2, attn_implementation="eager")
        )
    )
    model = small(norm="post", d_ff=64)
    names = {
        "target_embedding.weight": "tokens_embed.weight",
        "target_positions.table": "positions_embed.weight",
        "self_attention.in_projection": "attn.c_attn",
        "self_attention.out_projection": "attn.c_proj",
        "feed_forward.expand": "mlp.c_fc",
        "feed_forward.contract": "mlp.c_proj",
        "self_attention_residual.norm": "ln_1",
        "feed_forward_residual.norm": "ln_2",
        "decoder_layers": "h",
    }
    found = theirs.transformer.state_dict()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            their = name
            for one, other in names.items():
                their = their.replace(one, other)
            matrix = found[their]
            parameter.copy_(matrix.T if "c_" in their and matrix.ndim == 2 else matrix)
    assert_equal_to(theirs, model)


def test_model_with_sinusoids_as_learned_positions_matches_a_sinusoidal_model():
    waves, learned = small(positions="sinusoidal"), small()
    learned.load_state_dict(
        {**waves.state_dict(), "target_positions.table": torch.from_numpy(sinusoids(32, 16)).float()}
    )
    ids = tokens(40)
    torch.testing.assert_close(waves(None, ids), learned(None, ids))


def test_embedding_and_output_layer_share_one_matrix():
    model = Transformer(decoder_only(vocabulary=12, d_model=8, heads=2, layers=1, d_ff=8))
    assert model.generator.weight is model.target_embedding.weight
    assert not [name for name, _ in model.named_parameters() if "generator" in name]


def test_language_model_loss_falls_during_training():
    model = small(dropout=0.0).train()
    ids = tokens(40, rows=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss():
        return torch.nn.functional.cross_entropy(model(None, ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    first = loss().item()
    for _ in range(60):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert loss().item() < first / 4
