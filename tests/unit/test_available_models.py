"""Tests of the list of available models, and of the message about each unusable folder."""

import json
import os
import shutil
import struct
import tempfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from transformer.checkpoints import available_models as module
from transformer.checkpoints.available_models import (
    FOLDER_VARIABLE,
    SHIPPED,
    SHIPPED_LANGUAGE_MODEL,
    Languages,
    language_model_folders,
    model_folder,
    model_folders,
)
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.checkpoints.memory import check_memory, memory_available, memory_needed
from transformer.errors import CheckpointError
from transformer.files.paths import LANGUAGE_MODEL, MODEL
from transformer.text.languages import language, write_languages


@pytest.fixture
def folder(monkeypatch, tmp_path, model_folder):
    """Create the model folder models/en-ar in the folder from which the app is started."""
    monkeypatch.chdir(tmp_path)
    path = shutil.copytree(model_folder, tmp_path / "models" / "en-ar")
    write_languages(path, Languages(language("en"), language("ar")))
    return path


def test_shipped_model_is_listed_even_without_a_models_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    (only,) = model_folders().values()
    assert (only.name, only.path, only.problem, only.shipped) == (SHIPPED, MODEL, "", True)
    assert str(only) == "en-de: English → German"
    assert load_checkpoint(MODEL).languages == only.languages


def test_model_folder_is_listed_with_its_languages(monkeypatch, folder, tmp_path):
    found = model_folders()
    assert list(found) == [SHIPPED, "en-ar"] and str(found["en-ar"]) == "en-ar: English → Arabic"
    assert found["en-ar"].languages.target.right_to_left and not found["en-ar"].shipped
    assert found["en-ar"].sentences() == ()
    (folder / "sentences.txt").write_text("One.\n\nTwo.\n", encoding="utf-8")
    assert model_folders()["en-ar"].sentences() == ("One.", "Two.")
    other = shutil.copytree(folder, tmp_path / "elsewhere" / "fr-en")
    shutil.copytree(folder, other.parent / "en-ar")
    monkeypatch.setenv(FOLDER_VARIABLE, str(other.parent))
    assert list(model_folders()) == [SHIPPED, "en-ar", "fr-en"]
    assert model_folder("en-ar").path.resolve() == folder, "of two with one name the first"


@pytest.mark.parametrize("shift", range(4))
def test_only_complete_lines_at_the_start_of_a_corpus_are_read(folder, shift):
    lines = [f"{'x' * shift}Große Äpfel, {number}." for number in range(300_000)]
    (folder / "sentences.txt").write_text("\n".join(lines), encoding="utf-8")
    found = model_folders()["en-ar"].sentences()
    assert 300 < len(found) < 1000 and list(found) == lines[: len(found)]


def test_shipped_language_model_is_listed_first_and_each_name_only_once(monkeypatch, tmp_path, tiny_language_model):
    monkeypatch.chdir(tmp_path)
    for path in ("models/b", "models/a", f"models/{SHIPPED_LANGUAGE_MODEL}", "elsewhere/c", "elsewhere/b"):
        shutil.copytree(tiny_language_model, tmp_path / path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "elsewhere"))
    found = language_model_folders()
    assert list(found) == [SHIPPED_LANGUAGE_MODEL, "a", "b", "c"]
    assert found[SHIPPED_LANGUAGE_MODEL].path == LANGUAGE_MODEL and found["b"].path.resolve() == tmp_path / "models/b"
    assert not any(each.problem for each in found.values()) and list(model_folders()) == [SHIPPED]


def test_language_model_without_full_attention_cannot_be_used(monkeypatch, tmp_path, tiny_language_model):
    monkeypatch.chdir(tmp_path)
    config = shutil.copytree(tiny_language_model, tmp_path / "models" / "local") / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"attention": "local"}))
    assert "shows only full attention" in language_model_folders()["local"].problem


def test_gpt2_with_sharded_weights_is_listed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models" / "large"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    assert "model.safetensors is missing" in language_model_folders()["large"].problem
    (folder / "model.safetensors.index.json").touch()
    assert not language_model_folders()["large"].problem


def test_target_languages_are_read_from_the_vocabulary(folder):
    assert model_folders()["en-ar"].codes == ()
    for content, codes in (
        (b'{">>heb<<": 0, ">>ara<<": 1, "a": 2}', (">>ara<<", ">>heb<<")),
        (b"[]", ()),
        (b"{", ()),
        (b"\xff", ()),
    ):
        (folder / "vocab.json").write_bytes(content)
        os.utime(folder / "vocab.json", ns=(len(content), len(content)))
        found = model_folders()["en-ar"]
        assert found.codes == codes and not found.problem, "what is wrong with it is said when it is loaded"


def test_user_folder_with_the_name_of_the_shipped_model_is_ignored(folder):
    folder.rename(folder.with_name(SHIPPED))
    assert list(model_folders()) == [SHIPPED] and model_folders()[SHIPPED].path == MODEL


def without(name):
    return lambda folder: (folder / name).unlink()


def content(name, data):
    return lambda folder: (folder / name).write_bytes(data)


