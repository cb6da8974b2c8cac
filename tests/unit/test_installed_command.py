"""The command `attention-atlas`, as far as it needs no installation."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import transformer.__main__
import transformer.analysis.__main__
import transformer.training.__main__
from transformer import command_line
from transformer.paths import APP, ASSETS


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *arguments])
    command_line.main()


def test_has_every_command_of_the_library():
    for library in (transformer, transformer.training, transformer.analysis):
        usage = library.__main__.parser("").format_usage()
        (names,) = re.findall(r"{(.*)}", usage)
        assert names.split(",") == [name for name, (package, _) in command_line.COMMANDS.items()
                                    if package == library.__name__]


@pytest.mark.parametrize("name", command_line.COMMANDS)
def test_helps_under_its_own_name(monkeypatch, capsys, name):
    with pytest.raises(SystemExit) as ended:
        call(monkeypatch, name, "--help")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: attention-atlas {name} ")


def test_lists_its_commands(monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        call(monkeypatch, "--help")
    assert ended.value.code == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("app", *command_line.COMMANDS))


def test_runs_a_command(monkeypatch, capsys, model_folder, small_translator):
    call(monkeypatch, "info", "--model", str(model_folder))
    assert f"{small_translator.parameters:,}" in capsys.readouterr().out


def test_says_what_is_wrong_in_one_line(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="^error: .*$"):
        call(monkeypatch, "info", "--model", str(tmp_path))


def test_refuses_what_it_does_not_know(monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        call(monkeypatch, "translat")
    assert ended.value.code == 2 and "'translate'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [(), ("app",)])
def test_hands_options_to_streamlit(tmp_path, arguments):
    command = [sys.executable, "-m", "transformer.command_line", *arguments, "--server.fileWatcherType"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "--server.fileWatcherType" in done.stderr


def test_finds_the_files_of_the_app():
    for path in ("app.py", "pages/translate.py", ".streamlit/config.toml"):
        assert (APP / path).is_file()
    assert (ASSETS / "examples.json").is_file()


def test_importing_the_library_is_cheap():
    code = "import sys, transformer.command_line; print('torch' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"
    assert transformer.TransformerConfig.__name__ == "TransformerConfig"
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = transformer.Nothing
