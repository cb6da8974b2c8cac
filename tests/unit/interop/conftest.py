"""Small Hugging Face Marian models with random weights, and the folders in which they are saved."""

import json
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tests.conftest import SENTENCES
from tests.foreign_models import numbered, sentencepiece_model, tokens_of
from tests.unit.interop.family_peers import SHAPE
from transformer.running.translator import Translator

NASTY = [
    "",
    " ",
    "\t\n",
    "a",
    "  two  spaces  ",
    "🙂",
    "👩‍👩‍👧🇩🇪",
    "שלום עולם",
    "مرحبا بالعالم",
    "日本語の文。",
    "e\u0301\u0323x",
    "a" * 300,
    "?!..,;",
    "<b>x</b>",
    '"><script>alert(1)</script>',
    "&amp;",
    "a\x00b",
    "\x01\x02",
    "</s>",
    "<pad>",
    "<s> <unk> <0x41>",
    "dog</s>cat",
    "▁",
    "a▁b ▁▁",
    r"$\frac{a}{b}$",
    "# *md* [x](y) `c`",
    "https://example.org/?a=b&c=d",
    "a\tb\nc",
    "ﬁne ﬀ…’“”",
    "½ ² ㎏ Ⅷ",
    "\ufeffa\u200bb",
    "Ａ１",
    "x" + "\u0308" * 30,
    "İstanbul ß ſ",
    "한국어 \u1100\u1161\u11a8",
    "\u00ad\u2060",
    "ไทย",
    "हिन्दी",
    "a\u202eb",
    ">>",
    "<<",
    "a >>deu<< b",
    "\ufffd",
    "I’m 1½ “old”…",
    "\u3000full\u3000width",
]
ALPHABETS = (
    (0x20, 0x7F),
    (0x20, 0x7F),
    (0x61, 0x7B),
    (0xA0, 0x250),
    (0x300, 0x330),
    (0x400, 0x450),
    (0x5D0, 0x5EB),
    (0x627, 0x64B),
    (0x2000, 0x2070),
    (0x4E00, 0x4E20),
    (0xAC00, 0xAC20),
    (0xFF01, 0xFF5F),
    (0x1F600, 0x1F640),
    (0x0, 0x20),
)
TEXTS = 1000


@pytest.fixture(scope="session")
def sides() -> tuple[bytes, bytes]:
    """Sentencepiece models of the source and the target language."""
    return sentencepiece_model(SENTENCES[::2]), sentencepiece_model(SENTENCES[1::2])


@pytest.fixture(scope="session")
def vocabularies(sides) -> dict[str, dict[str, dict[str, int]]]:
    """The id files of a joint vocabulary, and of two separate vocabularies of equal size."""
    source, target = tokens_of(sides[0]), tokens_of(sides[1])
    total = max(len(source), len(target)) + 3
    return {
        "joint": {"vocab.json": numbered(tokens_of(*sides))},
        "separate": {"vocab.json": numbered(source, total), "target_vocab.json": numbered(target, total)},
    }


@dataclass(frozen=True)
class Peer:
    """A Hugging Face model, and the folder in which it is saved."""

    model: torch.nn.Module
    folder: Path


@pytest.fixture(scope="session")
def make_peer(tmp_path_factory, sides, vocabularies) -> Callable[..., Peer]:
    """make_peer(**settings) returns a random model. Settings that are not listed here are passed to MarianConfig.

    seed: seed of the weights.
    vocabulary: a key of `vocabularies`.
    ids: content of an id file, used instead of `vocabulary`.
    dtype: data type of the saved weights.
    ending: number added to the end symbol's logit.
    spread: standard deviation of the embeddings, which scales the logits.
    rows: number of rows of the embedding; 0 for one per token.
    """
    from transformers import GenerationConfig, MarianConfig, MarianMTModel

    def make(
        *, seed=0, vocabulary="joint", dtype=torch.float32, ids=None, ending=0.0, spread=0.25, rows=0, **settings
    ) -> Peer:
        folder = tmp_path_factory.mktemp("marian")
        files = vocabularies[vocabulary] if ids is None else {"vocab.json": ids}
        sizes = [rows or len(content) for content in files.values()]
        numbers = files["vocab.json"]
        pad, end = numbers["<pad>"], numbers["</s>"]
        config = MarianConfig(
            **{
                "vocab_size": sizes[0],
                "decoder_vocab_size": sizes[-1],
                **SHAPE,
                "activation_function": "swish",
                "scale_embedding": True,
                "pad_token_id": pad,
                "eos_token_id": end,
                "decoder_start_token_id": pad,
                "bos_token_id": end,
                "forced_eos_token_id": None,
                **settings,
            }
        )
        torch.manual_seed(seed)
        model = MarianMTModel(config).eval().requires_grad_(False)
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:
                continue
            # Initially, all biases are 0 and all norm gains are 1, which would hide swapped tensors.
            scale = spread if "embed" in name or "shared" in name or "lm_head" in name else 1.5 * 16**-0.5
            offset = 1.0 if name.endswith("layer_norm.weight") else 0.0
            parameter.copy_(offset + scale * torch.randn_like(parameter))
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, end] += ending
        if dtype != torch.float32:
            model.to(dtype)
        model.generation_config = GenerationConfig(
            pad_token_id=pad,
            eos_token_id=end,
            decoder_start_token_id=pad,
            bad_words_ids=[[pad]],
            renormalize_logits=True,
        )
        model.save_pretrained(folder)
        if dtype != torch.float32:
            # Load the model again, because `model.float()` would keep the position embeddings rounded to `dtype`.
            model = MarianMTModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
            model.requires_grad_(False).eval()
        write_vocabulary(folder, sides, files)
        return Peer(model, folder)

    return make


def write_vocabulary(folder: Path, sides: tuple[bytes, bytes], files: dict[str, dict[str, int]]) -> None:
    for name, content in zip(("source.spm", "target.spm"), sides, strict=True):
        (folder / name).write_bytes(content)
    for name, ids in files.items():
        (folder / name).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "MarianTokenizer",
                "source_lang": "en",
                "target_lang": "de",
                "separate_vocabs": "target_vocab.json" in files,
            }
        )
    )


@pytest.fixture(scope="session")
def peer(make_peer) -> Peer:
    """A model that ends some sentences before the limit. Its scores are well separated, so rounding changes no rank."""
    return make_peer(ending=4.0, spread=0.6)


@pytest.fixture(scope="session")
def imported_folder(peer, tmp_path_factory) -> Path:
    from transformer.interop.importer import import_model

    folder = tmp_path_factory.mktemp("imported") / "en-de"
    import_model(str(peer.folder), folder)
    return folder


@pytest.fixture(scope="session")
def imported(imported_folder) -> Translator:
    return Translator.load(imported_folder, "cpu")


@pytest.fixture(scope="session")
def marian_tokenizer() -> Callable[[Path], object]:
    """Return a function that loads the tokenizer in a folder with Hugging Face's library."""

    def load(folder: Path):
        from transformers import MarianTokenizer

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
            return MarianTokenizer.from_pretrained(folder)

    return load


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """1,000 strings: known hard cases, then seeded random ones."""
    rng = random.Random(7)

    def made():
        words = rng.choice(SENTENCES).split()
        for _ in range(rng.randrange(1, 5)):
            alphabet = rng.choice(ALPHABETS)
            noise = "".join(chr(rng.randrange(*alphabet)) for _ in range(rng.randrange(1, 8)))
            words.insert(rng.randrange(len(words)), noise)
        return rng.choice(("", " ")).join(words[: rng.randrange(1, 9)])

    return [*NASTY, *(made() for _ in range(TEXTS - len(NASTY)))]
