import threading
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attention_atlas.browser.wire import unpack
from pages.ui.params.training_lab import LabParams
from pages.ui.state import session
from pages.ui.training_lab import own_training
from pages.ui.training_lab.recorded_runs import recorded_run
from pages.ui.training_lab.trainings import Trainings
from tests.ui.driver import GIVEN, expand, healthy, opened, submit, tell, texts
from transformer.tasks.trainer import TaskTrainer

PAGE = "pages/training_lab.py"
# Settings of a training run that is small enough for a test.
SMALL = {"lab_task": "addition", "lab_width": "32", "lab_items": "8", "lab_steps": "20", "text": "x"}


@pytest.fixture(autouse=True)
def isolated_training_runs(monkeypatch):
    monkeypatch.setattr(own_training, "TRAININGS", Trainings())
    monkeypatch.setattr(own_training, "prepare", lambda: None)


@pytest.fixture
def no_recorded_runs(monkeypatch, tmp_path):
    """Hide all recorded training runs, so that the page starts a new one."""
    monkeypatch.setattr(own_training, "recorded_run", partial(recorded_run, folder=tmp_path))


def component(test: AppTest):
    (found,) = (node for node in test.get("bidi_component") if node.proto.bytes)
    return found


def session_config(test: AppTest):
    """Return the settings of the next training run."""
    return test.session_state[session.STATE].of(LabParams).config


def film(test: AppTest) -> dict:
    return unpack(component(test).proto.bytes)[0]


def learned(test: AppTest) -> AppTest:
    """Rerun the page until training has ended; each script run trains for some steps."""
    for _ in range(40):
        if not film(test)["running"]:
            return test
        test.run()
    raise AssertionError("the training goes on")


def test_page_opens_with_a_recorded_training_run_and_computes_nothing(monkeypatch):
    def never(*_, **__):
        raise AssertionError("nothing is computed")

    monkeypatch.setattr(TaskTrainer, "__init__", never)
    test = opened(PAGE)
    assert healthy(test)
    shown = film(test)
    assert shown["id"] == "recorded reverse" and len(shown["at"]) == 101 and not shown["running"]
    assert "attention-atlas tasks train reverse" in texts(test)
    # A new user learns that this is a recording, and no button replaces the recording without saying so.
    assert "This is a recording** of a finished training run" in texts(test)
    offered = {button.key: button.label for button in test.button}
    assert offered["lab_start"] == "Train live" and not {"lab_step", "lab_reset"} & {*offered}
    assert "mirror" in " ".join(event["text"] for event in shown["events"])


@pytest.mark.usefixtures("no_recorded_runs")
def test_user_can_start_pause_resume_and_restart_a_training_run():
    test = opened(PAGE, **SMALL)
    assert healthy(test) and film(test)["at"] == [0] and film(test)["id"] == "own 1"
    assert "This is your own training run" in texts(test)
    test.button("lab_step").click().run()
    assert healthy(test) and len(film(test)["losses"]) == 1
    test.button("lab_start").click().run()
    begun = film(test)
    assert begun["running"] and len(begun["losses"]) > 1 and "Pause" in [button.label for button in test.button]
    test.button("lab_pause").click().run()
    paused = len(film(test.run())["losses"])
    assert not film(test)["running"] and len(film(test.run())["losses"]) == paused
    ended = film(learned(test.button("lab_start").click().run()))
    assert healthy(test) and ended["id"] == "own 1" and ended["at"][-1] == 20 and len(ended["losses"]) == 20
    test.button("lab_reset").click().run()
    assert film(test)["at"] == [0] and film(test)["id"] == "own 2"


@pytest.mark.usefixtures("no_recorded_runs")
def test_changed_training_settings_apply_to_the_next_training_run():
    test = opened(PAGE, **SMALL)
    test.button("lab_step").click().run()
    test.segmented_control("lab_heads").set_value("4").run()
    test.number_input("lab_rate").set_value(0.01).run()
    assert film(test)["heads"] == 2 and "The new settings apply" in texts(test)
    test.button("lab_step").click().run()
    assert film(test)["heads"] == 4 and film(test)["id"] == "own 2"
    assert test.query_params["lab_heads"] == "4" and test.query_params["lab_rate"] == "0.01"
    assert test.query_params["lab_task"] == "addition"
    again = opened(PAGE, **{**SMALL, "lab_heads": "4", "lab_rate": "0.01"})
    assert film(again)["heads"] == 4 and again.number_input("lab_steps").value == 20


