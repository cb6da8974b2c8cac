"""Tests that the files in deploy/ agree on the names of processes and files, and that their settings work."""

import re
import shutil
import socket
import subprocess
import sys
import time
from fnmatch import fnmatch
from getpass import getuser
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from attention_atlas.app_process import WARM_UP_VARIABLE
from deploy.rehearse import temporary_folders
from transformer.files.paths import APP

DEPLOY = APP / "deploy"
# Parts of the project that an installation contains; see pyproject.toml.
NEEDED = {"app.py", "transformer/", "attention_atlas/", "pages/", "assets/", ".streamlit/config.toml"}


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def replicas() -> list[str]:
    """Return the names of the processes in nginx's configuration."""
    return re.findall(r"^server (\w+):8501", read("replicas.conf"), flags=re.MULTILINE)


def test_nginx_config_lists_the_app_processes_of_the_compose_file():
    services = yaml.safe_load(read("compose.yaml"))["services"]
    assert replicas() == [name for name in services if name != "nginx"]
    assert set(services["nginx"]["depends_on"]) == set(replicas())


def test_nginx_config_lists_the_app_processes_of_the_cluster():
    objects = list(yaml.safe_load_all(read("kubernetes.yaml")))
    count = next(each["spec"]["replicas"] for each in objects if each["kind"] == "StatefulSet")
    pods = {
        each["metadata"]["name"]: each["spec"]["selector"]["statefulset.kubernetes.io/pod-name"]
        for each in objects
        if each["kind"] == "Service" and "app-" in str(each["spec"]["selector"])
    }
    assert pods == {name: f"app-{number}" for number, name in enumerate(replicas())}
    assert count == len(replicas())


def test_container_image_contains_the_same_files_as_an_installation():
    copied = set()
    for line in read("Dockerfile").splitlines():
        if line.startswith("COPY "):
            copied.update(line.split()[1:-1])
    assert copied == NEEDED | {"requirements.txt"}
    let_through = [line[1:] for line in read("Dockerfile.dockerignore").splitlines() if line.startswith("!")]
    assert all(any(fnmatch(name.rstrip("/"), pattern) for pattern in let_through) for name in copied)
    assert all((APP / name).exists() for name in copied)


def test_container_image_warms_up_the_app_before_it_responds():
    assert f"{WARM_UP_VARIABLE}=1" in read("Dockerfile").split("CMD")[0]


def test_compose_file_requires_the_host_name_that_users_open():
    app = yaml.safe_load(read("compose.yaml"))["services"]["app1"]
    assert app["environment"]["STREAMLIT_SERVER_ALLOWED_HOSTS"].startswith("${ATLAS_HOST:?")


SAID = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'self'",
}


class Process(BaseHTTPRequestHandler):
    """A stand-in for an app process behind nginx."""

    def do_GET(self) -> None:
        self.send_response(404 if "gone" in self.path else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture
def behind_nginx(tmp_path):
    """Run nginx with the project's settings, except for ports and cache folders, in front of a stand-in app process."""
    app = ThreadingHTTPServer(("127.0.0.1", 0), Process)
    front, packing = free_ports(2)
    ours = read("nginx.conf").replace("listen 80;", f"listen 127.0.0.1:{front};")
    ours = ours.replace("127.0.0.1:8090", f"127.0.0.1:{packing}").replace("/var/cache/nginx/", f"{tmp_path}/cache-")
    (tmp_path / "replicas.conf").write_text(f"server 127.0.0.1:{app.server_port};\n")
    (tmp_path / "nginx.conf").write_text(
        # Without the `user` directive, nginx's worker processes could not read the tests' folders when root runs the
        # tests.
        f"user {getuser()}; pid {tmp_path}/pid; daemon off; events {{}}\n"
        f"http {{ access_log off; {temporary_folders(tmp_path)}\n{ours}\n}}\n"
    )
    Thread(target=app.serve_forever, daemon=True).start()
    process = subprocess.Popen(["nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "errors"])
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", front)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        yield f"127.0.0.1:{front}"
    finally:
        process.terminate()
        process.wait()
        app.shutdown()
        app.server_close()


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx")
@pytest.mark.parametrize("path", ["/", "/static/js/index.js", "/gone", "/static/gone.js"])
def test_nginx_sends_security_headers_with_every_response(behind_nginx, path):
    """Covers a missing file (404), and a cached file, which has no cookie because all users share it."""
    line = HTTPConnection(behind_nginx, timeout=60)
    line.request("GET", path)
    answered = line.getresponse()
    assert answered.status == (404 if "gone" in path else 200)
    assert {name: answered.headers.get_all(name) for name in SAID} == {name: [value] for name, value in SAID.items()}
    assert ("Set-Cookie" in answered.headers) == (path == "/")
    assert "HttpOnly; SameSite=Lax" in answered.headers.get("Set-Cookie", "HttpOnly; SameSite=Lax")
    line.close()


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx")
def test_nginx_rejects_large_requests(behind_nginx):
    line = HTTPConnection(behind_nginx, timeout=60)
    line.putrequest("POST", "/_stcore/upload_file/a/b")
    line.putheader("Content-Length", str(2**20 + 1))
    line.endheaders()
    answered = line.getresponse()
    assert answered.status == 413 and answered.headers["X-Content-Type-Options"] == "nosniff"
    line.close()


def test_security_document_lists_the_headers_that_nginx_sends():
    document = (APP / "docs" / "security.md").read_text(encoding="utf-8")
    for name, value in SAID.items():
        assert f"`{name}: {value}`" in document
        assert len(re.findall(rf'add_header {name} "?{re.escape(value)}"? always;', read("nginx.conf"))) == 2


@pytest.mark.install
@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx")
def test_two_app_processes_behind_nginx_serve_users_and_take_over_for_each_other():
    # Use PyPI for torch here, because the index in the Dockerfile may be unreachable.
    subprocess.run(
        [sys.executable, DEPLOY / "rehearse.py", "--build-arg", "TORCH_INDEX=https://pypi.org/simple"],
        check=True,
        cwd=Path("/"),
        timeout=900,
    )
