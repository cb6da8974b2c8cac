"""The families of Hugging Face models that are read as a Transformer of ours: how they differ, and their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from transformer.config import NormPlacement, Positions


@dataclass(frozen=True)
class Family:
    """A family's differences from the others, in the words of `TransformerConfig`.

    Attributes:
        model: name of its class in transformers.
        norm: place of the layer norms.
        positions: kind of positions of a folder that stores none.
        embedding_norm: whether the sum of embeddings and positions is normalised.
        activation: Hugging Face's name of the activation, if config.json names none.
        unused_positions: rows at the beginning of a table of learned positions that no token has.
        sentencepiece: file of its sentencepiece model for both sides; empty if each side has its own.
        before: special tokens in the order of their ids, which replace the first tokens of that model.
        replaced: number of these first tokens.
    """

    model: str
    norm: NormPlacement
    positions: Positions
    embedding_norm: bool = False
    activation: str = "gelu"
    unused_positions: int = 0
    sentencepiece: str = "sentencepiece.bpe.model"
    before: tuple[str, ...] = ("<s>", "<pad>", "</s>", "<unk>")
    replaced: int = 3


# By model_type in config.json. NLLB-200 is an M2M100, mBART-50 an mBART.
FAMILIES: Mapping[str, Family] = {
    "marian": Family("MarianMTModel", "post", "sinusoidal_halves", sentencepiece=""),
    "m2m_100": Family("M2M100ForConditionalGeneration", "pre", "sinusoidal_fairseq", activation="relu"),
    "mbart": Family("MBartForConditionalGeneration", "pre", "learned", embedding_norm=True, unused_positions=2),
    "bart": Family("BartForConditionalGeneration", "post", "learned", embedding_norm=True, unused_positions=2),
    "pegasus": Family(
        "PegasusForConditionalGeneration",
        "pre",
        "sinusoidal_halves",
        sentencepiece="spiece.model",
        before=("<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{number}>" for number in range(2, 103))),
        replaced=2,
    ),
}
NAMED = "Marian, M2M100, NLLB-200, mBART, mBART-50, BART and Pegasus"
# A language's token: "eng_Latn" of NLLB-200, "en_XX" of mBART, "__en__" of M2M100.
LANGUAGE = re.compile(r"[a-z]{2,3}_(?:[A-Z]{2}|[A-Z][a-z]{3})|__[a-z]{2,3}__")
# Tokenizers that put the source language's token after the end symbol; mBART-50's do not.
CODE_LAST = ("MBartTokenizer", "MBartTokenizerFast")
# The languages of M2M100 and of its version for WMT 2021, in the order of their ids, which follow those of vocab.json.
M2M100 = {
    "m2m100": "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps "
    "pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu",
    "wmt21": "en ha is ja cs ru zh de",
}
