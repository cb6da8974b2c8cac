import gc
import shlex
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest

from attention_atlas.browser.wire import MASKED_CODE, unpack
from pages.ui.params.training_lab import HEADS, MAX_STEPS, NEWEST, WIDTHS, LabParams
from pages.ui.training_lab.film import shown_heads
from pages.ui.training_lab.form import settings_of
from pages.ui.training_lab.own_item import describe_answer
from pages.ui.training_lab.payload import MAX_POINTS, film_payload, kind_labels, points
from pages.ui.training_lab.recorded_runs import FOLDER, command_of, recorded_run
from pages.ui.training_lab.run_view import describe_latest_event, describe_spectrum, moments
from pages.ui.training_lab.trainings import BrowserTab, Trainings
from transformer.commands.tasks import parser
from transformer.tasks.answer import answer, model_at
from transformer.tasks.config import TaskConfig
from transformer.tasks.events import MIN_GROKKING_STEPS, MIN_MATCH, Event, events
from transformer.tasks.registry import TASKS
from transformer.tasks.spectrum import fourier_spectrum, largest
from transformer.tasks.task import FIRST_ID
from transformer.tasks.trainer import TaskTrainer
from transformer.values.kinds import KINDS

SMALL = TaskConfig(task="copy", d_model=8, heads=2, items=4, steps=6, snapshots=3, warmup=2)
RECORDED = sorted(path.stem for path in FOLDER.glob("*.npz"))


@pytest.fixture(scope="module")
def run():
    trainer = TaskTrainer(SMALL, "dacb")
    trainer.advance()
    return trainer.run()


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_two_training_runs_are_active_at_once_and_a_third_waits():
    clock, tabs = Clock(), [BrowserTab() for _ in range(4)]
    trainings = Trainings(max_active=2, patience=5.0, clock=clock)
    each = [trainings.begin(tab, SMALL) for tab in tabs]
    assert not any(map(trainings.is_active, each)), "none was started"
    for training in (each[2], each[0], each[3]):
        trainings.start(training)
    assert [trainings.is_active(training) for training in each] == [True, False, True, False]
    # A paused run makes room for the next one, and joins the end of the queue when it is resumed.
    each[2].running = False
    assert trainings.is_active(each[3])
    trainings.start(each[2])
    assert [trainings.is_active(training) for training in each] == [True, False, False, True]


def test_training_pauses_when_its_page_is_left():
    clock, here, gone = Clock(), BrowserTab(), BrowserTab()
    trainings = Trainings(max_active=1, patience=5.0, clock=clock)
    first, second = (trainings.begin(tab, SMALL) for tab in (gone, here))
    trainings.start(first)
    trainings.start(second)
    assert trainings.is_active(first) and not trainings.is_active(second)
    clock.now = 4.0
    assert not trainings.is_active(second)
    clock.now = 6.0
    assert trainings.is_active(second), "nobody asked for the first one for six seconds"
    back = trainings.of(gone)
    assert back is first and not back.running


def test_training_is_dropped_when_its_session_ends():
    trainings, tab = Trainings(), BrowserTab()
    trainings.begin(tab, SMALL)
    assert len(trainings._all) == 1
    del tab
    gc.collect()
    assert len(trainings._all) == 0


def test_idle_training_runs_are_dropped_to_make_room_for_new_runs():
    clock, tabs = Clock(), [BrowserTab() for _ in range(4)]
    trainings = Trainings(limit=2, clock=clock)
    trainings.start(trainings.begin(tabs[0], SMALL))
    for tab in tabs[1:3]:
        trainings.begin(tab, SMALL)
    assert trainings.of(tabs[1]) is None, "the first one runs, the third is the newest"
    trainings.begin(tabs[3], SMALL)
    assert [trainings.of(tab) is not None for tab in tabs] == [True, False, False, True]
    trainings.leave(tabs[3])
    assert trainings.of(tabs[3]) is None


