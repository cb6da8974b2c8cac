import hashlib
import multiprocessing
import os
import random
import shutil
import sys
import time
import tracemalloc
from types import ModuleType

import numpy as np
import psutil
import pytest

from transformer.analysis.heads.statistics import statistics_of
from transformer.errors import AtlasError, CheckpointError
from transformer.files.paths import APP
from transformer.files.records import pack
from transformer.measurements import corpus
from transformer.measurements.corpus import measure_corpus, measure_part
from transformer.running.translator import Translator

WORDS = ("I", "have", "a", "dream", "and", "the", "dog", "that", "sleeps", "in", "our", "old", "house", "is", "red")


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    dice = random.Random(7)
    return [" ".join(dice.sample(WORDS, dice.randint(1, 9))) for _ in range(13)]


@pytest.fixture
def file(sentences, tmp_path):
    return written(sentences, tmp_path)


def written(sentences, folder):
    path = folder / "sentences.txt"
    path.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def small_chunks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "PART_SIZE", 3)
        patch.setattr(corpus, "BATCH_SIZE", 2)
        yield


@pytest.fixture(scope="module")
def whole(small_translator, sentences, tmp_path_factory, small_chunks):
    """Measure the whole file in one process; a second call must return the result without measuring again."""
    folder = tmp_path_factory.mktemp("whole")
    file, state = written(sentences, folder), folder / "state"
    found = measure_corpus(small_translator, file, state)
    assert_same(measure_corpus(small_translator, file, state, report=pytest.fail), found, atol=0.0)
    return found


def assert_same(part, expected, atol=1e-12):
    assert (part.sentences, part.skipped) == (expected.sentences, expected.skipped)
    for kind, metrics in expected.heads.items():
        assert part.heads[kind].queries == metrics.queries
        for name, values in metrics.values.items():
            np.testing.assert_allclose(part.heads[kind].values[name], values, atol=atol, err_msg=f"{kind} {name}")


def test_corpus_measurement_matches_single_sentence_measurements(small_translator, sentences, whole):
    one_by_one = statistics_of(map(small_translator.trace, sentences), small_translator.tokenizer, "any")
    assert whole.sentences == one_by_one.sentences == 13 and whole.skipped == 0
    for kind, metrics in one_by_one.heads.items():
        assert whole.heads[kind].queries == metrics.queries
        for name, values in metrics.values.items():
            np.testing.assert_allclose(whole.heads[kind].values[name], values, atol=1e-6)


def test_measurement_resumes_where_it_stopped(small_translator, file, whole, tmp_path):
    state, reads = tmp_path / "state", []

    def stop(read, part):
        reads.append(read)
        if read == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_corpus(small_translator, file, state, report=stop)
    found = measure_corpus(small_translator, file, state, report=lambda read, part: reads.append(read))
    assert reads == [3, 6, 9, 12, 13]
    # The results are bitwise identical, because the state file stores all numbers exactly.
    assert_same(found, whole, atol=0.0)


@pytest.mark.thorough
def test_two_processes_give_the_same_measurement_as_one(model_folder, file, whole, tmp_path, monkeypatch):
    # New processes import the main module, which may be a page script that another test has run.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    translator = Translator.load(model_folder, "cpu")
    assert_same(measure_corpus(translator, file, tmp_path / "both", processes=2), whole, atol=1e-6)