def test_choosing_a_task_shows_its_recording_or_an_untrained_model():
    test = opened(PAGE)
    for task in test.selectbox("lab_task").options:
        test.selectbox("lab_task").select(task).run()
        assert healthy(test), task
        assert task in texts(test) or film(test)["at"] == [0] or film(test)["id"].startswith("recorded")


def test_settings_of_the_recorded_training_run_can_be_copied():
    test = opened(PAGE, text="x", lab_task="addition-reversed")
    run = recorded_run("addition-reversed")
    assert film(test)["id"] == "recorded addition-reversed" and "The recorded training uses 4 heads" in texts(test)
    test.button("lab_as_recorded").click().run()
    assert healthy(test) and "The recorded training uses" not in texts(test)
    assert test.segmented_control("lab_heads").value == "4" and test.number_input("lab_steps").value == run.config.steps
    assert session_config(test) == run.config
    assert "lab_as_recorded" not in [button.key for button in opened(PAGE, text="x").button], "reverse has them already"


def test_page_shows_the_fourier_spectrum_of_the_recorded_modular_addition_run():
    test = opened(PAGE, text="x", lab_task="modular")
    assert healthy(test)
    shown, run = film(test), recorded_run("modular")
    assert shown["id"] == "recorded modular" and f"train modular --heads {run.config.heads}" in texts(test)
    assert np.array(shown["spectra"]).shape == (len(shown["at"]), 29) and len(shown["learned"]) == len(shown["at"])
    assert any(event["text"].startswith("grokking: ") for event in shown["events"])
    assert "Fourier spectrum" in texts(test) and "would take too long here" in texts(test)
    assert "norm of frequency 29" in expand(test).dataframe[0].value.columns
    submit(test, "17+42", "lab_item")
    assert healthy(test) and "**0**: :green-background[right]" in texts(test)
    tell(test, component(test), {"view": {**film(test)["asked"]["view"], "moment": 0}})
    assert "After step 0 " in texts(test)
    assert film(opened(PAGE, text="x"))["spectra"] is None


def test_backpropagation_page_links_to_the_training_lab(narrow_app):
    test = opened("pages/backpropagation.py", text="I have a dream.", **GIVEN)
    # AppTest does not follow page changes, so switch the page here.
    test.button("backward_lab").click().run()
    test.switch_page(PAGE).run()
    assert healthy(test) and test.query_params["lab_optimizer"] == "adam-by-hand"
    assert test.selectbox("lab_optimizer").value == "adam-by-hand"


def test_training_step_and_head_chosen_in_the_recording_are_stored_in_the_url():
    test = opened(PAGE, text="x")
    view = {"moment": 236, "score": "mirror", "encoder": 2, "decoder": 0, "cross": 1}
    tell(test, component(test), {"view": view})
    assert healthy(test)
    assert {name: test.query_params.get(f"lab_{name}") for name in view} == {
        "moment": "236",
        "score": "mirror",
        "encoder": "2",
        "decoder": None,
        "cross": "1",
    }
    asked = film(test)["asked"]
    assert asked["view"]["moment"] == -1, "the browser has it already"
    tell(test, component(test), {"view": {**view, "moment": 200, "request": asked["number"] - 1}})
    assert film(test)["asked"]["view"]["moment"] == 200, "the browser had not answered, and would show another"
    assert film(opened(PAGE, text="x", lab_moment="236", lab_cross="1"))["asked"]["view"] == {
        "moment": 236,
        "score": "auto",
        "encoder": 0,
        "decoder": 0,
        "cross": 1,
    }
    for invalid in (None, 3, [], {"moment": "x", "score": 1, "cross": 99}):
        tell(test, component(test), {"view": invalid})
        assert healthy(test)


