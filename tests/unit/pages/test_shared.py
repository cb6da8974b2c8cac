"""Tests of the cache that all sessions share: it computes each result once, and its size in bytes is limited."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.shared import SharedResults, show_progress, size_in_bytes
from pages.ui.runs.turns import Turns
from transformer.running.runs.trace import TraceRun
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.kinds import KINDS

PATIENCE = 30


def arrays(shared):
    """Return a cached function that makes an array of `size` bytes, and the list of sizes computed so far."""
    runs: list[int] = []

    @shared.remember()
    def made(size: int, name: str = "") -> np.ndarray:
        runs.append(size)
        return np.zeros(size, dtype=np.uint8)

    return made, runs


def test_result_is_computed_once_however_its_arguments_are_passed():
    made, runs = arrays(SharedResults(10_000))
    assert made(5) is made(5, "") is made(size=5) is made(name="", size=5)
    assert made(5, "other") is not made(5)
    assert runs == [5, 5]


def test_least_recently_used_result_is_evicted_first():
    shared = SharedResults(4_000)
    made, runs = arrays(shared)
    for size in (1_000, 1_001, 1_002, 1_000, 1_003):
        made(size)
    assert shared.size <= 4_000 and len(shared) == 3
    made(1_000)
    assert runs == [1_000, 1_001, 1_002, 1_003], "1,000 was asked for again in between"
    made(1_001)
    assert runs[-1] == 1_001


def test_cache_of_ten_thousand_results_stays_within_its_size_limit():
    shared = SharedResults(100_000)
    made, _ = arrays(shared)
    for number in range(10_000):
        made(number % 7_000, str(number))
        assert shared.size <= 100_000
    shared.clear()
    assert shared.size == len(shared) == 0


def test_result_larger_than_the_cache_is_returned_but_not_cached():
    shared = SharedResults(1_000)
    made, runs = arrays(shared)
    made(10)
    assert len(made(5_000)) == 5_000 and len(made(5_000)) == 5_000
    assert runs == [10, 5_000, 5_000]
    made(10)
    assert runs == [10, 5_000, 5_000], "and nothing else had to go for it"


def test_concurrent_requests_compute_a_result_once():
    shared, runs, everybody = SharedResults(10_000), [], threading.Barrier(8)

    @shared.remember()
    def slow(name: str) -> list[str]:
        runs.append(name)
        threading.Event().wait(0.1)
        return [name]

    def ask(name: str) -> list[str]:
        everybody.wait(PATIENCE)
        return slow(name)

    with ThreadPoolExecutor(8) as people:
        found = [person.result(PATIENCE) for person in [people.submit(ask, "ab"[n % 2]) for n in range(8)]]
    assert sorted(runs) == ["a", "b"]
    assert len({id(each) for each in found}) == 2


def test_error_is_not_cached_and_the_next_call_is_computed_again():
    shared, runs = SharedResults(10_000), []

    @shared.remember("Waiting …")
    def fails_once() -> str:
        runs.append(1)
        if len(runs) == 1:
            raise ValueError("once")
        return "done"

    with pytest.raises(ValueError, match="once"):
        fails_once()
    with ThreadPoolExecutor(1) as somebody_else:
        assert somebody_else.submit(fails_once).result(PATIENCE) == "done"


def test_error_reaches_all_waiting_callers():
    shared, runs, everybody = SharedResults(10_000), [], threading.Barrier(8)

    @shared.remember()
    def fails() -> str:
        runs.append(1)
        threading.Event().wait(0.3)
        raise ValueError("nobody answers")

    def ask() -> str:
        everybody.wait(PATIENCE)
        return fails()

    with ThreadPoolExecutor(8) as people:
        asked = [people.submit(ask) for _ in range(8)]
        assert [str(person.exception(PATIENCE)) for person in asked] == ["nobody answers"] * 8
    assert len(runs) == 1
    with pytest.raises(ValueError, match="nobody answers"):
        fails()
    assert len(runs) == 2, "whoever comes later tries again"


def test_new_call_does_not_raise_the_error_of_an_earlier_call():
    began, ended, answers = threading.Event(), threading.Event(), threading.Event()

    @contextmanager
    def waiting():
        began.set()
        yield
        # After the result is available, a caller may have to wait for something else, such as its turn.
        assert ended.set() is None and answers.wait(PATIENCE)

    shared, runs = SharedResults(10_000, waiting=waiting), []

    @shared.remember()
    def fails_once() -> str:
        runs.append(1)
        if len(runs) == 1:
            assert began.wait(PATIENCE)
            raise ValueError("nobody answers")
        return "done"

    with ThreadPoolExecutor(2) as people:
        before = [people.submit(fails_once) for _ in range(2)]
        assert ended.wait(PATIENCE)
        assert fails_once() == "done"
        answers.set()
        assert [str(person.exception(PATIENCE)) for person in before] == ["nobody answers"] * 2


@pytest.mark.parametrize("people", [1, 3])
def test_failed_computation_frees_its_memory(people):
    waits = threading.Semaphore(0)

    @contextmanager
    def waiting():
        waits.release()
        yield

    shared, turns, computed = SharedResults(10_000, waiting=waiting), Turns(lambda _: nullcontext()), []

    def together(items, done):
        rows = np.zeros(1_000)
        computed.append(weakref.ref(rows))
        raise MemoryError("too little free memory")

    @shared.remember()
    def fails() -> None:
        for _ in range(people - 1):
            assert waits.acquire(timeout=PATIENCE)
        turns.together("kind", "item", together)

    def ask() -> str:
        try:
            fails()
        except MemoryError as error:
            return str(error)
        return ""

    gc.disable()
    try:
        with ThreadPoolExecutor(people) as pool:
            asked = [pool.submit(ask) for _ in range(people)]
            assert [each.result(PATIENCE) for each in asked] == ["too little free memory"] * people
        assert all(each() is None for each in computed)
    finally:
        gc.enable()


def test_waiting_caller_computes_the_result_if_the_first_thread_ends():
    class Left(BaseException):
        """Ends the thread of a page that the user has left."""

    waits, runs = threading.Semaphore(0), []

    @contextmanager
    def waiting():
        waits.release()
        yield

    shared = SharedResults(10_000, waiting=waiting)

    @shared.remember()
    def left_once() -> str:
        runs.append(1)
        if len(runs) == 1:
            assert waits.acquire(timeout=PATIENCE) and waits.acquire(timeout=PATIENCE)
            raise Left
        return "done"

    with ThreadPoolExecutor(3) as people:
        asked = [people.submit(left_once) for _ in range(3)]
        found = [each.exception(PATIENCE) for each in asked]
        assert [type(error) for error in found if error] == [Left]
        assert [each.result() for each in asked if not each.exception()] == ["done"] * 2
    assert len(runs) == 2


def test_cached_function_can_call_another_cached_function():
    shared = SharedResults(10_000)

    @shared.remember("Inner …")
    def inner(number: int) -> int:
        return number + 1

    @shared.remember("Outer …")
    def outer(number: int) -> int:
        return inner(number) + inner(number + 1)

    assert outer(1) == outer(1) == 5


def test_arguments_with_the_same_identity_share_a_cached_result():
    @dataclass(eq=False)
    class Model:
        version: str

    shared = SharedResults(10_000, identity={Model: lambda model: model.version})
    runs = []

    @shared.remember()
    def run(model: Model) -> str:
        runs.append(model)
        return model.version

    assert run(Model("1")) == run(Model("1")) == "1" and run(Model("2")) == "2"
    assert len(runs) == 2


@dataclass(frozen=True)
class Several:
    first: np.ndarray
    second: object


def test_size_of_a_result_counts_every_reachable_object_once():
    array = np.zeros(100_000, dtype=np.float32)
    assert 400_000 <= size_in_bytes(array) < 401_000
    assert size_in_bytes(array[:10]) > 400_000, "a view keeps all of its array"
    assert size_in_bytes([array, array, array[:5]]) < 402_000
    both = Several(array, MappingProxyType({"copy": array.copy(), "text": "ä" * 1_000}))
    assert 801_000 <= size_in_bytes(both) < 804_000
    assert size_in_bytes(array[:10].copy()) < 300
    endless: list[object] = []
    endless.append(endless)
    assert size_in_bytes(endless) > 0


def test_size_of_a_search_result_includes_its_attention_rows(small_translator):
    beam = small_translator.trace_decoding("The old man reads a book.", DecodingSettings("beam", beam_size=5))
    tree = beam.translation.tree
    rows = sum(array.nbytes for array in (*tree.decoder, *tree.cross))
    weights = sum(beam.trace.attention(kind).nbytes for kind in KINDS)
    assert rows + weights < size_in_bytes(beam) < 3 * (rows + weights)


def test_browser_cannot_clear_the_caches(small_translator):
    """Any browser can make Streamlit clear its data and resource caches; the app's cache must not depend on them."""
    runs, run = CachedRuns(small_translator), TraceRun("A dog.")
    trace, weights = runs.get(run), runs.weights()
    st.cache_data.clear()
    st.cache_resource.clear()
    assert runs.get(run) is trace and CachedRuns(small_translator).weights() is weights


