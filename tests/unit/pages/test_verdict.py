import pytest

from pages.ui.bets.verdict import verdict
from transformer.lessons.result import Question


@pytest.mark.parametrize(
    ("value", "percent", "said"),
    [
        (0.831, True, {"83": "Right", "90": "Close", "73.5": "Close", "30": "Wrong, too low", "99": "Wrong, too high"}),
        (0.0004, True, {"0": "Right", "5": "Close", "50": "Wrong, too high"}),
        (18, False, {"18": "Right", "17": "Close", "20": "Close", "9": "Wrong, too low", "40": "Wrong, too high"}),
        (9.15, False, {"9.1": "Right", "8": "Close", "3": "Wrong, too low"}),
        (1.0, False, {"1": "Right", "0.9": "Close", "7": "Wrong, too high"}),
    ],
)
def test_numeric_guess_is_judged_right_close_or_wrong(value, percent, said):
    number = 100 * value if percent else float(value)
    asked = Question((), 0, number, percent, whole=isinstance(value, int))
    for guess, judged in said.items():
        found = verdict(asked, guess)
        assert found is not None and found.text == f"**{judged}.** You said {guess}{'%' if percent else ''}."
        assert found.mark == judged.partition(",")[0].lower()


def test_multiple_choice_answer_is_judged_right_or_wrong():
    asked = Question(("animal", "street"), 0)
    assert verdict(asked, "1") == ("right", "**Right.**")
    assert verdict(asked, "2") == ("wrong", "**Wrong.** You said “street”; the answer is “animal”.")
    assert verdict(asked, "shown") is verdict(asked, "") is verdict(asked, "7") is None


@pytest.mark.parametrize(
    ("worth", "marks"),
    [
        ((4.0, 1.0, 0.0, 2.0), ["right", "wrong", "wrong", "close"]),
        ((4.0, 3.0, 0.0), ["right", "wrong", "wrong"]),
        ((4.0, 3.7, 0.0), ["right", "close", "wrong"]),
        ((-2.0, -0.1, -0.2, -9.0), ["wrong", "right", "close", "wrong"]),
    ],
    ids=range(4),
)
def test_nearly_best_choice_is_judged_close(worth, marks):
    asked = Question(tuple("abcd"[: len(worth)]), worth.index(max(worth)), worth=worth)
    found = [verdict(asked, str(number)) for number in range(1, len(worth) + 1)]
    assert [each and each.mark for each in found] == marks