def test_browser_receives_every_weight_of_every_snapshot(run):
    header, numbers = unpack(film_payload(run, events(run), {"id": "x"}))
    assert (header["id"], header["steps"], header["at"]) == ("x", 6, [0, 2, 4, 6])
    sizes = [len(each["rows"]) * len(each["columns"]) * SMALL.heads for each in header["maps"]]
    parts = np.split(numbers.reshape(len(run.snapshots), -1), np.cumsum(sizes)[:-1], axis=1)
    for kind, part in zip(KINDS, parts, strict=True):
        weights = np.stack([snapshot.attention[kind] for snapshot in run.snapshots]).reshape(part.shape)
        masked = part == MASKED_CODE
        assert masked.any() == (kind == "decoder") and not weights[masked].any()
        np.testing.assert_allclose(part[~masked] / 60_000, weights[~masked], atol=1e-4)
    for name, of_kinds in header["scores"].items():
        for kind, rows in of_kinds.items():
            found = np.array(rows, dtype=float)
            expected = [snapshot.scores[name][kind].ravel() for snapshot in run.snapshots]
            np.testing.assert_allclose(found, expected, atol=1e-4)
    assert [step for step, _ in header["losses"]] == [1, 2, 3, 4, 5, 6]
    assert header["heldOut"] == [round(snapshot.held_out_loss, 5) for snapshot in run.snapshots]


def test_axis_labels_name_the_tokens_read_and_predicted():
    labels = kind_labels(("a", "b"), ("b", "a"), ("b", "a", "end"))
    assert labels["encoder"] == (["a", "b", "end"],) * 2
    assert labels["cross"] == (["in: start → out: b", "in: b → out: a", "in: a → out: end"], ["a", "b", "end"])
    assert labels["decoder"][1] == ["start", "b", "a"]


def test_loss_curve_of_a_long_training_is_averaged_before_sending():
    losses = np.random.default_rng(0).random(1_000).astype(np.float32)
    found = points(losses)
    assert len(found) == MAX_POINTS and points(losses[:0]) == []
    assert np.mean([loss for _, loss in found]) == pytest.approx(losses.mean(), abs=0.01)
    assert all(before < after for (before, _), (after, _) in zip(found, found[1:], strict=False))
    assert 1 <= found[0][0] <= 3 and 998 <= found[-1][0] <= 1_000


def test_lab_shows_the_chosen_heads_or_the_heads_of_the_first_training_event(run):
    happened = [Event(2, "x", "mirror", "cross", 0, 1), Event(4, "y", "diagonal", "cross", 0, 0), Event(4, "z")]
    params = LabParams()
    assert shown_heads(run, happened, params) == {"encoder": (0, 0), "decoder": (0, 0), "cross": (0, 1)}
    chosen = replace(params, cross=1, encoder=8)
    assert shown_heads(run, happened, chosen) == {"encoder": (0, 1), "decoder": (0, 0), "cross": (0, 0)}
    assert (
        describe_latest_event(run, happened, NEWEST) == "Step 6 of 6 · z"
        and describe_latest_event(run, happened, 3) == "Step 2 of 6 · x"
    )
    assert describe_latest_event(run, [], 0) == "Step 0 of 6"


def test_caption_states_whether_the_model_answer_is_right(run):
    found = answer(SMALL, run.snapshots[-1], "abc")
    right = replace(found, ended=True, written=tuple("abc"), probabilities=(0.5, 0.25, 1.0, 0.125))
    assert "with **abc**: :green-background[right]" in describe_answer(right, run, run.snapshots[-1])
    assert "a 0.50, b 0.25, c 1.00, end 0.12" in describe_answer(right, run, run.snapshots[-1])
    wrong = replace(right, written=tuple("ab"), probabilities=(0.5, 0.25, 1.0))
    assert "wrong]: the right answer is **abc**" in describe_answer(wrong, run, run.snapshots[1])
    assert "After step 2 " in describe_answer(wrong, run, run.snapshots[1])
    endless = replace(wrong, ended=False, probabilities=(0.5, 0.25))
    assert "the model does not stop" in describe_answer(endless, run, run.snapshots[-1])
    nothing = replace(wrong, written=(), probabilities=(1.0,))
    assert "with **nothing**" in describe_answer(nothing, run, run.snapshots[-1])


