"""Tests that contexts contain whole texts, and that the target is the input shifted by one."""

import numpy as np
import pytest

from transformer.text.tokenizer import END, PAD, START
from transformer.training.contexts import ContextBatches, Contexts, texts_of
from transformer.training.run_folder import read_data

TEXTS = [f"the dog number {number}" for number in range(60)]


def contexts(tokenizer, texts=TEXTS, *, width=48, seed=1, **shares):
    return Contexts.of(texts, tokenizer, width=width, rng=np.random.default_rng(seed), **shares)


def texts_in(data, tokenizer):
    """Yield the texts of each context, in order."""
    for row in data.tokens.tolist():
        filled = row[: row.index(PAD)] if PAD in row else row
        assert filled[-1] == END and PAD not in filled, "padding is at the end alone"
        parts = np.split(filled, np.flatnonzero(np.array(filled) == END) + 1)[:-1]
        yield [tokenizer.decode(part.tolist()) for part in parts]


def test_every_text_occurs_once_and_is_never_cut(tokenizer):
    found = list(texts_in(contexts(tokenizer), tokenizer))
    assert sorted(text for texts in found for text in texts) == sorted(TEXTS)
    assert max(map(len, found)) > 1, "several texts share a context"


def test_all_copies_of_a_text_are_in_the_same_context(tokenizer):
    once, again = contexts(tokenizer), contexts(tokenizer, repeated=0.5)
    found = list(texts_in(again, tokenizer))
    assert {text for texts in found for text in texts} == set(TEXTS)
    # All copies of a text are in the same context.
    assert sum(len(set(texts)) for texts in found) == len(TEXTS)
    assert any(len(set(texts)) < len(texts) for texts in found) and len(again) > len(once)


def test_contexts_include_repeated_patterns(tokenizer):
    """Patterns are added to the usual contexts, and consist of randomly ordered tokens from the texts."""
    without, data = contexts(tokenizer, width=100), contexts(tokenizer, width=100, patterns=1.0)
    assert np.array_equal(data.tokens[: len(without)], without.tokens) and len(data) == 2 * len(without)
    known = {token for text in TEXTS for token in tokenizer.encode_ids(text, end=False)}
    lengths = set()
    for row in data.tokens[len(without) :].astype(int):
        assert set(row.tolist()) <= known
        (periods,) = np.nonzero([np.array_equal(row[at:], row[:-at]) for at in range(1, 50)])
        lengths.add(int(periods[0]) + 1)
    assert len(lengths) > 1, "one length could be told by position"


def test_same_seed_gives_the_same_contexts(tokenizer):
    one, same, other = (contexts(tokenizer, repeated=0.3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.tokens, same.tokens) and not np.array_equal(one.tokens[:3], other.tokens[:3])


def test_text_longer_than_a_context_is_left_out(tokenizer):
    data = contexts(tokenizer, ["one", "long " * 50, "two"], width=12)
    assert sorted(text for texts in texts_in(data, tokenizer) for text in texts) == ["one", "two"]
    assert len(contexts(tokenizer, ["long " * 50], width=12)) == 0
    with pytest.raises(ValueError, match="no texts to train on"):
        ContextBatches(contexts(tokenizer, ["long " * 50], width=12), tokens=64, seed=1)


def test_target_is_the_input_shifted_by_one(tokenizer):
    data = contexts(tokenizer)
    batches = ContextBatches(data, tokens=200, seed=1)
    assert batches.rows == 4
    seen = []
    for members in batches.epoch(0):
        batch = batches.load(members)
        assert (batch.target[:, 0] == START).all()
        assert (batch.target[:, 1:] == batch.predicted[:, :-1]).all()
        assert batch.tokens == batches.count(members) == int((data.tokens[members] != PAD).sum())
        seen += members.tolist()
    assert sorted(seen) == list(range(len(data)))
    assert [m.tolist() for m in batches.epoch(3)] == [m.tolist() for m in batches.epoch(3)]
    assert [m.tolist() for m in batches.epoch(3)] != [m.tolist() for m in batches.epoch(4)]


def test_saved_contexts_are_not_loaded_as_sentence_pairs(tokenizer, tmp_path):
    data = contexts(tokenizer)
    data.save(tmp_path / "data.safetensors", "abc")
    loaded, fingerprint = read_data(tmp_path / "data.safetensors", "prepare again")
    assert isinstance(loaded, Contexts) and fingerprint == "abc"
    assert np.array_equal(loaded.tokens, data.tokens)


def test_repeated_source_text_is_used_once():
    assert texts_of([("a", "x"), ("b", "y"), ("a", "z")]) == ["a", "b"]
