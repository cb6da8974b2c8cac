"""Tests of damaged folders of all other kinds of models, as in test_damaged_folders.py, and of the list of models."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.damages import change_header, damage_file, file_damages, set_field, short_lived_folder
from tests.foreign_models import arabic_model
from tests.properties import few, many
from transformer.checkpoints.available_models import VARIABLE, ModelFolder, language_model_folders, model_folders
from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.checkpoints.learning_curve import FIELDS
from transformer.checkpoints.model_files import save_model
from transformer.config import decoder_only
from transformer.errors import CheckpointError
from transformer.model.transformer import build
from transformer.running.translator import Translator
from transformer.text.pair_tokenizer import PairTokenizer
from transformer.text.tokenizer import Tokenizer

FILES = {
    "marian": (
        "config.json",
        "model.safetensors",
        "source.spm",
        "target.spm",
        "vocab.json",
        "target_vocab.json",
        "symbols.json",
        "languages.json",
        "README.md",
    ),
    "language model": ("config.json", "model.safetensors", "tokenizer.model", "README.md", "learning_curve.csv"),
}


class Whole(NamedTuple):
    """Complete folders of both kinds, and their content."""

    folders: dict[str, Path]
    models: dict[str, Translator | LanguageModel]


def load(kind: str, folder: Path) -> Translator | LanguageModel:
    return Translator.load(folder, "cpu") if kind == "marian" else load_language_model(folder, "cpu")


@pytest.fixture(scope="module")
def whole(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole")
    ours = place / "language-model"
    config = decoder_only(vocabulary=tokenizer.size, d_model=16, heads=2, layers=1, d_ff=32, max_positions=64)
    torch.manual_seed(4)
    save_model(ours, config, dict(build(config).named_parameters()), tokenizer)
    (ours / "README.md").write_text("# A card", encoding="utf-8")
    (ours / "learning_curve.csv").write_text(f"{','.join(FIELDS)}\n25,0.1,9.0,8.5,,,1.5,1e-4,900\n")
    marian = arabic_model(place / "marian", separate=True, encoder_layers=1, decoder_layers=1)
    folders = {"marian": marian, "language model": ours}
    return Whole(folders, {kind: load(kind, folder) for kind, folder in folders.items()})


def same(one: Translator | LanguageModel, other: Translator | LanguageModel) -> bool:
    """Return whether two models compute the same, bit for bit."""
    mine, theirs = one.weights().arrays, other.weights().arrays
    vocabularies = one.tokenizer, other.tokenizer
    files = [each.files if isinstance(each, PairTokenizer) else each.fingerprint for each in vocabularies]
    return (
        files[0] == files[1]
        and one.weights().config == other.weights().config
        and mine.keys() == theirs.keys()
        and all(np.array_equal(array, theirs[name]) for name, array in mine.items())
    )


def listed(place: Path) -> list[ModelFolder]:
    """Return the entry of the only folder at a place in the list of models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(place))
        found = [*model_folders().values(), *language_model_folders().values()]
    return [each for each in found if each.path.parent == place]


@st.composite
def damages(draw: st.DrawFn, kind: str) -> tuple:
    """Draw the damage to a folder, as a tuple for failure messages."""
    what = draw(st.sampled_from([*["file"] * 5, "field", "header", "metadata"]))
    if what == "file":
        return what, *draw(file_damages(FILES[kind]))
    if what == "field":
        names = ["layers", "d_model", "heads", "vocabulary", "source_vocabulary", "model_type", "attention", "unknown"]
        return what, draw(st.sampled_from(names)), draw(st.sampled_from([None, "", -1, 0, 3, 2**40, 0.5, [], "gpt2"]))
    if what == "header":
        return what, draw(st.integers(0, 1000)), draw(st.sampled_from([[], [0], [2**40], "F64", "I8", "nonsense"]))
    return what, draw(st.sampled_from(["tokenizer", "contents"])), draw(st.sampled_from(["", "0" * 64, 7]))


def damage(folder: Path, what: str, *rest) -> None:
    """Apply the damage to a folder."""
    if what == "file":
        damage_file(folder, *rest)
    elif what == "field":
        set_field(folder / "config.json", *rest)
    else:
        change_header(folder / "model.safetensors", what, *rest)


def refused_or_the_same(whole: Whole, kind: str, what: tuple) -> None:
    with short_lived_folder() as place:
        damaged = Path(place) / "model"
        shutil.copytree(whole.folders[kind], damaged)
        damage(damaged, *what)
        for each in listed(Path(place)):
            assert "\n" not in each.problem and len(each.problem) < 600, each.problem
        try:
            found = load(kind, damaged)
        except CheckpointError as error:
            assert "\n" not in str(error) and len(str(error)) < 600, error
            assert str(damaged) in str(error), "it names the folder"
            return
        assert same(found, whole.models[kind])


def a_marian_model(whole, what) -> None:
    refused_or_the_same(whole, "marian", what)


def a_language_model(whole, what) -> None:
    refused_or_the_same(whole, "language model", what)


test_a_marian_model = few(40)(given(what=damages("marian"))(a_marian_model))
test_a_language_model = few(40)(given(what=damages("language model"))(a_language_model))
test_many_marian_models = many(500)(given(what=damages("marian"))(a_marian_model))
test_many_language_models = many(500)(given(what=damages("language model"))(a_language_model))