def test_model_at_the_displayed_step_answers_a_typed_task_item():
    test = opened(PAGE, text="x")
    submit(test, "a b c d e f", "lab_item")
    assert healthy(test) and "**fedcba**: :green-background[right]" in texts(test) and "step 400" in texts(test)
    assert test.query_params["lab_item"] == "abcdef"
    tell(test, component(test), {"view": {"moment": 0, "score": "auto", "encoder": 0, "decoder": 0, "cross": 0}})
    assert ":red-background[wrong]" in texts(test) and "After step 0 " in texts(test)
    linked = opened(PAGE, text="x", lab_item="abcdef")
    assert ":green-background[right]" in texts(linked)


def test_invalid_task_item_is_reported_and_stays_in_the_text_box():
    test = opened(PAGE, text="x")
    for typed, message in (
        ("xyz", "only the letters a to p"),
        ("", "nothing to answer"),
        ("ab", "at least 3 letters"),
        ("abcdefghijklmnop", "at most 10"),
        ("a" * 5_000, "5000 characters"),
        ("<b>x</b>", "accepts only"),
        ("🙂", "accepts only"),
        ("\x00", "accepts only"),
    ):
        submit(test, typed, "lab_item")
        assert healthy(test, warned=True) and message in test.warning[0].value, typed
        assert "lab_item" not in test.query_params or len(test.query_params["lab_item"]) <= 40
        assert film(test)["id"] == "recorded reverse"
        submit(test, "abc", "lab_item")
        assert healthy(test), typed


@pytest.mark.usefixtures("no_recorded_runs")
def test_diverging_training_run_is_reported_and_keeps_its_progress():
    test = opened(PAGE, **SMALL)
    test.button("lab_step").click().run()
    (training,) = own_training.TRAININGS._all.values()
    training.trainer.model.generator.weight.data.fill_(np.inf)
    test.button("lab_start").click().run()
    test.run()
    assert healthy(test, warned=True) and "lower learning rate" in test.warning[0].value
    assert not film(test)["running"] and len(film(test)["losses"]) == 1
    # The button starts a new training run.
    test.button("lab_start").click().run()
    assert healthy(test) and film(test)["id"] == "own 2"


@pytest.mark.thorough
@pytest.mark.usefixtures("no_recorded_runs")
def test_third_concurrent_training_run_waits_for_its_turn():
    everybody = [opened(PAGE, **SMALL, lab_seed=str(seed)) for seed in (1, 2, 3)]
    for test in everybody:
        test.number_input("lab_steps").set_value(3_000).run()
        test.button("lab_start").click().run()
    assert [bool(test.info) for test in everybody] == [False, False, True]
    assert "2 training runs are active" in everybody[2].info[0].value and len(film(everybody[2])["losses"]) == 0
    everybody[0].button("lab_pause").click().run()
    everybody[2].run()
    assert not everybody[2].info and film(everybody[2])["losses"]


@pytest.mark.usefixtures("no_recorded_runs")
def test_page_reports_that_a_training_run_was_dropped_to_make_room():
    test = opened(PAGE, **SMALL)
    own_training.TRAININGS.leave(test.session_state[own_training.TAB])
    test.run()
    assert not test.exception and "was dropped" in test.info[0].value and film(test)["at"] == [0]
    assert not test.run().info


@pytest.mark.usefixtures("no_recorded_runs")
def test_leaving_the_page_pauses_training_and_ends_its_thread():
    def threads() -> set[threading.Thread]:
        # "tidy" is started once per process, by whichever test comes first, and never ends.
        return {thread for thread in threading.enumerate() if thread.name != "tidy"}

    before = threads()
    test = opened(PAGE, **SMALL)
    test.number_input("lab_steps").set_value(3_000).run()
    test.button("lab_start").click().run()
    test.switch_page("pages/about.py").run()
    (training,) = own_training.TRAININGS._all.values()
    # The training thread ends after its current step.
    for thread in threads() - before:
        thread.join(60)
    steps = training.trainer.step
    test.run()
    assert training.trainer.step == steps and threads() <= before
    training.asked -= own_training.TRAININGS.patience + 1
    test.switch_page(PAGE).run()
    assert not film(test)["running"] and len(film(test)["losses"]) == steps, "found as it was left"
    tab = test.session_state[own_training.TAB]
    assert own_training.TRAININGS.of(tab) is training