def test_thread_that_renders_no_page_shows_no_waiting_message(caplog):
    """A download is built in a separate thread, where Streamlit would log a warning about every element."""
    shared = SharedResults(1_000)

    @shared.remember("Measuring …")
    def made() -> int:
        return 1

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(made).result() == 1
    assert "ScriptRunContext" not in caplog.text


def test_result_is_available_after_a_waiting_caller_leaves():
    class Left(BaseException):
        """Ends the thread of a page that the user has left."""

    waits, left = threading.Event(), threading.Event()

    @contextmanager
    def waiting():
        waits.set()
        yield
        if not left.is_set():
            left.set()
            raise Left

    shared = SharedResults(1_000, waiting=waiting)

    @shared.remember()
    def slow(number):
        assert waits.wait(60)
        return number

    with ThreadPoolExecutor() as people:
        first, second = people.submit(slow, 1), people.submit(slow, 1)
        found = [each.exception(60) for each in (first, second)]
    assert [type(error) for error in found if error] == [Left]
    assert slow(1) == 1


def progress_page(shares):
    """A page whose computation stops halfway, so that its progress bar stays."""
    import streamlit as st

    from pages.ui.runs.shared import SharedResults, show_progress

    def compute():
        for share in shares:
            show_progress(share)
        st.stop()

    SharedResults(limit=1000).get("run", compute, "Patching each cell of the grid …")


@pytest.mark.parametrize(("shares", "shown"), [((0.25, 0.5), [50]), ((1.0,), []), ((), [])])
def test_waiting_user_sees_a_progress_bar(shares, shown):
    page = AppTest.from_function(progress_page, args=(shares,), default_timeout=60).run()
    assert not page.exception and [node.proto.value for node in page.get("progress")] == shown
    show_progress(0.5)
