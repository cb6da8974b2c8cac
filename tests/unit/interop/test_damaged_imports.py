"""Imports damaged Hugging Face folders: each import succeeds, or fails with a one-line error."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.damages import damage_file, file_damages, set_field, short_lived_folder
from tests.properties import few, many
from transformer.errors import CheckpointError
from transformer.interop.importer import import_model

FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "vocab.json",
    "source.spm",
    "target.spm",
    "model.safetensors",
    "README.md",
)
# Fields that the import reads from the first three files.
SETTINGS = (
    "model_type",
    "d_model",
    "encoder_layers",
    "decoder_layers",
    "encoder_attention_heads",
    "decoder_attention_heads",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
    "vocab_size",
    "decoder_vocab_size",
    "max_position_embeddings",
    "activation_function",
    "dropout",
    "scale_embedding",
    "share_encoder_decoder_embeddings",
    "tie_word_embeddings",
    "pad_token_id",
    "eos_token_id",
    "decoder_start_token_id",
    "unk_token_id",
    "separate_vocabs",
    "source_lang",
)
VALUES = (
    None,
    True,
    False,
    "",
    "8",
    "en",
    -1,
    0,
    1,
    2,
    3,
    16,
    2**31,
    10**30,
    0.5,
    float("nan"),
    float("inf"),
    [],
    {},
    [[0]],
    "t5",
    "relu",
    "<b>",
)


@st.composite
def damages(draw: st.DrawFn) -> tuple:
    """Draw one way to damage a folder, as a tuple that failure messages can show."""
    if draw(st.booleans()):
        file = draw(st.sampled_from(FILES[:3]))
        return "setting", file, draw(st.sampled_from(SETTINGS)), draw(st.sampled_from(VALUES))
    return draw(file_damages(FILES))


def damage(folder: Path, kind: str, name: str, *rest) -> None:
    if kind == "setting":
        set_field(folder / name, *rest)
    else:
        damage_file(folder, kind, name, *rest)


@pytest.fixture(scope="module")
def whole(make_peer, tmp_path_factory) -> Path:
    """The folder of a model with one layer per stack. It is small, because it is copied thousands of times."""
    small = make_peer(encoder_layers=1, decoder_layers=1)
    folder = shutil.copytree(small.folder, tmp_path_factory.mktemp("whole") / "theirs")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# A card\n", encoding="utf-8")
    return folder


def refused_or_imported(whole, what) -> None:
    with short_lived_folder() as place:
        folder, output = Path(place) / "theirs", Path(place) / "ours"
        shutil.copytree(whole, folder)
        damage(folder, *what)
        try:
            said = import_model(str(folder), output)
        except CheckpointError as error:
            assert "\n" not in str(error) and len(str(error)) < 600, error
            left = sorted(path.name for path in Path(place).iterdir())
            assert left == ["theirs"], "nothing is left of what could not be imported"
            return
        assert f"written to {output}" in said and (output / "model.safetensors").is_file()


test_damaged_folder_is_imported_or_rejected_with_a_one_line_error = few(40)(given(what=damages())(refused_or_imported))
test_a_thousand_damaged_folders_are_imported_or_rejected_with_a_one_line_error = many(1000)(
    given(what=damages())(refused_or_imported)
)
