"""Starts a Ray cluster on this machine as in docs/deployment.md, and tests clients with and without its token."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from transformer.analysis.heads.statistics import Statistics
from transformer.measurements.corpus import PART_SIZE, measure_corpus
from transformer.running.translator import Translator
from transformer.serving.client import RemoteTranslator

pytestmark = pytest.mark.install

ROOT = Path(__file__).parents[2]
# Timeout in seconds for an expected event.
PATIENCE = 120.0
WORDS = ("dog", "cat", "child", "book", "garden", "house", "street")


@dataclass(frozen=True)
class Cluster:
    python: Path
    address: str
    environment: dict[str, str]

    def command(self, module: str, *arguments: object) -> list[str]:
        return [str(self.python), "-m", f"transformer.{module}", *map(str, arguments)]

    def run(self, module: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(module, *arguments),
            cwd=ROOT,
            env=self.environment | environment,
            timeout=PATIENCE,
            capture_output=True,
            text=True,
        )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait(happened: Callable[[], bool], log: Path) -> None:
    ends = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < ends, log.read_text(encoding="utf-8")
        time.sleep(0.1)


def end(process: psutil.Popen) -> None:
    """Stop a process and every process that it started."""
    each = [process, *process.children(recursive=True)]
    process.send_signal(signal.SIGTERM)
    _, left = psutil.wait_procs(each, timeout=20)
    for other in left:
        other.kill()


@pytest.fixture(scope="module")
def cluster(python_with_ray) -> Iterator[Cluster]:
    # Ray creates sockets in this folder. The path of a socket must be short, so do not use pytest's temporary folder.
    folder, port = Path(tempfile.mkdtemp(prefix="ray")), free_port()
    environment = os.environ | {"HOME": str(folder), "RAY_TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    ray = python_with_ray.with_name("ray")
    subprocess.run([ray, "get-auth-token", "--generate"], env=environment, check=True, stdout=subprocess.DEVNULL)
    command = [
        ray,
        "start",
        "--head",
        "--disable-usage-stats",
        "--block",
        f"--port={port}",
        "--include-dashboard=false",
        f"--ray-client-server-port={free_port()}",
        "--num-cpus=2",
        "--object-store-memory=200000000",
    ]
    log = folder / "log.txt"
    with log.open("w", encoding="utf-8") as written:
        head = psutil.Popen(command, env=environment | {"RAY_AUTH_MODE": "token"}, stdout=written, stderr=written)
    try:
        wait(lambda: head.poll() is not None or "runtime started" in log.read_text(encoding="utf-8"), log)
        assert head.poll() is None, log.read_text(encoding="utf-8")
        yield Cluster(python_with_ray, f"127.0.0.1:{port}", environment)
    finally:
        end(head)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def serving(cluster: Cluster, log: Path, **environment: str) -> Iterator[RemoteTranslator]:
    port = free_port()
    with log.open("w", encoding="utf-8") as written:
        server = psutil.Popen(
            cluster.command("serving", "--port", port),
            cwd=ROOT,
            env=cluster.environment | environment,
            stdout=written,
            stderr=written,
        )
    try:
        wait(lambda: server.poll() is not None or "listens at" in log.read_text(encoding="utf-8"), log)
        assert server.poll() is None, log.read_text(encoding="utf-8")
        yield RemoteTranslator(f"http://127.0.0.1:{port}", device="cpu")
    finally:
        end(server)


def test_cluster_and_single_process_give_the_same_measurements(cluster, shipped: Translator, tmp_path):
    sentences, output = tmp_path / "sentences.txt", tmp_path / "heads.json"
    sentences.write_text(
        "".join(f"The {WORDS[n % 7]} is {n} years old.\n" for n in range(PART_SIZE + 20)), encoding="utf-8"
    )
    done = cluster.run(
        "analysis",
        "measure",
        "--sentences",
        sentences,
        "--output",
        output,
        "--device",
        "cpu",
        "--cluster",
        cluster.address,
    )
    assert done.returncode == 0, done.stderr
    part = measure_corpus(shipped, sentences, tmp_path / "state")
    expected = Statistics(shipped.version, part.sentences, part.heads)
    assert output.read_text(encoding="utf-8") == expected.to_json() + "\n"


def test_cluster_machine_without_the_model_is_reported(cluster, model_folder, tmp_path):
    folder, sentences = shutil.copytree(model_folder, tmp_path / "model"), tmp_path / "sentences.txt"
    sentences.write_text("A dog\n", encoding="utf-8")
    code = f"""
from pathlib import Path
from transformer.measurements.corpus import measure_corpus
from transformer.running.translator import Translator
folder = Path({str(folder)!r})
translator = Translator.load(folder, "cpu")
(folder / "model.safetensors").unlink()
try:
    measure_corpus(translator, Path({str(sentences)!r}), folder / "state", cluster={cluster.address!r})
except ValueError as error:
    print(error)
"""
    done = subprocess.run(
        [cluster.python, "-c", code],
        cwd=ROOT,
        env=cluster.environment,
        timeout=PATIENCE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "model.safetensors is missing" in done.stdout and done.stdout.count("\n") == 1


def test_model_served_by_a_cluster_translates(cluster, tmp_path):
    with serving(cluster, tmp_path / "log", RAY_ADDRESS=cluster.address) as remote:
        assert remote.trace("I have a dream.").target_text == "Ich habe einen Traum."


def test_model_server_without_a_cluster_address_starts_ray_itself(cluster, tmp_path):
    with serving(cluster, tmp_path / "log") as remote:
        assert remote.trace("I have a dream.").target_text == "Ich habe einen Traum."


def test_missing_cluster_token_is_reported(cluster, tmp_path):
    stranger = {"HOME": str(tmp_path)}
    measured = cluster.run(
        "analysis", "measure", "--output", tmp_path / "heads.json", "--cluster", cluster.address, **stranger
    )
    served = cluster.run("serving", "--port", free_port(), RAY_ADDRESS=cluster.address, **stranger)
    for done in (measured, served):
        assert done.returncode == 1 and "Traceback" not in done.stderr
        said = done.stderr.splitlines()[-1]
        assert said.startswith(f"error: no Ray cluster at {cluster.address} accepts this machine's token")


def test_unreachable_cluster_address_is_reported(cluster, tmp_path):
    address = f"127.0.0.1:{free_port()}"
    done = cluster.run("serving", "--port", free_port(), RAY_ADDRESS=address)
    assert done.returncode == 1 and done.stderr.startswith(f"error: no Ray cluster at {address} accepts")
    assert done.stderr.count("\n") == 1
