"""Tests that run the command `attention-atlas` from the source folder, without installing the package."""

import re
import subprocess
import sys
import venv
from importlib.metadata import packages_distributions

import pytest

from attention_atlas import command_line
from transformer.commands import measure, train, translate
from transformer.files.paths import APP, ASSETS


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["attention-atlas", *arguments])
    command_line.main()


def test_attention_atlas_command_offers_every_library_command():
    for module in (translate, train, measure):
        (names,) = re.findall(r"{(.*)}", module.parser("").format_usage())
        own = module.__name__.rpartition(".")[2]
        assert names.split(",") == [name for name, (module, _) in command_line.COMMANDS.items() if module == own]


@pytest.mark.parametrize("name", command_line.COMMANDS)
def test_help_shows_the_name_of_the_command(monkeypatch, capsys, name):
    with pytest.raises(SystemExit) as ended:
        call(monkeypatch, name, "--help")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: attention-atlas {name} ")


def test_help_lists_all_commands(monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        call(monkeypatch, "--help")
    assert ended.value.code == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("app", *command_line.COMMANDS))


def test_info_command_prints_the_parameter_count(monkeypatch, capsys, model_folder, small_translator):
    call(monkeypatch, "info", "--model", str(model_folder))
    assert f"{small_translator.parameters:,}" in capsys.readouterr().out


def test_missing_model_is_reported_in_one_line(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="^error: .*$"):
        call(monkeypatch, "info", "--model", str(tmp_path))


def test_unknown_command_is_rejected(monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        call(monkeypatch, "translat")
    assert ended.value.code == 2 and "'translate'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [(), ("app",)])
def test_options_are_passed_to_streamlit(tmp_path, arguments):
    command = [sys.executable, "-m", "attention_atlas", *arguments, "--server.fileWatcherType"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "--server.fileWatcherType" in done.stderr


def test_app_files_exist_where_the_command_looks_for_them():
    for path in ("app.py", "pages/translate.py", ".streamlit/config.toml"):
        assert (APP / path).is_file()
    assert (ASSETS / "examples.json").is_file()


@pytest.mark.parametrize(
    ("options", "extra"),
    [((), "app"), (("--lecture",), "app"), (("--processes", "2"), "app"), (("translate", "I dream."), "train")],
    ids=str,
)
def test_missing_packages_are_reported_with_the_install_command(tmp_path, options, extra):
    venv.create(tmp_path, symlinks=sys.platform != "win32")
    (python,) = tmp_path.glob("*/python" if sys.platform != "win32" else "*/python.exe")
    done = subprocess.run([python, "-m", "attention_atlas", *options], cwd=APP, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: {python} has no torch, ")
    assert ("streamlit" in done.stderr) == (extra == "app")
    assert f"`pip install 'attention-atlas[{extra}]'`" in done.stderr


def test_package_check_covers_all_requirements_of_the_app():
    required = re.findall(r"^([\w-]+)", (APP / "requirements.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    # The check omits packages that are needed only for training or importing models, or by Streamlit and its server.
    others = {"sacrebleu", "huggingface_hub", "python-multipart", "protobuf", "uvloop"}
    found = packages_distributions()
    assert {found[name][0].lower() for name in command_line.PACKAGES} == set(required) - others


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--lectre",), "--lectre; did you mean --lecture"),
        (("--lectures=10.1.2.3",), "--lectures; did you mean --lecture"),
        (("--server.port=8600", "-lecture"), "-lecture; did you mean --lecture"),
        (("app", "--process", "2"), "--process; did you mean --processes"),
    ],
)
def test_misspelled_option_of_the_app_is_reported(monkeypatch, options, line):
    """Without this check, Streamlit would print its own usage message, although the user did not call Streamlit."""
    with pytest.raises(SystemExit, match=rf"^error: there is no option {line}\?$"):
        call(monkeypatch, *options)
