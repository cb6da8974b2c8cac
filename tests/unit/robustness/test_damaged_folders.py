"""Tests that a damaged model folder either is rejected with one clear message or still yields the original model."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.damages import change_header, damage_file, file_damages, set_field, short_lived_folder
from tests.foreign_models import arabic_model
from tests.properties import few, many
from transformer.checkpoints.available_models import FOLDER_VARIABLE, ModelFolder, language_model_folders, model_folders
from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.checkpoints.learning_curve import FIELDS
from transformer.checkpoints.model_files import save_model
from transformer.config import TransformerConfig, decoder_only
from transformer.errors import CheckpointError
from transformer.model.transformer import build
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES, write_languages
from transformer.text.pair_tokenizer import PairTokenizer
from transformer.text.tokenizer import Tokenizer
from transformer.values.head_means import FILE, HeadMeans, mean_outputs
from transformer.values.kinds import KINDS

OPTIONAL = ("README.md", "learning_curve.csv")
FILES = {
    "translator": ("config.json", "model.safetensors", "tokenizer.model", "languages.json", *OPTIONAL, FILE),
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
    "language model": ("config.json", "model.safetensors", "tokenizer.model", *OPTIONAL),
}
FIELDS_OF = {
    "translator": [*(each.name for each in fields(TransformerConfig)), "unknown"],
    "marian": ["layers", "d_model", "source_vocabulary", "model_type", "attention", "unknown"],
    "language model": ["layers", "d_model", "heads", "vocabulary", "model_type", "attention", "unknown"],
}
# Values for a field of config.json. Most have the wrong type, are out of range, or are far too large to allocate.
NUMBERS = [-1, 0, 1, 2, 3, 7, 64, 2**20, 2**31, 2**40, 10**30, 0.5, 1.0, 1e308, float("nan"), float("inf")]
WORDS = ["", "8", "post", "learned", "none", "target", "all", "gelu", "sinusoidal_halves", "gpt2"]
VALUES = st.sampled_from([None, True, [], {}, *NUMBERS, *WORDS])
SHAPES = [[], [0], [-1], [2**40], [2**62, 4], [1, 1, 1], ["x"]]
HEADERS = st.sampled_from([None, *SHAPES, "F64", "I8", "C64", "F8_E4M3", "nonsense"])
CELLS = ["nan", "inf", "", "x", "=1+1", "1e999", "\x00", "ä", '"', "1,2", "\r", "\n"]


class Whole(NamedTuple):
    """One intact folder for each type of model, and the models loaded from these folders."""

    folders: dict[str, Path]
    models: dict[str, Translator | LanguageModel]


def load(kind: str, folder: Path) -> Translator | LanguageModel:
    return load_language_model(folder, "cpu") if kind == "language model" else Translator.load(folder, "cpu")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer, small_config: TransformerConfig) -> Whole:
    """Save and return intact models, with one layer per stack, so that the tests can load them thousands of times."""
    place = tmp_path_factory.mktemp("whole")
    folders = {"translator": place / "translator", "language model": place / "language-model"}
    configs = {
        "translator": replace(small_config, encoder_layers=1, decoder_layers=1),
        "language model": decoder_only(
            vocabulary=tokenizer.size, d_model=16, heads=2, layers=1, d_ff=32, max_positions=64
        ),
    }
    curve = "".join(f"{step},0.1,9.0,{9 - step / 100},,,1.5,1e-4,900\n" for step in (25, 50, 75))
    for kind, folder in folders.items():
        torch.manual_seed(11)
        save_model(folder, configs[kind], dict(build(configs[kind]).named_parameters()), tokenizer)
        (folder / "README.md").write_text("# A card", encoding="utf-8")
        (folder / "learning_curve.csv").write_text(f"{','.join(FIELDS)}\n{curve}")
    folders["marian"] = arabic_model(place / "marian", separate=True, encoder_layers=1, decoder_layers=1)
    write_languages(folders["translator"], LANGUAGES)
    translator = Translator.load(folders["translator"], "cpu")
    HeadMeans.over([translator.trace("A dog.", details=True)], translator.version, "of one").save(translator.folder)
    return Whole(folders, {kind: load(kind, folder) for kind, folder in folders.items()})


def same(one: Translator | LanguageModel, other: Translator | LanguageModel) -> bool:
    """Return whether two models have the same configuration, weights, vocabularies and head means."""
    mine, theirs = one.weights().arrays, other.weights().arrays
    vocabularies = one.tokenizer, other.tokenizer
    files = [each.files if isinstance(each, PairTokenizer) else each.serialized for each in vocabularies]
    means = [getattr(each, "means", None) for each in (one, other)]
    return (
        files[0] == files[1]
        and one.weights().config == other.weights().config
        and mine.keys() == theirs.keys()
        and all(np.array_equal(array, theirs[name]) for name, array in mine.items())
        and (
            None in means
            or means[0].pairs == means[1].pairs
            and all(np.array_equal(means[0].outputs[kind], means[1].outputs[kind]) for kind in KINDS)
        )
    )


def listed(place: Path) -> list[ModelFolder]:
    """Return the available models whose folders are direct children of `place`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(place))
        found = [*model_folders().values(), *language_model_folders().values()]
    return [each for each in found if each.path.parent == place]


