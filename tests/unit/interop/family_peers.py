"""Makes a tiny random model of each family, with a tokenizer, and saves both with `transformers`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.conftest import SENTENCES
from tests.foreign_models import sentencepiece_model, tokens_of

SHAPE = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 64,
    "attn_implementation": "eager",
}
SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>")


def _trained(before: tuple[str, ...], *, byte_level: bool = False) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the vocabulary and merges of a byte-pair encoding whose first tokens are `before`."""
    tokenizer = Tokenizer(models.BPE())
    cutter = pre_tokenizers.ByteLevel(add_prefix_space=False) if byte_level else pre_tokenizers.Metaspace()
    tokenizer.pre_tokenizer = cutter
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    tokenizer.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(
            vocab_size=360 if byte_level else 120,
            special_tokens=list(before),
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def _unigram() -> list[tuple[str, float]]:
    return [(text, -1.0 - place / 10) for place, text in enumerate(tokens_of(sentencepiece_model(SENTENCES)))]


def m2m100(folder: Path) -> Any:
    from transformers import M2M100Tokenizer

    model = sentencepiece_model(SENTENCES)
    ids = {text: number for number, text in enumerate((*SYMBOLS, *tokens_of(model)))}
    (folder / "vocab.json").write_text(json.dumps(ids))
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    return M2M100Tokenizer(
        str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"), src_lang="en", tgt_lang="de"
    )


def nllb(folder: Path) -> Any:
    from transformers import NllbTokenizer

    vocabulary, merges = _trained(SYMBOLS)
    return NllbTokenizer(vocab=vocabulary, merges=merges, src_lang="eng_Latn", tgt_lang="deu_Latn")


def mbart50(folder: Path) -> Any:
    from transformers import MBart50Tokenizer

    return MBart50Tokenizer(
        vocab=[("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *_unigram()], src_lang="en_XX", tgt_lang="de_DE"
    )


def mbart(folder: Path) -> Any:
    from transformers import MBartTokenizer

    vocabulary = [*((text, 0.0) for text in SYMBOLS), *_unigram()]
    return MBartTokenizer(vocab=vocabulary, src_lang="en_XX", tgt_lang="de_DE")


def bart(folder: Path) -> Any:
    from transformers import BartTokenizer

    vocabulary, merges = _trained((*SYMBOLS, "<mask>"), byte_level=True)
    return BartTokenizer(vocab=vocabulary, merges=merges)


def pegasus(folder: Path) -> Any:
    from transformers import PegasusTokenizer

    special = ["<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{number}>" for number in range(2, 103)), "<unk>"]
    return PegasusTokenizer(vocab=[*((text, 0.0) for text in special), *_unigram()])


FAMILIES: dict[str, tuple[Callable[[Path], Any], str, dict[str, Any]]] = {
    "m2m100": (m2m100, "M2M100", {"scale_embedding": True}),
    "nllb": (nllb, "M2M100", {"activation_function": "relu"}),
    "mbart50": (mbart50, "MBart", {"scale_embedding": True}),
    "mbart": (mbart, "MBart", {}),
    "bart": (bart, "Bart", {}),
    "pegasus": (pegasus, "Pegasus", {"scale_embedding": True}),
}


def make_family(name: str, folder: Path, *, seed: int = 0, ending: float = 3.0, **generation: Any) -> tuple[Any, Any]:
    """Write a model folder and return its model and tokenizer as `transformers` objects.

    Args:
        name: a key of FAMILIES.
        folder: an existing folder.
        seed: seed of the weights.
        ending: number added to the end symbol's logit.
        generation: additional settings for generate().
    """
    import transformers

    made, prefix, settings = FAMILIES[name]
    tokenizer = made(folder)
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    ids = {**tokenizer.get_vocab(), **getattr(tokenizer, "lang_token_to_id", {})}
    size = max(ids.values()) + 1
    target = getattr(tokenizer, "tgt_lang", None)
    code = None if target is None else tokenizer.convert_tokens_to_ids(f"__{target}__" if name == "m2m100" else target)
    start = {"mbart": code, "pegasus": pad}.get(name, end)
    forced = {"mbart": None, "pegasus": None, "bart": tokenizer.bos_token_id}.get(name, code)
    config = getattr(transformers, f"{prefix}Config")(
        **{
            **SHAPE,
            "vocab_size": size,
            "pad_token_id": pad,
            "bos_token_id": 0,
            "eos_token_id": end,
            "decoder_start_token_id": start,
            "forced_eos_token_id": None,
            **settings,
        }
    )
    torch.manual_seed(seed)
    model = getattr(transformers, f"{prefix}ForConditionalGeneration")(config).eval().requires_grad_(False)
    for key, parameter in model.named_parameters():
        if prefix in ("M2M100", "Pegasus") and "embed_positions" in key:
            continue
        scale = 0.6 if "embed" in key or "shared" in key else 1.5 * 16**-0.5
        parameter.copy_(
            (key.endswith("norm.weight") or key.endswith("embedding.weight") and "norm" in key)
            + scale * torch.randn_like(parameter)
        )
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, end] += ending
    # A random model might predict padding or the start symbol, which a trained model never does.
    never = {pad, *(() if start == end else (start,))}
    if name == "bart":
        # Our search never writes an incomplete character, so suppress tokens that may split a multi-byte character.
        never |= {number for text, number in ids.items() if not text.replace("Ġ", "").isascii()}
    model.generation_config = transformers.GenerationConfig(
        **{
            "pad_token_id": pad,
            "bos_token_id": 0,
            "eos_token_id": end,
            "decoder_start_token_id": start,
            "forced_bos_token_id": forced,
            "max_length": 25,
            "suppress_tokens": sorted(never),
            **generation,
        }
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer
