"""Runs the setup in Dockerfile, compose.yaml and nginx.conf on this machine without containers.

    python deploy/rehearse.py [--build-arg TORCH_INDEX=URL] [--people N] [--seconds N]

Use this script on machines without a container engine, or to check that Dockerfile, compose.yaml and nginx.conf fit
together. The script needs Debian's nginx. The Dockerfile's commands run in order, as the calling user, in a fresh
folder with a fresh environment. The app processes start with the settings in compose.yaml, each at its own address
(127.0.1.1, 127.0.1.2). nginx listens in front of them on port 8080. Then simulated users connect. Each
user must stay with one process, and Streamlit's files must arrive compressed. After one process is killed, its users
must reach the other process with their old cookies. --people measures a lecture with N users through nginx.
"""

import argparse
import asyncio
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(ROOT))

import yaml

from benchmarks.lecture import MIXES, lecture, wrong
from benchmarks.timing import percentile
from benchmarks.visitor import visitor
from pages.ui.params.state import MAX_ADDRESS

HOST = "localhost"
PORT = 8080
PATIENCE = 120.0
# For each request, nginx logs the processes that failed, the process that answered, the cache status, and the path.
LOG = 'log_format visits "$upstream_addr|$upstream_cache_status|$request_uri";'


@dataclass
class Image:
    """The image that a build of the Dockerfile produces: a folder, environment variables and a command."""

    folder: Path
    environment: dict[str, str]
    command: list[str] = field(default_factory=list)


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the arguments of each instruction in a Dockerfile; a backslash continues a line."""
    text = re.sub(r"\\\n", " ", "\n".join(line for line in dockerfile.splitlines() if not line.startswith("#")))
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        yield name, rest


def build(place: Path, arguments: dict[str, str]) -> Image:
    """Run the Dockerfile's commands in a fresh folder and Python environment, and return the resulting image."""
    subprocess.run([sys.executable, "-m", "venv", place / "python"], check=True)
    image = Image(place, os.environ | {"PATH": f"{place / 'python' / 'bin'}:{os.environ['PATH']}"})
    for name, rest in instructions((ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")):
        print(f"{name} {rest}", flush=True)
        if name == "ARG":
            key, _, default = rest.partition("=")
            image.environment[key] = arguments.get(key, default)
        elif name == "ENV":
            image.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif name == "WORKDIR":
            image.folder = place / rest.lstrip("/")
            image.folder.mkdir(parents=True)
        elif name == "COPY":
            *sources, target = shlex.split(rest)
            for source in sources:
                copy(ROOT / source, image.folder / target)
        elif name == "RUN" and not rest.startswith("useradd "):
            subprocess.run(rest, shell=True, check=True, cwd=image.folder, env=image.environment)
        elif name == "CMD":
            image.command = [part.strip(' "') for part in rest.strip("[]").split(",")]
    return image


def copy(source: Path, target: Path) -> None:
    """Copy as Docker's COPY does: a folder's contents into a folder, or a file to a new name or into a folder."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    else:
        target = target / source.name if target.is_dir() else target
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def filled(value: str, settings: dict[str, str]) -> str:
    """Replace ${NAME} and ${NAME:?message} in a value from compose.yaml with the value of the setting NAME."""
    return re.sub(r"\$\{(\w+)(:\?[^}]*)?\}", lambda match: settings[match[1]], value)


def start_process(image: Image, environment: dict[str, str], address: str) -> subprocess.Popen[bytes]:
    own = {key: filled(value, {"ATLAS_HOST": HOST}) for key, value in environment.items()}
    return subprocess.Popen(
        image.command,
        cwd=image.folder,
        stdout=subprocess.DEVNULL,
        env=image.environment | own | {"HOME": "/nonexistent", "STREAMLIT_SERVER_ADDRESS": address},
    )


def temporary_folders(place: Path) -> str:
    """Return nginx directives for private temporary folders.

    In the system's folders, files left by another user's nginx could make large responses fail.
    """
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return " ".join(f"{kind}_temp_path {place}/{kind};" for kind in kinds)


@contextmanager
def nginx(place: Path, addresses: dict[str, str]) -> Iterator[Path]:
    """Run nginx with this project's configuration, and yield the path to its log.

    Args:
        place: folder for nginx's files.
        addresses: IP addresses of the app processes, by host name in replicas.conf.
    """
    replicas = (ROOT / "deploy" / "replicas.conf").read_text(encoding="utf-8")
    for name, address in addresses.items():
        replicas = replicas.replace(f"{name}:", f"{address}:")
    (place / "replicas.conf").write_text(replicas, encoding="utf-8")
    ours = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    ours = ours.replace("listen 80;", f"listen 127.0.0.1:{PORT};").replace("/var/cache/nginx/", f"{place}/cache-")
    log = place / "visits.log"
    (place / "nginx.conf").write_text(
        f"pid {place}/nginx.pid; error_log {place}/error.log; daemon off; events {{}}\n"
        f"http {{ include /etc/nginx/mime.types; {LOG} access_log {log} visits;\n{temporary_folders(place)}\n"
        f"{ours}\n}}\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(["nginx", "-p", place, "-c", place / "nginx.conf", "-e", place / "error.log"])
    try:
        yield log
    finally:
        process.terminate()
        process.wait()


def ask(path: str, address: str = f"127.0.0.1:{PORT}", **headers: str) -> tuple[dict[str, str], bytes]:
    """Send a GET request; return the headers and body of the response."""
    wish = urllib.request.Request(f"http://{address}{path}", headers={"Host": HOST} | headers)
    with urllib.request.urlopen(wish, timeout=PATIENCE) as answer:
        return dict(answer.headers.items()), answer.read()


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            ask("/_stcore/health", address)
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def visits(log: Path) -> list[list[str]]:
    """Return the process, cache status and path of each request so far."""
    # Wait for nginx, which writes the log line of a request only a moment after it has sent the response.
    time.sleep(0.5)
    return [line.rpartition(", ")[2].split("|", 2) for line in log.read_text(encoding="utf-8").splitlines()]


def stay(log: Path, count: int = 20) -> dict[str, str]:
    """Check that each user stays with one process and that no process is idle; return each user's process by cookie."""
    processes: dict[str, str] = {}
    for _ in range(count):
        headers, _ = ask("/")
        cookie = headers["Set-Cookie"].split(";")[0]
        seen = len(visits(log))
        for _ in range(5):
            assert "Set-Cookie" not in ask("/", Cookie=cookie)[0], "a user with a cookie got another cookie"
        met = {visit[0] for visit in visits(log)[seen:]}
        assert len(met) == 1, f"one user's requests reached {len(met)} app processes instead of one: {met}"
        (processes[cookie],) = met
    counts = Counter(processes.values())
    print(f"{count} users stayed with their process: {dict(counts)}")
    assert len(counts) == 2, "all users got the same process"
    return processes


def taken_over(log: Path, processes: dict[str, str], killed: str) -> None:
    """Check that users of a killed process move to the other one and stay there, and that other users are unaffected.

    Args:
        log: nginx's log.
        processes: the result of `stay`.
        killed: address of the killed process.
    """
    (other,) = {process for process in processes.values() if process != killed}
    for cookie, process in processes.items():
        seen = len(visits(log))
        assert "Set-Cookie" not in ask("/", Cookie=cookie)[0], "a user with a cookie got another cookie"
        assert asyncio.run(translated(cookie)), f"a user assigned to {process} got no translation"
        met = {visit[0] for visit in visits(log)[seen:]}
        assert met == {other}, f"requests of a user assigned to {process} reached {met} instead of {other}"
    gone = sum(process == killed for process in processes.values())
    print(f"{killed} was killed: its {gone} users moved to {other}, and the users of {other} stayed")


def compressed(log: Path) -> None:
    """Check that Streamlit's own files are compressed, and come from nginx's cache on later requests."""
    page = ask("/")[1].decode()
    path = "/" + re.search(r"static/js/index\.[\w-]+\.js", page)[0]
    plain, (headers, packed) = ask(path)[1], ask(path, **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip" and len(packed) < len(plain) / 2
    assert visits(log)[-1][1] == "HIT"
    print(f"{path}: {len(plain):,} bytes, {len(packed):,} compressed, and served from nginx's cache")


def long_addresses() -> None:
    """Check that nginx accepts a URL of the maximum length that the app allows."""
    ask(f"/?text={'x' * MAX_ADDRESS}")
    print(f"nginx accepted a URL of {MAX_ADDRESS:,} characters")


async def translated(cookie: str = "") -> bool:
    """Return whether a user who opens a link to the sentence "The cat sleeps." sees its translation."""
    async with visitor(f"{HOST}:{PORT}", cookie) as person:
        await person.open("cross_attention", text="The cat sleeps.")
        return any("Die Katze schläft." in words for words in person.words)


def measured(people: int, seconds: float) -> None:
    """Measure a lecture in which all users connect through nginx and type their own sentences."""
    took = asyncio.run(lecture(MIXES["own"], f"{HOST}:{PORT}", people, seconds))
    lost = wrong(took.answers)
    waits = [answer.seconds for answer in took.answers]
    print(
        f"{people} users, own sentences: {len(waits)} answers, p50 {statistics.median(waits):.2f} s, "
        f"p95 {percentile(waits):.2f} s, {len(took.errors)} errors, {len(lost)} wrong answers"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE", help="set a Dockerfile ARG")
    parser.add_argument("--people", type=int, default=0, metavar="N", help="measure a lecture with N users")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each user stays")
    options = parser.parse_args()
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        image = build(place, dict(argument.split("=", 1) for argument in options.build_arg))
        names = [service for service in compose if service != "nginx"]
        addresses = {service: f"127.0.1.{number}" for number, service in enumerate(names, start=1)}
        processes = {
            service: start_process(image, compose[service]["environment"], addresses[service]) for service in names
        }
        try:
            for service, process in processes.items():
                wait_for(f"{addresses[service]}:8501", process)
            with nginx(place, addresses) as log:
                time.sleep(1)
                visitors = stay(log)
                compressed(log)
                long_addresses()
                assert asyncio.run(translated()), "the page has no translation"
                if options.people:
                    measured(options.people, options.seconds)
                processes[names[0]].send_signal(signal.SIGKILL)
                taken_over(log, visitors, f"{addresses[names[0]]}:8501")
                for _ in range(10):
                    ask("/")
                    assert asyncio.run(translated()), "the page has no translation"
                print("10 new users reached the other process")
        finally:
            for process in processes.values():
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
