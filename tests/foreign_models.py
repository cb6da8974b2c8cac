"""Small random models that read or write Arabic, in the format that `attention-atlas import` writes."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import sentencepiece
import torch

from tests.conftest import SENTENCES
from tests.small_models import small
from transformer.checkpoints.model_files import save_model
from transformer.checkpoints.model_texts import CARD
from transformer.model.transformer import build
from transformer.text.affixes import Affixes
from transformer.text.languages import Languages, language, write_languages
from transformer.text.pair_tokenizer import IDS, SOURCE, SYMBOLS, TARGET, TARGET_IDS, PairTokenizer

TEXTS = {
    "en": SENTENCES[::2],
    "ar": [
        "الرجل العجوز يقرأ كتابا في الحديقة.",
        "لدي حلم.",
        "أعطت الكتاب لأخيها أمس.",
        "الأطفال يلعبون مع الكلب.",
        "أين تعلمت أن تتكلم الألمانية؟",
        "كان متعبا جدا.",
    ],
}
STRANGERS_CARD = "### A stranger's card\n\n![pixel](https://example.org/x.png) <b>bold</b>\n"


def arabic_model(
    folder: Path,
    *,
    reads: str = "en",
    writes: str = "ar",
    seed: int = 3,
    codes: Sequence[str] = (),
    separate: bool = False,
    encoder_layers: int = 2,
    decoder_layers: int = 2,
    unapplied: tuple[str, ...] = (),
) -> Path:
    """Write a model folder with random weights, and return its path.

    Args:
        folder: path of the new folder.
        reads, writes: source and target language, keys of TEXTS.
        seed: seed of the weights.
        codes: target-language tokens, such as ">>ara<<".
        separate: whether source and target have separate token ids.
        encoder_layers, decoder_layers: number of layers in each stack.
        unapplied: see `TransformerConfig`.
    """
    models = [sentencepiece_model(TEXTS[code]) for code in (reads, writes)]
    sides = [[*codes, *tokens_of(models[0])], tokens_of(models[1])]
    total = max(map(len, sides)) + 3
    ids = [numbered(side, total) for side in sides] if separate else [numbered([*codes, *tokens_of(*models)])]
    size = len(ids[0])
    pad = size - 1
    tokenizer = PairTokenizer(
        {
            SOURCE: models[0],
            TARGET: models[1],
            **{name: json.dumps(numbers).encode() for name, numbers in zip((IDS, TARGET_IDS), ids, strict=False)},
            SYMBOLS: Affixes(pad=pad, unknown=1, start=pad, end=0).to_json(),
        }
    )
    config = small(
        size,
        32,
        4,
        48,
        (encoder_layers, decoder_layers),
        norm="post",
        positions="sinusoidal_halves",
        activation="silu",
        tied_embeddings="target" if separate else "all",
        unapplied=unapplied,
    )
    torch.manual_seed(seed)
    model = build(config).requires_grad_(False)
    for name, parameter in model.named_parameters():
        parameter += (0.3 if parameter.ndim == 1 else 0.2) * torch.randn_like(parameter)
        if name == "generator.bias":
            # Make the end symbol likely, and padding impossible.
            parameter[0] += 1.5
            parameter[pad] = -1e4
    save_model(folder, config, dict(model.named_parameters()), tokenizer, exact=True)
    write_languages(folder, Languages(language(reads), language(writes)))
    (folder / CARD).write_text(STRANGERS_CARD, encoding="utf-8")
    return folder


def sentencepiece_model(sentences: list[str], *, size: int = 90, byte_fallback: bool = False) -> bytes:
    """Return a model like OPUS-MT's: a unigram vocabulary with sentencepiece's own normalisation."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 20),
        model_writer=model,
        model_type="unigram",
        vocab_size=size + 256 * byte_fallback,
        byte_fallback=byte_fallback,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    return model.getvalue()


def tokens_of(*models: bytes) -> list[str]:
    """Return the distinct tokens of sentencepiece models, without special symbols."""
    tokens: dict[str, None] = {}
    for model in models:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        tokens |= dict.fromkeys(
            processor.id_to_piece(number)
            for number in range(processor.get_piece_size())
            if not processor.is_control(number) and not processor.is_unknown(number)
        )
    return list(tokens)


def numbered(tokens: list[str], total: int = 0) -> dict[str, int]:
    """Return the content of a vocab.json like OPUS-MT's: end symbol first, fillers up to `total`, padding last."""
    filled = [*tokens, *(f"▁filler{number}" for number in range(total - len(tokens) - 3))]
    return {text: number for number, text in enumerate(["</s>", "<unk>", *filled, "<pad>"])}
