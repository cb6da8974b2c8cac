"""Tests of Ray Serve with two replicas on this machine and thirty users."""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from transformer.errors import ServerError
from transformer.running.translator import Translator
from transformer.serving.client import RemoteTranslator
from transformer.serving.protocol import MAX_BYTES, PROTOCOL, RUN
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions
from transformer.values.kinds import KINDS

pytestmark = pytest.mark.install

ROOT = Path(__file__).parents[2]
# Timeout in seconds for an expected event.
PATIENCE = 120.0
PEOPLE, LASTS, EVERY = 30, 20.0, 10.0
# All users arrive within this many seconds. Each then sends a request every EVERY seconds, or later if the previous
# answer takes longer.
ARRIVAL = 5.0
WORDS = ("the old man", "a small child", "her dog", "my brother", "reads", "plays", "in the garden", "today")


@pytest.fixture(scope="module")
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def running(python: Path, port: int, log: Path) -> Iterator[subprocess.Popen]:
    """Run the server, and yield its process once it listens. The server must leave no replica behind."""
    command = [python, "-m", "transformer.serving", "--replicas", "2", "--port", str(port)]
    with log.open("w", encoding="utf-8") as written:
        # Start a new session, so that any process left in it belongs to this server.
        server = subprocess.Popen(command, cwd=ROOT, stdout=written, stderr=written, start_new_session=True)
    try:
        wait(lambda: server.poll() is not None or "listens at" in log.read_text(encoding="utf-8"), log)
        assert server.poll() is None, log.read_text(encoding="utf-8")
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE)
    wait(lambda: not replicas(), log)


def wait(happened: Callable[[], bool], log: Path) -> None:
    ends = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < ends, log.read_text(encoding="utf-8")
        time.sleep(0.1)


def replicas() -> list[int]:
    """Return the process ids of the replicas that serve the model."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if name.startswith(b"ray::ServeReplica:attention-atlas:model"):
            found.append(int(process.name))
    return found


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "server.txt"


def sentence(number: int) -> str:
    dice = random.Random(number)
    return f"{' '.join(dice.choices(WORDS, k=5)).capitalize()} {number}."


def ask_all(remote: RemoteTranslator, number: int, began: float) -> list[tuple[str, str, float]]:
    """Send one user's requests. Return each text with its translation and the response time in seconds."""
    answers = []
    time.sleep(max(0.0, began + random.Random(number).uniform(0, ARRIVAL) - time.monotonic()))
    for turn in range(int(LASTS / EVERY)):
        text, asked = sentence(100 * number + turn), time.monotonic()
        answers.append((text, remote.trace(text).target_text, time.monotonic() - asked))
        time.sleep(max(0.0, asked + EVERY - time.monotonic()))
    return answers


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the replicas in /proc")
def test_translations_match_the_local_model_even_if_one_of_two_replicas_dies(
    python_with_ray, port, log, shipped, capsys
):
    address = f"http://127.0.0.1:{port}"
    with running(python_with_ray, port, log):
        remote = RemoteTranslator(address, device="cpu")
        are_the_same(remote, shipped)
        speaks_to_old_clients(address)
        reads_no_large_body(port)
        answers_many_long_requests(remote)
        began = time.monotonic()
        before = replicas()
        assert len(before) == 2
        killer = threading.Timer(LASTS / 3, os.kill, (before[0], signal.SIGKILL))
        with ThreadPoolExecutor(PEOPLE) as people:
            killer.start()
            asked = [people.submit(ask_all, remote, number, began) for number in range(PEOPLE)]
            answers = [answer for person in asked for answer in person.result(PATIENCE)]
        assert before[0] not in replicas()
        assert len(answers) == PEOPLE * int(LASTS / EVERY)
        for text, translation, _ in answers:
            assert translation == shipped.translate(text).text
        # The other replica answers until the dead replica is replaced.
        wait(lambda: len(replicas()) == 2, log)
        seconds = np.array([seconds for _, _, seconds in answers])
        with capsys.disabled():
            print(
                f"\n{len(answers)} answers, one of two replicas killed: p50 {np.median(seconds):.2f} s, "
                f"p95 {np.quantile(seconds, 0.95):.2f} s, longest {seconds.max():.2f} s"
            )
    with pytest.raises(ServerError, match="does not answer"):
        remote.trace("It is gone.")
    with running(python_with_ray, port, log):
        assert remote.trace("I have a dream.").target_text == "Ich habe einen Traum."
    # Apart from Ray's message about the shutdown, the log contains only the server's own line.
    said = log.read_text(encoding="utf-8").splitlines()
    assert [line for line in said if "graceful_shutdown" not in line] == [
        f"The model server is listening on {address}; press Ctrl-C to stop it."
    ]


def are_the_same(remote: RemoteTranslator, shipped: Translator) -> None:
    """Check that the remote model's traces (single and batched), decoding and scores match the local model's."""
    off = Interventions(gates={("cross", 0, 7): 0.0})
    texts = [sentence(number) for number in range(8)]
    found = {}
    remote.trace_together(texts, found.__setitem__)
    pairs = [(found[number], shipped.trace(text)) for number, text in enumerate(texts)]
    pairs += [
        (model_trace(remote), model_trace(shipped))
        for model_trace in (
            lambda model: model.trace(texts[0], details=True),
            lambda model: model.trace(texts[0], "Ein Hund.", interventions=off),
            lambda model: model.trace_decoding(texts[0], DecodingSettings("beam")).trace,
        )
    ]
    for there, here in pairs:
        assert there.predicted_tokens == here.predicted_tokens and there.target_text == here.target_text
        for kind in KINDS:
            assert np.abs(there.attention(kind) - here.attention(kind)).max() <= 1e-6
        assert np.allclose(there.log_probs, here.log_probs, rtol=0, atol=1e-6)
        assert there.details.keys() == here.details.keys()
        assert all(np.allclose(there.details[name], here.details[name], atol=1e-6) for name in here.details)
    scores = [model.score(texts[0], None, [off]).log_probs for model in (remote, shipped)]
    assert np.allclose(*scores, rtol=0, atol=1e-6)


def answers_many_long_requests(remote: RemoteTranslator) -> None:
    """Check that many long requests all finish, although each yields to the others and a replica has few threads."""
    beam = DecodingSettings("beam", beam_size=10)
    texts = [" ".join(sentence(8 * number + part) for part in range(8)) for number in range(16)]
    with ThreadPoolExecutor(len(texts)) as people:
        asked = [people.submit(remote.translate, text, beam) for text in texts]
        assert all(each.result(PATIENCE).complete for each in asked)


def reads_no_large_body(port: int) -> None:
    """Check that the server rejects a large body before receiving any of it."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with closing(line):
        line.putrequest("POST", RUN)
        line.putheader("Content-Length", str(MAX_BYTES + 1))
        line.endheaders()
        reply = line.getresponse()
        assert reply.status == 422 and "16,777,216 bytes" in json.load(reply)["message"]


def speaks_to_old_clients(address: str) -> None:
    """Check that a client with an older protocol version receives the server's version."""
    body = json.dumps({"protocol": PROTOCOL - 1, "model": "?", "run": "TraceRun"}).encode()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(f"{address}/run", body), timeout=PATIENCE)
    with refused.value as reply:
        assert reply.status == 409 and json.load(reply)["protocol"] == PROTOCOL