def test_training_table_has_the_measurements_of_every_snapshot(run):
    table = moments(run)
    assert list(table["step"]) == [0, 2, 4, 6] and "diagonal, masked 2" in table and "mirror, masked 1" not in table
    np.testing.assert_allclose(table["exact match"], [snapshot.exact_match for snapshot in run.snapshots])


@pytest.mark.parametrize("task", TASKS)
def test_every_setting_within_its_limits_gives_a_valid_training_configuration(task):
    for name in ("layers", "items", "steps", "warmup", "rate", "decay", "seed"):
        for value in LabParams.limits(name):
            for optimizer in ("adam", "adam-by-hand", "muon"):
                config = replace(LabParams(task=task, optimizer=optimizer), **{name: value}).config
                assert config.task == task and config.weight_decay == (
                    value if name == "decay" and optimizer != "adam-by-hand" else 0
                )
    for heads, width in product(HEADS, WIDTHS):
        assert replace(LabParams(task=task), heads=heads, width=width).config.heads == int(heads)
    largest = replace(LabParams(task=task), layers=2, heads="4", steps=MAX_STEPS)
    assert largest.config.parameters < 250_000


@pytest.mark.parametrize("task", RECORDED)
def test_recorded_training_run_has_a_small_file_and_states_its_settings(task):
    found = recorded_run(task)
    assert found is not None and found.finished and found.config.task == task
    assert (FOLDER / f"{task}.npz").stat().st_size < 2_000_000
    assert len(found.snapshots) == 101 and found.snapshots[-1].exact_match > 0.99
    command = shlex.split(command_of(found))
    assert command[:2] == ["attention-atlas", "tasks"]
    options = vars(parser("x").parse_args(command[2:]))
    assert TaskConfig(**{field.name: options[field.name] for field in fields(TaskConfig)}) == found.config
    assert options["models"] == sum(snapshot.weights is not None for snapshot in found.snapshots)


@pytest.mark.parametrize("task", RECORDED)
def test_form_adopts_the_settings_of_a_recorded_run_if_they_are_within_its_limits(task):
    config = recorded_run(task).config
    settings = settings_of(config, LabParams(task=task, heads="1", steps=20, item="abc"))
    if task == "modular":
        assert settings is None and config.items > LabParams.limits("items")[1], "nobody waits for that on a page"
    else:
        assert settings.config == config and settings.item == "abc"


def test_recorded_modular_training_shows_grokking():
    """Held-out items are solved more than 1,000 steps after training items, and few frequencies remain at the end."""
    run = recorded_run("modular")
    learned = next(snapshot.step for snapshot in run.snapshots if snapshot.training_match >= MIN_MATCH)
    found = next(snapshot.step for snapshot in run.snapshots if snapshot.exact_match >= MIN_MATCH)
    assert found - learned > MIN_GROKKING_STEPS
    says = f"grokking: the held-out items follow at step {found:,}, {found - learned:,} steps after the training items"
    assert says in [event.text for event in events(run)]
    (_, before), (frequencies, after) = (largest(run.snapshots[index].spectrum) for index in (0, -1))
    assert before < 0.25 and after > 0.45
    assert (
        f"{', '.join(map(str, frequencies[:-1]))} and {frequencies[-1]}, and account for {after:.0%}"
        in describe_spectrum(run)
    )

    # The recorded spectrum matches the recorded weights.
    last = run.snapshots[-1]
    embedding = model_at(run.config, last).target_embedding.weight[FIRST_ID : FIRST_ID + 59].detach().numpy()
    np.testing.assert_allclose(fourier_spectrum(embedding), last.spectrum, rtol=0.01, atol=0.01)


def test_recorded_reversal_training_forms_a_mirror_head():
    """The page says that a mirror head forms in the training run that it shows first."""
    found = events(recorded_run("reverse"))
    assert any(event.kind == "cross" and event.score == "mirror" for event in found)


def test_task_without_a_recording_file_has_no_recorded_run(tmp_path):
    assert recorded_run("copy", tmp_path) is None
