"""Tests that requests take turns at using the model in order, are batched where possible, and are never lost."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from pages.ui.runs import turns
from pages.ui.runs.turns import MAX_TOGETHER, Turns
from transformer.values.cancellation import cancellable, check_cancelled

# Timeout in seconds, longer than any test. With a timeout, a turn that never comes fails the test instead of hanging
# it.
PATIENCE = 60


class Left(BaseException):
    """The exception that Streamlit raises in the thread of a page that the user has left."""


class Users:
    """Users who arrive one after another while another user has the turn."""

    def __init__(self, show_place=lambda ahead: nullcontext()) -> None:
        self.turns = Turns(show_place)
        self.groups: list[list[object]] = []
        self.people = ThreadPoolExecutor(max_workers=200)

    def waiting(self) -> int:
        return len(self.turns._queue)

    def arrive(self, do) -> Future:
        """Add a user. Return once that user is waiting or has finished."""
        before = self.waiting()
        answer = self.people.submit(do)
        deadline = threading.Event()
        for _ in range(PATIENCE * 1_000):
            if self.waiting() > before or answer.done():
                return answer
            deadline.wait(0.001)
        raise AssertionError("nobody came")

    def want(self, item: object, kind: object = "even") -> Future:
        return self.arrive(lambda: self.turns.together(kind, item, self.run))

    def run(self, items, done) -> None:
        """Double the items. A negative item is invalid, "spoils" fails the whole batch, and "ends" ends the thread."""
        self.groups.append(list(items))
        if "spoils" in items:
            raise MemoryError("all of them are too much")
        for number, item in enumerate(items):
            if item == "ends":
                raise Left
            done(number, ValueError(f"{item}") if item < 0 else 2 * item)


@pytest.fixture
def users():
    users = Users()
    yield users
    users.people.shutdown()


def test_waiting_requests_are_computed_in_one_batch(users):
    with users.turns:
        answers = [users.want(number) for number in range(10)]
    assert [answer.result(PATIENCE) for answer in answers] == [2 * number for number in range(10)]
    assert users.groups == [list(range(10))] and not users.waiting()


def test_batch_waits_for_pages_that_are_about_to_make_the_same_request(users, monkeypatch):
    """Without waiting, the model would answer the first page alone and then repeat the work for the second."""
    monkeypatch.setattr(turns, "BATCH_WAIT", PATIENCE)
    pages = Turns(lambda ahead: nullcontext())
    users.turns = Turns(lambda ahead: nullcontext(), meanwhile=pages)
    with pages:
        answers = [users.want(number) for number in range(2)]
    assert [answer.result(PATIENCE) for answer in answers] == [0, 2] and users.groups == [[0, 1]]


def test_requests_beyond_the_batch_limit_form_further_batches(users):
    with users.turns:
        answers = [users.want(number) for number in range(2 * MAX_TOGETHER + 1)]
    assert [answer.result(PATIENCE) for answer in answers] == [2 * number for number in range(2 * MAX_TOGETHER + 1)]
    assert list(map(len, users.groups)) == [MAX_TOGETHER, MAX_TOGETHER, 1]


def test_requests_of_different_kinds_are_served_in_order_of_arrival(users):
    order: list[str] = []

    def alone(name: str) -> None:
        with users.turns:
            order.append(name)

    with users.turns:
        first = users.arrive(lambda: alone("first"))
        answers = [users.want(1), users.want(2, "odd")]
        last = users.arrive(lambda: alone("last"))
        answers.append(users.want(3))
    assert [answer.result(PATIENCE) for answer in answers] == [2, 4, 6]
    first.result(PATIENCE), last.result(PATIENCE)
    assert order == ["first", "last"]
    assert users.groups == [[1, 3], [2]], "those of another kind are not mixed in"


def test_first_page_of_a_user_is_served_before_other_requests(users):
    order = []

    def do(name, early):
        with users.turns.with_priority() if early else users.turns:
            order.append(name)

    with users.turns:
        answers = [
            users.arrive(lambda each=each: do(*each))
            for each in (("answer", False), ("page", True), ("next answer", False), ("next page", True))
        ]
    for answer in answers:
        answer.result(PATIENCE)
    assert order == ["page", "next page", "answer", "next answer"]


def test_long_request_yields_its_turn_to_waiting_requests(users, monkeypatch):
    order: list[str] = []

    def alone(name: str) -> None:
        with users.turns:
            order.append(name)

    for seconds in (PATIENCE, 0.0):
        monkeypatch.setattr(turns, "TIME_SLICE", seconds)
        with users.turns:
            users.turns.yield_turn()
            others = [users.arrive(lambda: alone("first")), users.arrive(lambda: alone("second"))]
            for _ in range(2):
                users.turns.yield_turn()
                order.append("step")
        for other in others:
            other.result(PATIENCE)
    assert order == ["step", "step", "first", "second", "first", "second", "step", "step"] and not users.waiting()


def test_long_request_keeps_its_turn_if_no_request_waits(monkeypatch):
    """To yield `model`, a request first takes back the turn at `runs` that it gave up; here, another thread has it."""
    monkeypatch.setattr(turns, "TIME_SLICE", 0.0)
    runs = Turns(lambda ahead: nullcontext())
    model = Turns(lambda ahead: nullcontext(), meanwhile=runs)
    computing, drawing, went_on = threading.Event(), threading.Event(), threading.Event()

    def heavy() -> None:
        with runs, model:
            computing.set()
            assert drawing.wait(PATIENCE)
            model.yield_turn()
            went_on.set()

    with ThreadPoolExecutor() as people:
        answer = people.submit(heavy)
        assert computing.wait(PATIENCE)
        with runs:
            drawing.set()
            assert went_on.wait(PATIENCE)
        answer.result(PATIENCE)


def test_yielding_without_a_turn_does_nothing(users, monkeypatch):
    monkeypatch.setattr(turns, "TIME_SLICE", 0.0)
    with users.turns:
        users.people.submit(users.turns.yield_turn).result(PATIENCE)
        assert users.waiting() == 1


def test_user_who_leaves_does_not_cancel_a_batch(users):
    def leave() -> None:
        raise Left

    def run(items, done) -> None:
        check_cancelled()
        users.run(items, done)

    with cancellable(leave):
        assert users.turns.together("even", 1, run) == 2
        with pytest.raises(Left):
            check_cancelled()


def test_error_of_one_request_reaches_only_that_request(users):
    with users.turns:
        answers = [users.want(number) for number in (1, -2, 3)]
    assert answers[0].result(PATIENCE) == 2 and answers[2].result(PATIENCE) == 6
    with pytest.raises(ValueError, match="-2"):
        answers[1].result(PATIENCE)
    assert len(users.groups) == 1


def test_request_that_breaks_a_batch_leaves_the_other_requests_unaffected(users):
    with users.turns:
        answers = [users.want(item) for item in (1, "spoils", 3)]
    assert answers[0].result(PATIENCE) == 2 and answers[2].result(PATIENCE) == 6
    with pytest.raises(MemoryError):
        answers[1].result(PATIENCE)
    assert users.groups == [[1, "spoils", 3], [1], ["spoils"], [3]] and not users.waiting()


def test_no_request_waits_forever_for_an_ended_thread(users):
    with users.turns:
        answers = [users.want(item) for item in (1, "ends", 3)]
    with pytest.raises(Left):
        answers[0].result(PATIENCE)
    with pytest.raises(RuntimeError, match="cancelled"):
        answers[2].result(PATIENCE)
    assert users.want(4).result(PATIENCE) == 8


def test_error_releases_the_turn(users):
    with pytest.raises(KeyError), users.turns:
        raise KeyError
    assert users.want(4).result(PATIENCE) == 8


def test_waiting_request_learns_its_place_in_the_queue(monkeypatch):
    monkeypatch.setattr(turns, "SECONDS_UNSHOWN", 0.01)
    monkeypatch.setattr(turns, "UPDATE_INTERVAL", 0.01)
    said: list[int] = []
    known = threading.Event()

    def show_place(ahead: int) -> nullcontext[None]:
        said.append(ahead)
        if said.count(1) > 1 and said.count(2) > 1:
            known.set()
        return nullcontext()

    users = Users(show_place)
    with users.turns:
        answers = [users.want(1), users.want(2, "odd")]
        assert known.wait(PATIENCE)
    assert [answer.result(PATIENCE) for answer in answers] == [2, 4]
    # At most two requests are ahead of a waiting request: the one that has the turn, and the first in the queue.
    assert set(said) <= {0, 1, 2}


def test_request_that_leaves_the_queue_does_not_delay_the_remaining_requests(monkeypatch):
    monkeypatch.setattr(turns, "SECONDS_UNSHOWN", 0.01)
    leaves = threading.Event()

    def show_place(ahead: int) -> nullcontext[None]:
        if ahead == 1 and leaves.is_set():
            leaves.clear()
            raise Left
        return nullcontext()

    users = Users(show_place)
    monkeypatch.setattr(turns, "UPDATE_INTERVAL", 0.01)
    with users.turns:
        gone, stays = users.want(1), users.want(2)
        leaves.set()
        with pytest.raises(Left):
            gone.result(PATIENCE)
    assert stays.result(PATIENCE) == 4
    assert users.groups == [[2]] and not users.waiting()


def script_run(runs: Turns, model: Turns, item: object, run) -> object:
    """Run a page script: take its turn, then request something from the model."""
    with runs:
        return model.together("even", item, run)


def test_page_waiting_for_the_model_lets_other_pages_join_the_queue(users):
    runs = Turns(lambda ahead: nullcontext())
    users.turns = model = Turns(lambda ahead: nullcontext(), meanwhile=runs)
    with model:
        answers = [
            users.arrive(lambda number=number: script_run(runs, model, number, users.run)) for number in range(5)
        ]
        assert not runs._queue, "or only one of them had come so far"
    assert [answer.result(PATIENCE) for answer in answers] == [2 * number for number in range(5)]
    assert users.groups == [list(range(5))] and not runs._queue


def test_no_page_is_rendered_while_a_batch_is_computed(users):
    runs = Turns(lambda ahead: nullcontext())
    users.turns = model = Turns(lambda ahead: nullcontext(), meanwhile=runs)
    drawn: list[int] = []

    def draws(items, done) -> None:
        drawn.append(len(runs._queue))
        users.run(items, done)

    assert script_run(runs, model, 1, draws) == 2 and drawn == [1]


def test_pages_are_rendered_while_the_model_computes_for_one_user():
    """A slow request delays only users who need the model."""
    runs = Turns(lambda ahead: nullcontext())
    model = Turns(lambda ahead: nullcontext(), meanwhile=runs)
    computing, drawn = threading.Event(), threading.Event()

    def heavy() -> str:
        with runs:
            with model:
                computing.set()
                assert drawn.wait(PATIENCE)
            assert runs._queue, "and goes on with a turn"
            return "done"

    with ThreadPoolExecutor() as people:
        answer = people.submit(heavy)
        assert computing.wait(PATIENCE)
        with runs:
            drawn.set()
        assert answer.result(PATIENCE) == "done"
    assert not runs._queue and not model._queue


@pytest.mark.parametrize("error", [KeyError, Left])
def test_page_regains_its_turn_after_an_error_unless_the_error_ends_the_page(users, error):
    """The page waits for its turn again if it can catch the error, but not if the error ends it."""
    with pytest.raises(error), users.turns:
        with pytest.raises(error), users.turns.released():
            assert not users.waiting()
            raise error
        assert users.waiting() == issubclass(error, Exception)
        raise error
    assert not users.waiting()
    with users.turns.released():
        assert not users.waiting(), "there was none to give up"
    assert not users.waiting()
