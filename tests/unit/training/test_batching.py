import numpy as np
import pytest

from transformer.text.tokenizer import PAD, START
from transformer.training.batching import WIDTHS, Batches
from transformer.training.data import SideTokens, TokenData


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    sides = [[rng.integers(4, 90, size=rng.integers(1, 30)).tolist() for _ in range(200)] for _ in range(2)]
    return TokenData(SideTokens.of(sides[0]), SideTokens.of(sides[1]))


def test_epoch_contains_every_pair_once(data):
    for epoch in (0, 5):
        members = np.concatenate(Batches(data, tokens=64, seed=1).epoch(epoch))
        assert sorted(members.tolist()) == list(range(200))


def test_batch_order_depends_only_on_seed_and_epoch(data):
    def order(seed, epoch):
        return [batch.tolist() for batch in Batches(data, tokens=64, seed=seed).epoch(epoch)]

    assert order(1, 3) == order(1, 3)
    assert order(1, 3) != order(1, 4) and order(1, 3) != order(2, 3)
    assert len(order(1, 3)) == len(order(1, 4)), "resuming counts on epochs of one length"


def test_batches_have_few_shapes_and_respect_the_token_limit(data):
    batches = Batches(data, tokens=128, seed=1)
    for members in batches.epoch(0):
        batch = batches.load(members)
        assert batch.source.shape[0] == batch.target.shape[0]
        assert batch.target.shape == batch.predicted.shape
        assert batch.source.shape[1] in WIDTHS and batch.target.shape[1] in WIDTHS
        assert batch.target.numel() <= 128


def test_batches_contain_little_padding():
    rng = np.random.default_rng(4)
    lengths = np.clip(rng.lognormal(2.4, 0.4, size=3000), 3, 60).astype(int)
    sides = [[[5] * length for length in np.maximum(1, lengths + rng.integers(-2, 3, 3000))] for _ in range(2)]
    data = TokenData(SideTokens.of(sides[0]), SideTokens.of(sides[1]))
    batches = Batches(data, tokens=512, seed=1)
    loaded = [batches.load(members) for members in batches.epoch(0)]
    for side in ("source", "predicted"):
        ids = [getattr(batch, side) for batch in loaded]
        real = sum(int((side_ids != PAD).sum()) for side_ids in ids)
        assert real > 0.85 * sum(side_ids.numel() for side_ids in ids), side


def test_decoder_input_is_the_target_shifted_by_one_token(data):
    batches = Batches(data, tokens=128, seed=1)
    for members in batches.epoch(0):
        batch = batches.load(members)
        for row, index in enumerate(members):
            predicted = data.target[index].tolist()
            assert batch.predicted[row, : len(predicted)].tolist() == predicted
            assert batch.target[row, : len(predicted)].tolist() == [START, *predicted[:-1]]
            assert (batch.predicted[row, len(predicted) :] == PAD).all()
            assert batch.source[row][batch.source[row] != PAD].tolist() == data.source[index].tolist()
        assert batch.tokens == sum(len(data.target[index]) for index in members)


def test_missing_or_overlong_sentence_pairs_are_reported():
    with pytest.raises(ValueError, match="no sentence pairs"):
        Batches(TokenData(SideTokens.of([]), SideTokens.of([])), tokens=64, seed=1)
    long = SideTokens.of([list(range(4, 304))])
    with pytest.raises(ValueError, match="longest sentence has 300 tokens"):
        Batches(TokenData(long, long), tokens=64, seed=1)
