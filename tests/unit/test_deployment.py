"""The files of deploy/ speak of the same processes and the same files, and what they say can be done."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from transformer.paths import APP

DEPLOY = APP / "deploy"
# What an installation has of the project; see pyproject.toml.
NEEDED = {"app.py", "transformer/", "pages/", "assets/", ".streamlit/config.toml"}


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def replicas() -> list[str]:
    """Names of the processes that nginx knows."""
    return re.findall(r"^server (\w+):8501", read("replicas.conf"), flags=re.MULTILINE)


def test_nginx_knows_the_processes_of_compose():
    services = yaml.safe_load(read("compose.yaml"))["services"]
    assert replicas() == [name for name in services if name != "nginx"]
    assert set(services["nginx"]["depends_on"]) == set(replicas())


def test_nginx_knows_the_processes_of_the_cluster():
    objects = list(yaml.safe_load_all(read("kubernetes.yaml")))
    count = next(each["spec"]["replicas"] for each in objects if each["kind"] == "StatefulSet")
    pods = {
        each["metadata"]["name"]: each["spec"]["selector"]["statefulset.kubernetes.io/pod-name"]
        for each in objects if each["kind"] == "Service" and "app-" in str(each["spec"]["selector"])
    }
    assert pods == {name: f"app-{number}" for number, name in enumerate(replicas())}
    assert count == len(replicas())


def test_the_image_has_what_an_installation_has():
    copied = set()
    for line in read("Dockerfile").splitlines():
        if line.startswith("COPY "):
            copied.update(line.split()[1:-1])
    assert copied == NEEDED | {"requirements.txt"}
    let_through = [line[1:] for line in read("Dockerfile.dockerignore").splitlines() if line.startswith("!")]
    assert all(any(fnmatch(name.rstrip("/"), pattern) for pattern in let_through) for name in copied)
    assert all((APP / name).exists() for name in copied)


def test_the_processes_may_be_asked_for_the_address_that_visitors_open():
    app = yaml.safe_load(read("compose.yaml"))["services"]["app1"]
    assert app["environment"]["STREAMLIT_SERVER_ALLOWED_HOSTS"].startswith("${ATLAS_HOST:?")


@pytest.mark.install
@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx")
def test_two_processes_behind_nginx_serve_and_make_up_for_each_other():
    # Wherever pip finds torch here: the address in the Dockerfile is for machines that reach it.
    subprocess.run(
        [sys.executable, DEPLOY / "rehearse.py", "--build-arg", "TORCH_INDEX=https://pypi.org/simple"],
        check=True, cwd=Path("/"), timeout=900,
    )
