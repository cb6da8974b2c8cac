import numpy as np
import pytest

from transformer.errors import TaskError
from transformer.tasks.items import Items
from transformer.tasks.registry import TASKS, task_named
from transformer.text.vocabulary import OWN_SYMBOLS


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("copy", "dacbh", "dacbh"),
        ("reverse", "dac bh", "hbcad"),
        ("sort", "dacbh", "abcdh"),
        ("pattern", "dac", "dacdacdac"),
        ("addition", "047+385", "0432"),
        ("addition-reversed", "047+385", "2340"),
        ("addition", "999+999", "1998"),
        ("modular", "17 + 42", "0"),
        ("modular", "58+58", "57"),
        ("modular", "0+0", "0"),
    ],
)
def test_answer_of_each_task_matches_a_known_example(name, text, expected):
    task = task_named(name)
    assert task.write(task.parse(text).target) == expected


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_randomly_drawn_task_items_can_be_parsed_and_respect_the_length_limits(task):
    rng = np.random.default_rng(1)
    for _ in range(200):
        source = task.draw(rng)
        item = task.parse(task.write(source))
        assert item.source == source and item == task.item(source)
        assert len(source) <= task.longest_source and len(item.target) <= task.longest_target
        assert set(source) | set(item.target) <= set(task.symbols)
    assert task.parse(task.example)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("text", ["", "  ", "x" * 5_000, "Ünïcödé", "abcdefghijklmnop", "a", "1+", "+", "1+2+3", "a!"])
def test_invalid_item_is_reported_in_one_short_line(task, text):
    with pytest.raises(TaskError) as caught:
        task.parse(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


def test_pattern_that_repeats_a_letter_is_rejected():
    with pytest.raises(TaskError, match="must not repeat a letter"):
        task_named("pattern").parse("abca")


def test_unknown_task_is_reported_with_the_list_of_tasks():
    with pytest.raises(TaskError, match="copy, reverse, sort"):
        task_named("translate")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_training_never_sees_held_out_items(task):
    items = Items(task, seed=3)
    held_out = {item.source for item in items.held_out}
    assert len(held_out) == task.held_out
    for step in range(20):
        drawn = items.training(step, 32)
        assert len(drawn) == 32 and not held_out & {item.source for item in drawn}


def test_modular_addition_lists_all_its_items():
    task = task_named("modular")
    sources = list(task.sources())
    assert len(set(sources)) == len(sources) == task.modulus**2
    for source in sources:
        assert task.parse(task.write(source)) == task.item(source)
        assert (int(source[0]) + int(source[2]) - int(task.answer(source)[0])) % task.modulus == 0
    assert task.symbols[: task.modulus] == tuple(str(number) for number in range(task.modulus))


@pytest.mark.parametrize("name", ["addition", "addition-reversed"])
def test_addition_task_gives_the_correct_sum(name):
    """Compares the task's sums with Python's; some have a carry in every digit, and some have none."""
    task, rng = task_named(name), np.random.default_rng(0)
    for first, second in [(0, 0), (999, 1), (555, 445), (123, 456), *rng.integers(1_000, size=(200, 2)).tolist()]:
        digits = task.write(task.parse(f"{first:03}+{second:03}").target)
        assert int(digits[::-1] if task.reversed_digits else digits) == first + second and len(digits) == 4


def test_training_batch_as_large_as_the_training_set_contains_each_item_once():
    task = task_named("modular")
    items = Items(task, seed=3)
    assert len(items.trained) + len(items.held_out) == task.modulus**2
    everything = {item.source for item in (*items.trained, *items.held_out)}
    assert len(everything) == task.modulus**2, "none is in both"
    assert items.training(5, len(items.trained)) == items.training(0, 4_000) == list(items.trained)
    drawn = items.training(5, len(items.trained) - 1)
    assert len(drawn) == len(items.trained) - 1 and drawn != items.training(6, len(drawn))
    assert Items(task_named("copy"), seed=3).trained is None


def test_seed_determines_all_drawn_items():
    first, second, other = (Items(task_named("sort"), seed) for seed in (3, 3, 4))
    assert first.held_out == second.held_out != other.held_out
    assert first.training(7, 8) == second.training(7, 8) != first.training(8, 8)


def test_task_batch_is_padded_and_has_start_and_end_symbols():
    task = task_named("reverse")
    items = Items(task, seed=1)
    batch = items.batch([task.parse("abc"), task.parse("abcdefghij")])
    width = task.longest_source + 1
    assert batch.source.shape == batch.target.shape == batch.predicted.shape == (2, width)
    assert batch.source[0].tolist() == [4, 5, 6, OWN_SYMBOLS.end] + [OWN_SYMBOLS.pad] * (width - 4)
    assert batch.predicted[0].tolist() == [6, 5, 4, OWN_SYMBOLS.end] + [OWN_SYMBOLS.pad] * (width - 4)
    assert batch.target[0].tolist() == [OWN_SYMBOLS.start, 6, 5, 4, OWN_SYMBOLS.end] + [OWN_SYMBOLS.pad] * (width - 5)
    assert items.decode(batch.predicted[0].tolist()) == ("c", "b", "a")
    assert items.decode([OWN_SYMBOLS.start, 4]) == ("?", "a")
