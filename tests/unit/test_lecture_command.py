"""Tests that only this machine can reach the app, unless --lecture opens it to the lecture hall's network."""

import socket
import tomllib

import pytest

from attention_atlas import lecture as hall
from transformer.files.paths import APP

SETTINGS = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def test_app_is_reachable_only_from_this_machine_by_default():
    assert SETTINGS["server"]["address"] == "localhost"
    assert set(SETTINGS["server"]["allowedHosts"]) == {"localhost", "127.0.0.1"}
    options = ["--server.port=8600", "--theme.base", "dark"]
    assert hall.lecture_options(options) == (options, None) and hall.lecture_options([]) == ([], None)


@pytest.mark.parametrize(
    ("options", "port"),
    [
        (["--lecture", "10.1.2.3"], 8501),
        (["--lecture=10.1.2.3"], 8501),
        (["--lecture", "10.1.2.3", "--server.port", "8600"], 8600),
        (["--server.port=8600", "--lecture=10.1.2.3"], 8600),
    ],
)
def test_lecture_option_opens_the_app_to_the_network_and_prints_its_url(options, port, capsys):
    found, address = hall.lecture_options([*options, "--theme.base=dark"])
    assert "--server.address=0.0.0.0" in found and f"--server.port={port}" in found and "--theme.base=dark" in found
    assert "--browser.serverAddress=10.1.2.3" in found, "or Streamlit asks an outside service for it"
    assert {"--server.allowedHosts=10.1.2.3", "--server.allowedHosts=localhost"} <= set(found)
    assert sum("port" in option for option in found) == 1 and not any("lecture" in option for option in found)
    assert address == f"http://10.1.2.3:{port}"
    hall.announce(address)
    printed = capsys.readouterr().out
    assert "The model is loaded" in printed and "open it in" not in printed, "nobody warms it by hand"
    assert "10.1.2.3 is not this machine's address" in printed
    assert f"http://10.1.2.3:{port}" in printed
    assert sum(character in "█▀▄" for character in printed) > 200, "and a code to scan"


@pytest.mark.parametrize(
    "address",
    [
        "http://10.1.2.3",
        "10.1.2.3:8501",
        "8501",
        "999.1.1.1",
        "10.1.2",
        "fd00::2",
        "[fd00::2]",
        "a hall",
        "hall/",
        "-hall",
        "school..example",
        "m" * 64,
        "atlas-.example",
    ],
)
def test_invalid_lecture_address_is_rejected(address):
    with pytest.raises(SystemExit, match="without http:// and without a port"):
        hall.lecture_options([f"--lecture={address}"])


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "127.1.2.3", "0.0.0.0"])
def test_address_that_other_machines_cannot_reach_is_rejected(address):
    with pytest.raises(SystemExit, match="cannot be reached from other machines"):
        hall.lecture_options(["--lecture", address])


def test_valid_lecture_address_causes_no_warning(capsys):
    assert hall.lecture_options(["--lecture", "atlas.school-1.example"])[1] == "http://atlas.school-1.example:8501"
    own = hall.own_address()
    if own is not None:
        hall.announce(f"http://{own}:8501")
        printed = capsys.readouterr().out
        assert "not this machine's" not in printed
        assert printed.startswith(f"\n  Everyone on this network can open http://{own}:8501\n")


@pytest.mark.parametrize("host", ["10.9.8.7", "hall.invalid"])
def test_address_of_another_machine_causes_a_warning_before_the_qr_code(capsys, host):
    hall.announce(f"http://{host}:8501")
    printed = capsys.readouterr().out
    own = hall.own_address()
    known = f", which is {own}: use `--lecture {own}`." if own else "; this machine is not on a network: "
    assert printed.startswith(f"\n  {host} is not this machine's address{known}") and "Everybody" not in printed
    warned, code = printed.index("a router"), min(map(printed.index, set("█▀▄") & set(printed)))
    assert warned < code, "it may be right behind a router, so the code is there"


def test_lecture_uses_the_port_from_the_environment(monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", "8600")
    options, address = hall.lecture_options(["--lecture=10.1.2.3"])
    assert "--server.port=8600" in options and address == "http://10.1.2.3:8600"


def test_lecture_without_an_address_uses_the_ip_address_of_this_machine(monkeypatch, capsys):
    address = hall.own_address()
    if address is not None:
        socket.inet_aton(address)
        assert f"--browser.serverAddress={address}" in hall.lecture_options(["--lecture"])[0]

    def nowhere(self, place):
        raise OSError("Network is unreachable")

    class Offline(socket.socket):
        connect = nowhere

    monkeypatch.setattr(socket, "socket", Offline)
    assert hall.own_address() is None
    with pytest.raises(SystemExit, match="not on a network"):
        hall.lecture_options(["--lecture"])
