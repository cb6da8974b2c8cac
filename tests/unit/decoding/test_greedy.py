from __future__ import annotations

import pytest
import torch

from transformer.config import TransformerConfig
from transformer.decoding import best, entropy, greedy
from transformer.model import Recorder, build
from transformer.tokenizer import END, PAD, START


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(8)
    config = TransformerConfig(
        source_vocabulary=30, target_vocabulary=30, d_model=16, heads=4, encoder_layers=1, decoder_layers=2, d_ff=24
    )
    return build(config).eval()


def decode(model, source, *, limit=12, capture=False):
    with torch.inference_mode():
        real = source != PAD
        return list(greedy(model, model.encode(source, real), real, limit=limit, capture=capture))


def test_takes_the_likeliest_piece_and_reads_it_next(model):
    steps = decode(model, torch.tensor([[5, 9, 7, END]]))
    assert int(steps[0].read) == START
    for step, following in zip(steps, steps[1:], strict=False):
        assert torch.equal(step.predicted, step.distribution.log_probs.argmax(-1))
        assert torch.equal(following.read, step.predicted)
        assert torch.equal(step.log_prob, step.distribution.log_probs.max(-1).values)


def test_stepwise_rows_equal_the_full_pass(model):
    source = torch.tensor([[5, 9, 7, 11, END]])
    steps = decode(model, source, capture=True)
    read = torch.stack([step.read for step in steps], dim=1)
    record = Recorder(details=False)
    with torch.inference_mode():
        real = torch.ones_like(source, dtype=torch.bool)
        hidden = model.decode(read, model.encode(source, real), real, record=record)
        log_probs = model.generator(hidden).log_softmax(-1)
    for t, step in enumerate(steps):
        torch.testing.assert_close(step.distribution.log_probs, log_probs[:, t], atol=1e-5, rtol=1e-5)
        rows = step.distribution.rows
        assert rows.decoder.shape == (1, 2, 4, t + 1) and rows.cross.shape == (1, 2, 4, 5)
        for layer in range(2):
            expected = record.tensors["decoder.weights"][layer][:, :, t, : t + 1]
            torch.testing.assert_close(rows.decoder[:, layer], expected, atol=1e-5, rtol=1e-5)
            expected = record.tensors["cross.weights"][layer][:, :, t]
            torch.testing.assert_close(rows.cross[:, layer], expected, atol=1e-5, rtol=1e-5)


def test_a_batch_gives_what_each_sentence_gives_alone(model):
    rows = [[5, 9, 7, END], [12, END], [8, 8, 20, 21, 22, END]]
    padded = torch.tensor([row + [PAD] * (6 - len(row)) for row in rows])
    together = torch.stack([step.predicted for step in decode(model, padded)], dim=1)
    for row, predicted in zip(rows, together.tolist(), strict=True):
        alone = [int(step.predicted) for step in decode(model, torch.tensor([row]))]
        assert predicted[: len(alone)] == alone
        assert set(predicted[len(alone) :]) <= {PAD}, "nothing follows the end symbol"


def test_the_limit_ends_the_search(model):
    with torch.no_grad():
        never = build(model.config).eval()
        never.generator.bias[END] = -1e9
    assert len(decode(never, torch.tensor([[5, END]]), limit=7)) == 7


def test_the_end_symbol_ends_the_search(model):
    with torch.no_grad():
        at_once = build(model.config).eval()
        at_once.generator.bias[END] = 1e9
    steps = decode(at_once, torch.tensor([[5, END]]))
    assert len(steps) == 1 and int(steps[0].predicted) == END


def test_nothing_is_captured_unless_asked_for(model):
    assert all(step.distribution.rows is None for step in decode(model, torch.tensor([[5, END]])))


def test_entropy_in_nats():
    log_probs = torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]).log()
    torch.testing.assert_close(entropy(log_probs), torch.tensor([0.801819, 0.0]), atol=1e-6, rtol=0)


def test_best_gives_at_most_what_there_is():
    ids, values = best(torch.tensor([[0.1, 0.7, 0.2]]).log(), 5)
    assert ids.tolist() == [[1, 2, 0]] and values.shape == (1, 3)