@st.composite
def damages(draw: st.DrawFn, kind: str) -> tuple:
    """Hypothesis strategy for the arguments of `damage`, which damages a model folder."""
    others = ["field", "field", "field", "nested", "header", "header", "tensor", "metadata"]
    what = draw(st.sampled_from([*["file"] * 14, *others, *["cell"] * (kind != "marian")]))
    if what == "file":
        return what, *draw(file_damages(FILES[kind]))
    if what == "field":
        return what, draw(st.sampled_from(FIELDS_OF[kind])), draw(VALUES), draw(st.booleans())
    if what == "nested":
        return what, draw(st.sampled_from("[{")), draw(st.integers(1, 200_000))
    if what in ("header", "tensor"):
        return what, draw(st.integers(0, 1000)), draw(HEADERS)
    if what == "metadata":
        names = ["tokenizer", "contents", "model"]
        return what, draw(st.sampled_from(names)), draw(st.sampled_from(["", "0" * 64, 7]))
    return what, draw(st.sampled_from(CELLS))


def damage(folder: Path, what: str, *rest) -> None:
    """Apply damage drawn by `damages` to a model folder."""
    if what == "file":
        damage_file(folder, *rest)
    elif what == "field":
        field, value, dropped = rest
        set_field(folder / "config.json", field, value, dropped=dropped)
    elif what == "nested":
        opening, depth = rest
        (folder / "config.json").write_text(opening * depth if opening == "[" else '{"a":' * depth)
    elif what == "cell":
        path = folder / "learning_curve.csv"
        path.write_bytes(path.read_bytes().replace(b"8.5", rest[0].encode(), 1))
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
            if kind == "translator":
                told = "Fetch" in str(error) or "Train" in str(error) or "Recreate it" in str(error)
                assert told, "it says what to do"
            return
        assert same(found, whole.models[kind])


def a_translator(whole, what) -> None:
    refused_or_the_same(whole, "translator", what)


def a_marian_model(whole, what) -> None:
    refused_or_the_same(whole, "marian", what)


def a_language_model(whole, what) -> None:
    refused_or_the_same(whole, "language model", what)


test_damaged_translator_is_rejected_with_one_message_or_loads_unchanged = few(70)(
    given(what=damages("translator"))(a_translator)
)
test_damaged_marian_model_is_rejected_with_one_message_or_loads_unchanged = few(40)(
    given(what=damages("marian"))(a_marian_model)
)
test_damaged_language_model_is_rejected_with_one_message_or_loads_unchanged = few(40)(
    given(what=damages("language model"))(a_language_model)
)
test_two_thousand_damaged_translators_are_rejected_or_load_unchanged = many(2000)(
    given(what=damages("translator"))(a_translator)
)
test_many_damaged_marian_models_are_rejected_or_load_unchanged = many(500)(
    given(what=damages("marian"))(a_marian_model)
)
test_many_damaged_language_models_are_rejected_or_load_unchanged = many(500)(
    given(what=damages("language model"))(a_language_model)
)