DAMAGE = {
    "no config": (without("config.json"), "config.json is missing"),
    "no weights": (without("model.safetensors"), "model.safetensors is missing"),
    "half a config": (content("config.json", b'{"source_vo'), "cannot be used"),
    "another config": (content("config.json", b'{"heads": 4}'), "missing field"),
    "no text": (content("config.json", b"\xff\xfe"), "cannot be used"),
    "Hugging Face's": (content("config.json", json.dumps({"model_type": "marian"}).encode()), "attention-atlas import"),
    "of another family": (content("config.json", b'{"model_type": "t5"}'), "of the family t5; if the"),
    "large config": (content("config.json", b" " * (2**20 + 1)), "config.json is larger than 1 MB"),
    "languages": (content("languages.json", b"[1]"), "languages.json is not a JSON object"),
    "markup": (content("languages.json", b'{"source": "<b>x</b>", "target": "de"}'), "languages.json must look like"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_problem_with_a_model_folder_is_reported_in_one_line(folder, damage):
    change, said = DAMAGE[damage]
    change(folder)
    found = model_folders()["en-ar"]
    assert (
        said in found.problem
        and "\n" not in found.problem
        and str(folder.relative_to(folder.parents[1])) in (found.problem)
    )
    assert str(found) == "en-ar: cannot be used"
    with pytest.raises(CheckpointError, match="cannot be used"):
        model_folder("en-ar")


def test_folder_names_that_cannot_be_in_a_url_are_reported(folder):
    folder.rename(folder.with_name("en ar!"))
    assert "rename it" in model_folders()["en ar!"].problem
    (folder.parent / ".cache").mkdir()
    (folder.parent / "notes.txt").write_text("x")
    assert len(model_folders()) == 2


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="files have no such permissions")
def test_model_folder_without_permission_to_enter_is_skipped(monkeypatch, model_folder):
    # Other users may not enter pytest's folder, so use a separate temporary folder.
    with tempfile.TemporaryDirectory() as place:
        path = shutil.copytree(model_folder, Path(place) / "models" / "en-ar")
        os.chmod(place, 0o755)
        monkeypatch.chdir(place)
        monkeypatch.setenv(FOLDER_VARIABLE, place)
        path.parent.chmod(0o644)
        user = os.geteuid()
        if user == 0:
            # Root may enter every folder, so become an unprivileged user.
            os.seteuid(65_534)
        try:
            found = model_folders()
            with pytest.raises(CheckpointError, match=r"config\.json cannot be read \(Permission denied\)"):
                load_checkpoint(path)
        finally:
            os.seteuid(user)
            path.parent.chmod(0o755)
    assert [name for name, folder in found.items() if not folder.problem] == [SHIPPED]


def test_unknown_model_name_is_reported(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="no model “xx-yy”"):
        model_folder("xx-yy")


def test_error_about_a_model_that_exceeds_memory_gives_needed_and_free_memory(tmp_path):
    save_file({"a": torch.zeros(1000, 1000).half(), "b": torch.zeros(10)}, tmp_path / "weights", {"format": "pt"})
    assert memory_needed(tmp_path / "weights") == 10_000_140
    assert memory_needed(tmp_path) == memory_needed(tmp_path / "none") == 0
    check_memory(tmp_path, 10, 10)
    check_memory(tmp_path, 10, None)
    with pytest.raises(CheckpointError, match=r"needs 1\.4 GB .* has 0\.9 GB free"):
        check_memory(tmp_path, 1_400_000_000, 900_000_000)


def test_free_memory_is_read_from_the_machine_and_its_container(tmp_path):
    machine = tmp_path / "meminfo"
    assert memory_available(machine, tmp_path) is None
    machine.write_text("MemTotal:  9000 kB\nMemAvailable:    5000 kB\nHugePages_Total: 0\n")
    assert memory_available(machine, tmp_path) == 5_120_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("900\n")
    assert memory_available(machine, tmp_path) == 5_120_000
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 600\ninactive_file 200\n")
    assert memory_available(machine, tmp_path) == 300
    assert memory_available() is None or memory_available() > 0


def test_too_large_model_is_rejected_before_its_weights_are_read(folder):
    """The extra tensor of one terabyte takes no disk space, because the weight file is sparse."""
    path, extra = folder / "model.safetensors", 2**40
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    header, body = json.loads(whole[8 : 8 + size]), whole[8 + size :]
    header["huge"] = {"dtype": "F32", "shape": [extra // 4], "data_offsets": [len(body), len(body) + extra]}
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
        file.truncate(8 + len(text) + len(body) + extra)
    with pytest.raises(CheckpointError, match=r"needs 3848\.\d GB of memory .* has .* GB free"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    "shape", [[10**400, 1.5], [2**49], [9] * 400_000, [-1, -1], [True], {"1": 2}, None], ids=range(7)
)
def test_weight_file_with_an_impossible_tensor_shape_is_rejected(folder, shape):
    header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match=r"en-ar/model\.safetensors is damaged: a tensor has an impossible shape"):
        load_checkpoint(folder)


def test_model_name_that_is_a_path_is_invalid(folder):
    assert module.NAME.fullmatch("opus-mt-en-fr") and not module.NAME.fullmatch("../en-fr")
