"""Tests that a damaged model folder is rejected with one clear message, or the loaded model is unchanged."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.damages import change_header, damage_file, file_damages, set_field, short_lived_folder
from tests.properties import few, many
from transformer.checkpoints.learning_curve import FIELDS
from transformer.checkpoints.model_files import save_model
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.files.tensors import read_tensors, write_tensors
from transformer.model.transformer import build
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES, write_languages
from transformer.values.head_means import FILE, HeadMeans, mean_outputs
from transformer.values.kinds import KINDS

OPTIONAL = ("README.md", "learning_curve.csv")
FILES = ("config.json", "model.safetensors", "tokenizer.model", "languages.json", *OPTIONAL, FILE)
# Values for a field of config.json: wrong, out of range, or far too large to allocate.
VALUES = st.sampled_from(
    [
        None,
        True,
        "",
        "8",
        -1,
        0,
        1,
        2,
        3,
        7,
        64,
        2**20,
        2**31,
        2**40,
        10**30,
        0.5,
        1.0,
        1e308,
        float("nan"),
        float("inf"),
        [],
        {},
        "post",
        "learned",
        "none",
        "target",
        "all",
        "gelu",
        "sinusoidal_halves",
    ]
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tokenizer, small_config) -> tuple[Path, Translator]:
    """A complete folder and its model, with one layer per side because it is made thousands of times."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    config = replace(small_config, encoder_layers=1, decoder_layers=1)
    torch.manual_seed(11)
    save_model(folder, config, dict(build(config).named_parameters()), tokenizer)
    (folder / "README.md").write_text("# A card", encoding="utf-8")
    (folder / "learning_curve.csv").write_text(
        f"{','.join(FIELDS)}\n" + "".join(f"{step},0.1,9.0,{9 - step / 100},,,1.5,1e-4,900\n" for step in (25, 50, 75))
    )
    write_languages(folder, LANGUAGES)
    translator = Translator.load(folder, "cpu")
    HeadMeans.over([translator.trace("A dog.", details=True)], translator.version, "of one").save(folder)
    return folder, Translator.load(folder, "cpu")


def same(one: Translator, other: Translator) -> bool:
    """Return whether two models compute the same, bit for bit."""
    mine, theirs = one.weights().arrays, other.weights().arrays
    return (
        one.config == other.config
        and one.tokenizer.serialized == other.tokenizer.serialized
        and mine.keys() == theirs.keys()
        and all(np.array_equal(array, theirs[name]) for name, array in mine.items())
        and (
            one.means is None
            or other.means is None
            or one.means.pairs == other.means.pairs
            and all(np.array_equal(one.means.outputs[kind], other.means.outputs[kind]) for kind in KINDS)
        )
    )


@pytest.fixture(scope="module")
def untied(tmp_path_factory, tokenizer, small_config) -> Path:
    """A model whose config.json claims a source vocabulary that does not exist."""
    folder = tmp_path_factory.mktemp("untied")
    config = replace(small_config, tied_embeddings="none", source_vocabulary=tokenizer.size + 7)
    save_model(folder, config, dict(build(config).named_parameters()), tokenizer)
    return folder


@st.composite
def damages(draw: st.DrawFn) -> tuple:
    """Draw the damage to a folder, as a tuple for failure messages: the kind, and its numbers."""
    kind = draw(
        st.sampled_from(
            [*["file"] * 14, "field", "field", "field", "nested", "header", "header", "tensor", "metadata", "cell"]
        )
    )
    if kind == "file":
        return kind, *draw(file_damages(FILES))
    if kind == "field":
        names = [*(each.name for each in fields(TransformerConfig)), "unknown"]
        return kind, draw(st.sampled_from(names)), draw(VALUES), draw(st.booleans())
    if kind == "nested":
        return kind, draw(st.sampled_from("[{")), draw(st.integers(1, 200_000))
    if kind in ("header", "tensor"):
        return (
            kind,
            draw(st.integers(0, 1000)),
            draw(
                st.sampled_from(
                    [
                        [],
                        [0],
                        [-1],
                        [2**40],
                        [2**62, 4],
                        [1, 1, 1],
                        ["x"],
                        None,
                        "F64",
                        "I8",
                        "C64",
                        "F8_E4M3",
                        "nonsense",
                    ]
                )
            ),
        )
    if kind == "metadata":
        names = ["tokenizer", "contents", "model"]
        return kind, draw(st.sampled_from(names)), draw(st.sampled_from(["", "0" * 64, 7]))
    cells = ["nan", "inf", "", "x", "=1+1", "1e999", "\x00", "ä", '"', "1,2", "\r", "\n"]
    return kind, draw(st.sampled_from(cells))


def damage(folder: Path, what: tuple) -> None:
    """Apply the damage to a folder."""
    kind, *rest = what
    if kind == "file":
        damage_file(folder, *rest)
    elif kind == "field":
        field, value, dropped = rest
        set_field(folder / "config.json", field, value, dropped=dropped)
    elif kind == "nested":
        opening, depth = rest
        (folder / "config.json").write_text(opening * depth if opening == "[" else '{"a":' * depth)
    elif kind == "cell":
        path = folder / "learning_curve.csv"
        path.write_bytes(path.read_bytes().replace(b"8.5", rest[0].encode(), 1))
    else:
        change_header(folder / "model.safetensors", kind, *rest)