@pytest.mark.parametrize("text", ["step,loss\n1,2\n", f"{','.join(FIELDS)}\n1,2\n", "\n", '"'], ids=repr)
def test_invalid_learning_curve_is_reported_when_the_model_is_loaded(whole, tmp_path, text):
    folder = shutil.copytree(whole.folders["translator"], tmp_path / "model")
    (folder / "learning_curve.csv").write_text(text)
    with pytest.raises(CheckpointError, match="learning curve .* is damaged"):
        Translator.load(folder, "cpu")


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder_layers": 10**9},
        {"d_model": 2**40},
        {"d_ff": 10**30},
        {"max_positions": 10**12},
        {"target_vocabulary": 2**40, "source_vocabulary": 2**40},
    ],
    ids=str,
)
def test_config_with_huge_sizes_is_rejected_without_allocating_them(whole, tmp_path, changes):
    """The first of the tested sizes once made loading hang, and the others exhausted the memory."""
    folder = shutil.copytree(whole.folders["translator"], tmp_path / "model")
    for field, value in changes.items():
        set_field(folder / "config.json", field, value)
    with pytest.raises(CheckpointError, match="do not fit config.json|altered after they were saved"):
        Translator.load(folder, "cpu")


def test_source_vocabulary_that_does_not_match_the_tokenizer_is_reported(tmp_path, tokenizer, small_config):
    config = replace(small_config, tied_embeddings="none", source_vocabulary=tokenizer.size + 7)
    save_model(tmp_path, config, dict(build(config).named_parameters()), tokenizer)
    with pytest.raises(CheckpointError, match="is not the one that the weights beside it were trained with"):
        Translator.load(tmp_path, "cpu")


@pytest.mark.parametrize("value", [float("nan"), -float("inf")])
def test_diverged_model_with_valid_integrity_seals_is_rejected(tmp_path, small_translator, small_config, value):
    weights = dict(small_translator._model.named_parameters())
    name = next(iter(weights))
    broken = weights[name].detach().clone()
    broken[3, 5] = value
    save_model(tmp_path, small_config, {**weights, name: broken}, small_translator.tokenizer)
    with pytest.raises(CheckpointError, match="infinite, NaN or not floating-point numbers"):
        Translator.load(tmp_path, "cpu")


def modes(folder: Path) -> Iterator[tuple[str, int]]:
    return ((path.name, path.stat().st_mode & 0o777) for path in folder.iterdir())


def test_saved_model_files_are_readable_by_all_users(tmp_path, small_translator, small_config):
    """safetensors creates files that only their owner can read, so other users could not load a shared model."""
    before = os.umask(0o022)
    try:
        weights = dict(small_translator._model.named_parameters())
        save_model(tmp_path, small_config, weights, small_translator.tokenizer)
        outputs = mean_outputs([small_translator.trace("A dog.", details=True)])
        HeadMeans("any", "of one", outputs).save(tmp_path)
    finally:
        os.umask(before)
    assert dict(modes(tmp_path)) == dict.fromkeys(
        ["config.json", "tokenizer.model", "model.safetensors", "head_means.safetensors"], 0o644
    )


def test_head_means_saved_by_an_older_version_load_without_sentence_pairs(whole, tmp_path):
    means = HeadMeans.load(whole.folders["translator"])
    assert means.pairs
    older = {str(kind): array for kind, array in means.outputs.items()}
    save_file(older, tmp_path / FILE, {"model": means.model, "sentences": means.sentences})
    assert HeadMeans.load(tmp_path).pairs == ()


def test_rejected_model_folder_loads_after_it_is_fixed_in_place(whole, tmp_path):
    """A file left open or a thread left running by the rejected load would prevent the fix."""
    folder = shutil.copytree(whole.folders["translator"], tmp_path / "model")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-1])
    with pytest.raises(CheckpointError):
        Translator.load(folder, "cpu")
    (folder / "model.safetensors").write_bytes(content)
    assert torch.is_inference_mode_enabled() is False
    assert Translator.load(folder, "cpu").version == whole.models["translator"].version
