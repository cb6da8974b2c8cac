import numpy as np
import pytest

from pages.ui.lecture.bar import LIST_LEFT_OUT
from pages.ui.measurements.own_sentences import RESULT_KEY
from tests.ui.driver import DREAM, FIRST, healthy, messages, opened, send, table, texts
from tests.ui.test_lecture import act, parameter, received
from transformer.measurements.effects import measure_effects

OFF = "pages/switch_heads_off.py"
MINE = ["A dog.", DREAM]


def stepper(test):
    """Return the component that steps through the list, and its message."""
    (found,) = messages(test, "count")
    return found


def test_user_can_step_through_the_sentence_list_and_delete_it():
    test = opened(FIRST, text=DREAM)
    send(test, stepper(test)[0], "act", {"text": "\n\n".join([*MINE, MINE[0]])})
    _, sent = stepper(test)
    assert healthy(test) and (sent["at"], sent["count"], sent["said"]) == (1, 2, "Left out: 1 repeated.")
    for step, at in ((1, 2), (1, 1), (-1, 2)):
        send(test, stepper(test)[0], "act", {"step": step})
        assert healthy(test) and stepper(test)[1]["at"] == at
    send(test, stepper(test)[0], "act", {"text": "\0"})
    assert stepper(test)[1]["count"] == 2 and "not plain text" in stepper(test)[1]["said"]
    for rubbish in ({"step": 7}, {"step": True}, {"text": 5}, {"text": "A cat.", "restored": 1}):
        send(test, stepper(test)[0], "act", rubbish)
        assert healthy(test)
    send(test, stepper(test)[0], "act", {"text": ""})
    assert stepper(test)[1]["count"] == 0


def test_slide_restores_its_sentence_list_in_another_session():
    test = opened(FIRST, text=DREAM)
    send(test, stepper(test)[0], "act", {"text": "\n".join(MINE)})
    act(test, "add")
    assert received(test)["problem"] == ""
    other = opened(FIRST, text="A cat.", slides=parameter(test, "slides"))
    assert stepper(other)[1]["count"] == 0
    act(other, "start")
    sent = stepper(other)[1]
    assert (sent["text"], sent["at"], sent["given"]) == ("\n".join(MINE), 1, True)
    assert healthy(other) and parameter(other, "my_sentences") is None
    # A URL without a list, or with an unreadable one, leaves the session's list unchanged.
    other.query_params.update(text=DREAM, my_sentences="\0")
    other.run()
    assert healthy(other) and stepper(other)[1]["count"] == 2 and parameter(other, "my_sentences") is None


def test_slide_omits_a_sentence_list_that_is_too_long():
    test = opened(FIRST, text=DREAM)
    send(test, stepper(test)[0], "act", {"text": "\n".join(f"{number}: {DREAM * 20}" for number in range(50))})
    act(test, "add")
    assert received(test)["problem"] == LIST_LEFT_OUT and len(received(test)["slides"]) == 1
    act(test, "start")
    assert healthy(test) and stepper(test)[1]["count"] == 50


@pytest.mark.thorough(seconds=20)
def test_resumed_measurement_matches_an_uninterrupted_one(shipped):
    test = opened(OFF, text=DREAM)
    assert "over all of my sentences" not in texts(test)
    send(test, stepper(test)[0], "act", {"text": "\n".join(MINE)})
    test.button(key="mine_measure").click().run()
    assert healthy(test) and "Measured: 2 of 2." in texts(test)
    whole = measure_effects(shipped, MINE)
    shown = table(test, "head", "from", "to")
    means = np.concatenate([whole.mean("off", kind).mean.ravel() for kind in whole.kinds("off")])
    assert shown["mean"].tolist() == pytest.approx(means.tolist(), abs=1e-4)
    # Simulate a user who stopped the measurement after the first sentence.
    belongs, _ = test.session_state[RESULT_KEY]
    test.session_state[RESULT_KEY] = belongs, measure_effects(shipped, MINE[:1])
    test.run()
    assert "Measured: 1 of 2." in texts(test) and test.button(key="mine_measure").label == "Continue"
    test.button(key="mine_measure").click().run()
    _, found = test.session_state[RESULT_KEY]
    assert found.texts == whole.texts and np.array_equal(found.values["off"]["cross"], whole.values["off"]["cross"])
