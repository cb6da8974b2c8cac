"""Tests that messages never show an absolute path on the server."""

from pathlib import Path

import pytest

from pages.ui.text.server_paths import error_text, path_label, without_server_paths
from transformer.checkpoints.available_models import FOLDER_VARIABLE
from transformer.errors import CheckpointError
from transformer.files.paths import MODEL


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path.parent / "gpts"))
    return tmp_path


def test_paths_in_messages_are_relative_to_a_known_folder(place):
    assert path_label(Path("models/own")) == path_label(place / "models" / "own") == "models/own"
    assert path_label(place.parent / "gpts" / "tiny") == "gpts/tiny"
    assert path_label(MODEL) == "assets/models/en-de"
    assert path_label(Path.home() / "models") == "~/models"


def test_text_around_a_path_in_a_message_is_unchanged(place):
    error = CheckpointError(f"The file {place / 'models' / 'a' / 'config.json'} is damaged (1 / 2).")
    assert error_text(error) == r"The file models\/a\/config\.json is damaged \(1 \/ 2\)\."


def test_text_with_slashes_is_unchanged_if_the_app_starts_in_the_root_folder(monkeypatch):
    monkeypatch.chdir("/")
    assert without_server_paths("1 / 2 and /etc/x") == "1 / 2 and /etc/x"
