"""Tests of training a few steps at a time, and of the contents of snapshots."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer.decoding.greedy import greedy
from transformer.errors import TaskError
from transformer.tasks.answer import answer, model_at
from transformer.tasks.config import OPTIMIZERS, TaskConfig
from transformer.tasks.items import Items
from transformer.tasks.measurement import attention, teacher_forcing
from transformer.tasks.registry import task_named
from transformer.tasks.trainer import TaskTrainer, seeded_model
from transformer.text.vocabulary import OWN_SYMBOLS


def same(one, other):
    np.testing.assert_array_equal(one.losses, other.losses)
    assert [snapshot.step for snapshot in one.snapshots] == [snapshot.step for snapshot in other.snapshots]
    for first, second in zip(one.snapshots, other.snapshots, strict=True):
        np.testing.assert_array_equal(first.weights, second.weights)
        assert first.exact_match == second.exact_match and first.held_out_loss == second.held_out_loss


def test_training_in_slices_gives_the_same_model_as_training_at_once(small_config, small_run):
    trainer = TaskTrainer(small_config, "dacbh")
    assert trainer.advance(steps=1) == 1
    assert trainer.advance(seconds=0) == 1, "a slice without time takes one step"
    assert trainer.advance(steps=3) == 3 and not trainer.finished
    torch.rand(10)  # Random draws elsewhere must not change the training.
    early = trainer.run()
    assert trainer.advance() == small_config.steps - 5 and trainer.finished
    assert trainer.advance() == 0
    same(trainer.run(), small_run)
    assert early.step == 5 and len(early.snapshots) == 2, "a result does not change with the next slice"


def test_restarted_training_gives_an_identical_run(small_config, small_run):
    trainer = TaskTrainer(small_config, "dacbh")
    trainer.advance(steps=4)
    trainer.reset()
    assert trainer.step == 0 and [snapshot.step for snapshot in trainer.snapshots] == [0]
    trainer.advance()
    same(trainer.run(), small_run)


def test_training_leaves_the_global_random_generator_unchanged(small_config):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    TaskTrainer(small_config).advance(steps=1)
    torch.testing.assert_close(torch.rand(3), expected)


def test_snapshot_contains_everything_that_a_page_shows(small_config, small_run):
    assert [snapshot.step for snapshot in small_run.snapshots] == [0, 3, 6, 9, 12]
    assert small_run.losses[-1] < small_run.losses[0] and small_run.finished
    for snapshot in small_run.snapshots:
        assert snapshot.weights.dtype == np.float16 and snapshot.weights.shape == (small_config.parameters,)
        for kind in ("encoder", "decoder", "cross"):
            weights = snapshot.attention[kind]
            assert weights.shape == (1, 2, 6, 6)
            np.testing.assert_allclose(weights.sum(axis=-1, dtype=np.float64), 1, atol=2e-3)
            assert all(scores[kind].shape == (1, 2) for scores in snapshot.scores.values())
        assert not np.triu(snapshot.attention["decoder"], 1).any()


@pytest.mark.parametrize("sizes", [{}, {"layers": 2, "d_model": 24, "heads": 4}, {"task": "modular"}])
def test_parameter_count_matches_the_model(small_config, sizes):
    config = replace(small_config, **sizes)
    assert config.parameters == sum(each.numel() for each in seeded_model(config).parameters())


@pytest.mark.thorough
def test_model_learns_to_copy_and_exact_match_agrees_with_decoding():
    """The model is tested halfway through training, when about half of its answers are right."""
    trainer = TaskTrainer(TaskConfig(task="copy", d_model=32, steps=200, snapshots=1, learning_rate=1e-2))
    trainer.advance(steps=85)
    items, model = trainer.items, trainer.model.eval()
    asked = sorted(items.held_out, key=lambda item: len(item.source))[:64]
    _, share, right = teacher_forcing(model, items, asked)
    batch = items.batch(asked)
    with torch.inference_mode():
        mask = batch.source != OWN_SYMBOLS.pad
        steps = list(greedy(model, model.start_cache(model.encode(batch.source, mask), mask), limit=11))
    written = torch.stack([step.predicted for step in steps], dim=1).tolist()
    expected = [
        OWN_SYMBOLS.end in ids and items.decode(ids) == item.target for ids, item in zip(written, asked, strict=True)
    ]
    assert right.tolist() == expected and 0 < share < 1
    trainer.advance()
    assert trainer.snapshots[-1].exact_match > 0.9


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_reduces_the_loss(small_config, optimizer):
    trainer = TaskTrainer(replace(small_config, optimizer=optimizer, steps=30))
    trainer.advance()
    assert np.mean(trainer.losses[-3:]) < 0.9 * trainer.losses[0]


def test_handwritten_adam_matches_pytorch_adam(small_config):
    by_hand, torchs = (TaskTrainer(replace(small_config, optimizer=name)) for name in ("adam-by-hand", "adam"))
    by_hand.advance(steps=6)
    torchs.advance(steps=6)
    np.testing.assert_allclose(by_hand.losses, torchs.losses, rtol=1e-4)


def test_diverging_training_is_reported_without_losing_its_earlier_steps(small_config):
    trainer = TaskTrainer(small_config)
    trainer.advance(steps=4)
    with torch.no_grad():
        trainer.model.generator.weight.fill_(torch.inf)
    with pytest.raises(TaskError, match="diverged at step 5: .* --learning-rate"):
        trainer.advance()
    assert trainer.run().step == 4


def test_model_answer_at_any_snapshot_has_tokens_probabilities_and_attention(small_config, small_run):
    first, last = (answer(small_config, small_run.snapshots[index], "abc") for index in (0, -1))
    for found in (first, last):
        rows = len(found.reads)
        assert found.sources == ("a", "b", "c", "</s>") and found.reads[0] == "<s>"
        assert found.attention["cross"].shape == (1, 2, rows, 4)
        assert found.attention["decoder"].shape == (1, 2, rows, rows)
        assert len(found.probabilities) == rows and all(0 < each <= 1 for each in found.probabilities)
        assert found.is_right == (found.ended and found.written == ("a", "b", "c"))
    with pytest.raises(TaskError, match="accepts only .*, not 'ß'"):
        answer(small_config, small_run.snapshots[0], "aßc")


def test_attention_recomputed_from_a_snapshot_matches_its_recorded_attention(small_config, small_run):
    """Recomputed and recorded weights differ only by rounding, because a snapshot stores all numbers in float16."""
    snapshot = small_run.snapshots[-1]
    items = Items(task_named("copy"), small_config.seed)
    found = attention(model_at(small_config, snapshot), items, [small_run.item])
    for kind, weights in snapshot.attention.items():
        np.testing.assert_allclose(found[kind][0, :, :, : weights.shape[2], : weights.shape[3]], weights, atol=5e-3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"task": "x"}, "there is no task 'x'"),
        ({"steps": 0}, "--steps must be at least 1"),
        ({"d_model": 129}, "--d-model must be at most 128"),
        ({"heads": 3}, "heads"),
        ({"seed": 10**400}, "--seed must be"),
        ({"learning_rate": float("nan")}, "--learning-rate must be a finite number"),
        ({"optimizer": "sgd"}, "no optimiser 'sgd'"),
        ({"optimizer": "adam-by-hand", "weight_decay": 0.1}, "--weight-decay 0"),
        ({"d_model": 128, "layers": 2, "snapshots": 200}, "--snapshots must be at most"),
    ],
)
def test_config_out_of_range_is_rejected(values, message):
    with pytest.raises(TaskError, match=message) as caught:
        TaskConfig(**{"task": "copy", **values})
    assert "\n" not in str(caught.value)


def test_config_survives_a_json_round_trip(small_config):
    assert TaskConfig.from_json(small_config.to_json()) == small_config
    for text in ("", "[]", "{}", "[" * 100_000, small_config.to_json().replace('"copy"', "7")):
        with pytest.raises(TaskError):
            TaskConfig.from_json(text)