@pytest.mark.thorough
def test_worker_that_cannot_load_the_model_reports_the_reason(model_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    folder = shutil.copytree(model_folder, tmp_path / "model")
    translator = Translator.load(folder, "cpu")
    (folder / "model.safetensors").unlink()
    # A single chunk is enough; a second one would only start another process.
    file = written(["A dog"], tmp_path)
    with pytest.raises(CheckpointError, match="model.safetensors is missing"):
        measure_corpus(translator, file, tmp_path / "state", processes=2)


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_worker_processes_end_with_their_parent(model_folder, tmp_path, how):
    file = written(["I have a dream"] * 20_000, tmp_path)
    command = [
        sys.executable,
        "-m",
        "transformer.analysis",
        "measure",
        "--processes",
        "2",
        "--model",
        model_folder,
        "--device",
        "cpu",
        "--sentences",
        file,
        "--output",
        tmp_path / "heads.json",
    ]
    started = psutil.Popen(command, cwd=APP)
    try:
        # The worker processes are at work once a state file exists.
        until((tmp_path / "heads.json.partial").exists)
    finally:
        children = started.children()
        getattr(started, how)()
        _, left = psutil.wait_procs([started, *children], timeout=60)
        for each in left:
            each.kill()
    # Two processes measure, and a third tracks their shared resources.
    assert len(children) == 3 and not left


@pytest.mark.thorough
def test_measurement_resumes_after_a_process_was_killed(model_folder, file, whole, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    translator, state = Translator.load(model_folder, "cpu"), tmp_path / "state"

    def kill(read, part):
        for each in multiprocessing.active_children():
            each.kill()

    with pytest.raises(AtlasError, match="was killed, perhaps because memory ran out: run the same command again"):
        measure_corpus(translator, file, state, processes=2, report=kill)
    assert state.exists()
    assert_same(measure_corpus(translator, file, state), whole, atol=1e-6)


def test_resumed_measurement_does_not_hold_the_whole_file_in_memory(small_translator, tmp_path):
    path, state = tmp_path / "sentences.txt", tmp_path / "state"
    lines = [f"{number} {'dog ' * 500}".strip() for number in range(5_000)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    corpus._save(
        state, corpus.MeasurementState(small_translator.version, digest, len(lines), pack(corpus.PartMetrics(1, 0, {})))
    )
    tracemalloc.start()
    try:
        assert measure_corpus(small_translator, path, state).sentences == 1
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < path.stat().st_size / 10


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_measurement_rejects_input_that_can_be_read_only_once(small_translator, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(
        ValueError, match="pipe is not a regular file, but must be read more than once: save its content"
    ):
        measure_corpus(small_translator, pipe, tmp_path / "state")


def until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_too_long_sentences_are_skipped(small_translator, sentences):
    found = measure_part(small_translator, [*sentences[:4], "dream " * 5_000])
    assert_same(found, measure_part(small_translator, sentences[:4]) + corpus.PartMetrics(0, 1, {}))


def test_saved_state_of_other_sentences_is_rejected(small_translator, file, tmp_path):
    state = tmp_path / "state"

    def stop(read, part):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_corpus(small_translator, file, state, report=stop)
    file.write_text("Other words\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ValueError, match="of other sentences: delete"):
        measure_corpus(small_translator, file, state)


def test_saved_state_of_another_model_is_rejected(small_translator, file, tmp_path):
    state = tmp_path / "state"
    corpus._save(state, corpus.MeasurementState("another", "", 0, pack(corpus.NO_METRICS)))
    with pytest.raises(ValueError, match="of another model: delete"):
        measure_corpus(small_translator, file, state)


def test_file_without_readable_sentences_leaves_no_state_behind(small_translator, tmp_path):
    path, state = tmp_path / "long.txt", tmp_path / "state"
    path.write_text("dog " * 500, encoding="utf-8")
    with pytest.raises(ValueError, match="no sentence that the model can read"):
        measure_corpus(small_translator, path, state)
    path.write_text("A dog.\n", encoding="utf-8")
    assert measure_corpus(small_translator, path, state).sentences == 1


def test_line_that_is_not_text_is_reported(small_translator, tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("A dog\n\nGrün\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 3 of .* is not UTF-8 text"):
        measure_corpus(small_translator, path, tmp_path / "state")


def test_cluster_without_ray_is_reported_in_one_line(model_folder, file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(AtlasError, match=r"install Ray: pip install"):
        measure_corpus(Translator.load(model_folder, "cpu"), file, tmp_path / "state", cluster="auto")