def refused_or_the_same(whole, what) -> None:
    folder, translator = whole
    with short_lived_folder() as place:
        damaged = Path(place) / "model"
        shutil.copytree(folder, damaged)
        damage(damaged, what)
        try:
            found = Translator.load(damaged, "cpu")
        except CheckpointError as error:
            assert "\n" not in str(error) and len(str(error)) < 600, error
            assert str(damaged) in str(error), "it names the folder"
            assert "Fetch" in str(error) or "Train" in str(error) or "Make it again" in str(error), "it says what to do"
            return
        assert same(found, translator)


test_a_damaged_folder = few(70)(given(what=damages())(refused_or_the_same))
test_two_thousand_damaged_folders = many(2000)(given(what=damages())(refused_or_the_same))


@pytest.mark.parametrize("name", OPTIONAL)
@pytest.mark.parametrize("content", [b"\xff\xfe broken", None], ids=["not UTF-8", "a folder"])
def test_unreadable_card_or_curve_is_reported(whole, tmp_path, name, content):
    folder = shutil.copytree(whole[0], tmp_path / "model")
    (folder / name).unlink()
    if content is None:
        (folder / name).mkdir()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=name):
        Translator.load(folder, "cpu")


@pytest.mark.parametrize("text", ["step,loss\n1,2\n", f"{','.join(FIELDS)}\n1,2\n", "\n", '"'], ids=repr)
def test_invalid_learning_curve_is_rejected_before_a_page_shows_it(whole, tmp_path, text):
    folder = shutil.copytree(whole[0], tmp_path / "model")
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
def test_sizes_that_differ_from_the_weights_are_never_allocated(whole, tmp_path, changes):
    """The first of these sizes used to block loading, and the others used up the memory."""
    folder = shutil.copytree(whole[0], tmp_path / "model")
    for field, value in changes.items():
        set_field(folder / "config.json", field, value)
    with pytest.raises(CheckpointError, match="do not fit config.json|altered after they were saved"):
        Translator.load(folder, "cpu")


def test_deeply_nested_configuration_is_reported(whole, tmp_path):
    folder = shutil.copytree(whole[0], tmp_path / "model")
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="nested too deeply"):
        Translator.load(folder, "cpu")


def test_source_vocabulary_that_does_not_match_the_tokenizer_is_reported(untied):
    with pytest.raises(CheckpointError, match="is not the one that the weights beside it were trained with"):
        Translator.load(untied, "cpu")


@pytest.mark.parametrize("value", [float("nan"), -float("inf")])
def test_diverged_model_with_valid_seals_is_rejected(tmp_path, small_translator, small_config, value):
    weights = dict(small_translator._model.named_parameters())
    name = next(iter(weights))
    broken = weights[name].detach().clone()
    broken[3, 5] = value
    save_model(tmp_path, small_config, {**weights, name: broken}, small_translator.tokenizer)
    with pytest.raises(CheckpointError, match="not all finite numbers: their training diverged"):
        Translator.load(tmp_path, "cpu")


def test_integer_weights_with_valid_seals_are_rejected(whole, tmp_path):
    folder = shutil.copytree(whole[0], tmp_path / "model")
    weights, seals = read_tensors(folder / "model.safetensors")
    name = next(iter(weights))
    weights[name] = weights[name].to(torch.int16)
    config = TransformerConfig.from_json((folder / "config.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(config.to_json().encode())
    for each in sorted(weights):
        digest.update(each.encode() + weights[each].numpy().tobytes())
    write_tensors(folder / "model.safetensors", weights, {**seals, "contents": digest.hexdigest()})
    with pytest.raises(CheckpointError, match="not all finite numbers"):
        Translator.load(folder, "cpu")


def modes(folder: Path) -> Iterator[tuple[str, int]]:
    return ((path.name, path.stat().st_mode & 0o777) for path in folder.iterdir())


def test_model_files_have_the_usual_permissions(tmp_path, small_translator, small_config):
    """safetensors writes files for their owner only, so other users could not read a model in a shared folder."""
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


def test_non_finite_head_means_are_rejected(whole, tmp_path):
    folder, translator = whole
    means = HeadMeans.load(folder)
    assert means is not None
    outputs = {kind: array.copy() for kind, array in means.outputs.items()}
    outputs["cross"][0, 0, 0] = float("nan")
    HeadMeans(translator.version, "of one", outputs).save(tmp_path)
    with pytest.raises(CheckpointError, match="head_means.safetensors is damaged"):
        HeadMeans.load(tmp_path)


@pytest.mark.parametrize("pairs", [(((1, 2), ()),), (((1, -2), (1,)),)], ids=["no token", "no such token"])
def test_head_means_with_unreadable_sentences_are_rejected(whole, tmp_path, pairs):
    HeadMeans("any", "of one", HeadMeans.load(whole[0]).outputs, pairs).save(tmp_path)
    with pytest.raises(CheckpointError, match="head_means.safetensors is damaged"):
        HeadMeans.load(tmp_path)


def test_head_means_from_an_older_version_load_without_sentences(whole, tmp_path):
    means = HeadMeans.load(whole[0])
    assert means.pairs
    older = {str(kind): array for kind, array in means.outputs.items()}
    save_file(older, tmp_path / FILE, {"model": means.model, "sentences": means.sentences})
    assert HeadMeans.load(tmp_path).pairs == ()


def test_rejected_model_folder_leaves_no_open_thread_or_file(whole, tmp_path):
    """No thread or file stays open, so the folder can be fixed in place."""
    folder = shutil.copytree(whole[0], tmp_path / "model")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-1])
    with pytest.raises(CheckpointError):
        Translator.load(folder, "cpu")
    (folder / "model.safetensors").write_bytes(content)
    assert torch.is_inference_mode_enabled() is False
    assert Translator.load(folder, "cpu").version == whole[1].version
