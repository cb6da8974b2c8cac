"""Tests that the trainer of translation models also trains language models."""

import csv
import dataclasses
import random

import pytest
import torch

from tests.unit.training import tiny_runs
from tests.unit.training.tiny_runs import assert_continues_exactly
from transformer.checkpoints.checkpoint import load_language_model
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.scoring import score_text
from transformer.training.prepare import prepare, prepare_language_model
from transformer.values.decoding_settings import DecodingSettings

LAYERS = 2
WORDS = ["red", "blue", "cat", "dog", "one", "two"]


def written(folder, name, count, seed):
    """Write a file of texts in which each word determines the next word."""
    rng = random.Random(seed)
    lines = []
    for number in range(count):
        first = rng.randrange(len(WORDS))
        words = [WORDS[(first + step) % len(WORDS)] for step in range(rng.randrange(2, 6))]
        lines.append(f"{' '.join(words)} {rng.randrange(100)}\t{name} {number}\n")
    (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder / name


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "tokenizer.model").write_bytes(tokenizer.serialized)
    files = {"data": [written(folder, "train.tsv", 400, 1)], "validation": written(folder, "dev.tsv", 20, 2)}
    prepare_language_model(folder / "run", **files, context=40, repeated=0.3, start=folder)
    return folder


def trainer(run, start=None, **changes):
    return tiny_runs.trainer(run, start, **{"layers": LAYERS, "label_smoothing": 0.0, **changes})


def test_model_learns_the_next_word(run):
    trainer(run, steps=100, learning_rate=0.01, dropout=0.0, micro_batches=1, warmup=10).train()
    loaded = load_language_model(run / "model", "cpu")
    written_on = continue_text(loaded.model, loaded.tokenizer, "one two red", DecodingSettings(), limit=20)
    assert written_on.text.startswith("one two red") and written_on.complete
    right, wrong = (score_text(loaded.model, loaded.tokenizer, text) for text in ("red blue cat", "red cat blue"))
    assert right.log_prob > wrong.log_prob + 4
    assert loaded.model.config.max_positions == 40 and loaded.model.config.attention == "full"
    (*_, last) = csv.DictReader(loaded.curve.splitlines())
    assert float(last["validation_loss"]) < 2 and last["validation_chrf"] == ""


def test_interrupted_and_uninterrupted_training_give_the_same_result(run):
    assert_continues_exactly(lambda: trainer(run))


def test_loss_covers_only_real_tokens(run):
    """Padding after the last text of a context does not count, whatever tokens it contains."""
    training = trainer(run, dropout=0.0)
    training.model.eval()
    batch = training.batches.load(training._members(0))
    real = batch.predicted != 0
    assert not real.all()
    with torch.no_grad():
        log_probs = training.model(None, batch.target).log_softmax(dim=-1)
        expected = -log_probs.gather(-1, batch.predicted[..., None]).squeeze(-1)[real].sum()
        torch.testing.assert_close(training.loss(batch), expected)
        filled = torch.where(torch.cat([real[:, :1], real[:, :-1]], dim=1), batch.target, 7)
        torch.testing.assert_close(training.loss(dataclasses.replace(batch, target=filled)), expected)


def test_learned_positions_are_not_trained_by_muon(run):
    training = trainer(run)
    muon, adam = training.optimizer.parts
    table = training.model.target_positions.table
    assert any(p is table for p in adam.param_groups[0]["params"])
    assert len(muon.param_groups[0]["params"]) == 4 * LAYERS


def test_run_with_another_vocabulary_starts_from_the_model_embeddings(run, prepared, tmp_path):
    trainer(run, steps=4, average=1).train()
    given = load_language_model(run / "model", "cpu")
    other = tmp_path / "other"
    data = {"data": [prepared / "train.tsv"], "validation": prepared / "dev.tsv"}
    prepare_language_model(other, **data, context=40, vocabulary=396)
    again = trainer(other, start=run / "model")
    old, new = given.tokenizer, again.tokenizer
    rows, made = given.model.target_embedding.weight, again.model.target_embedding.weight
    torch.testing.assert_close(made[new.texts.index("e")], rows[old.texts.index("e")])
    token = new.texts.index("▁blue")
    spelt = old.spell("▁blue")
    assert len(spelt) > 1
    torch.testing.assert_close(made[token], rows[spelt].mean(dim=0))


def test_mixed_translator_and_language_model_data_is_rejected(run, prepared, tmp_path):
    pairs = tmp_path / "pairs"
    files = {"data": [prepared / "train.tsv"], "validation": prepared / "dev.tsv"}
    prepare(pairs, **files, start=prepared)
    (run / "validation.safetensors").write_bytes((pairs / "validation.safetensors").read_bytes())
    with pytest.raises(ValueError, match="are for different types of models: run `prepare"):
        trainer(run)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": 0}, "--context must be at least 1"),
        ({"context": 10**12}, "--context must be .* at most 65,536, not"),
        ({"vocabulary": 10**13}, "--vocabulary must be at least 1 and at most 65,535"),
        ({"repeated": 1.0}, "--repeated must be .* below 1"),
        ({"repeated": float("nan")}, "--repeated must be at least 0"),
        ({"patterns": 1.1}, "--patterns must be at least 0"),
        ({"context": 1}, "no text in the train data fits into a context of 1 tokens: choose a larger --context"),
    ],
)
def test_data_that_cannot_be_prepared_is_reported(prepared, tmp_path, changes, message):
    files = {"data": [prepared / "train.tsv"], "validation": prepared / "dev.tsv"}
    with pytest.raises(ValueError, match=message):
        prepare_language_model(tmp_path, **files, start=prepared, **changes)
        trainer(tmp_path)


def test_held_out_texts_are_excluded_from_training(prepared, tmp_path):
    """A text is excluded even if it differs from a held-out text in case or punctuation. A text with several
    translations is used once.
    """
    data = tmp_path / "data.tsv"
    data.write_text("the Dog!\ta\nred cat\tb\nred cat\tc\nblue\td\n", encoding="utf-8")
    validation = tmp_path / "held-out.tsv"
    validation.write_text("The dog.\tz\n", encoding="utf-8")
    prepare_language_model(
        tmp_path / "run", data=[data], validation=validation, repeated=0.0, patterns=0.0, start=prepared
    )
    training = trainer(tmp_path / "run", micro_batches=1)
    (row,) = training.batches.data.tokens
    assert sorted(training.tokenizer.decode(row.tolist()).replace("blue", " blue").split()) == ["blue", "cat", "red"]
