"""Parses the files of a byte-level BPE tokenizer: tokenizer.json, or the older vocab.json with merges.txt."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.files.small_files import json_object
from transformer.text.added_tokens import ADDED, TOKENIZER, AddedToken, named_symbols, read_added, read_token
from transformer.text.pair_tokenizer import IDS, read_ids
from transformer.text.segmenters import ONE_FILE

MERGES = "merges.txt"
# All files that a byte-level BPE tokenizer may have; some contain the same information.
FILES = (ONE_FILE, IDS, MERGES, TOKENIZER, ADDED)
# Accepted settings of the model in tokenizer.json. With other settings, the tokenizer would differ from GPT-2's.
PLAIN = {
    "dropout": (None, 0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (None, False),
    "ignore_merges": (None, False),
}


@dataclass(frozen=True)
class ByteVocabulary:
    """The parsed files of a byte-level BPE tokenizer.

    Attributes:
        source: name of the file with the token ids.
        ids: token ids by byte-level spelling; may include the tokens in `added`.
        merges: pairs of tokens in order of priority, each with its location in the file for error messages.
        added: added tokens by id.
        prefix_space: whether to insert a space before a text that does not begin with one.
        symbols: texts of special tokens by key in the tokenizer's settings, such as "bos_token".
    """

    source: str
    ids: Mapping[str, int]
    merges: tuple[tuple[str, str, str], ...]
    added: Mapping[int, AddedToken]
    prefix_space: bool
    symbols: Mapping[str, str]


def read_byte_vocabulary(files: Mapping[str, bytes]) -> ByteVocabulary:
    """Parse the files of a byte-level BPE tokenizer; tokenizer.json alone is enough.

    Args:
        files: contents of those `FILES` that exist, by file name.

    Raises:
        ValueError: a file is missing or damaged, or uses an unsupported feature; the message names the file.
    """
    settings = json_object(files.get(TOKENIZER, b"{}"), TOKENIZER)
    symbols = named_symbols(settings)
    if ONE_FILE in files:
        return _one_file(files[ONE_FILE], symbols)
    for name in (IDS, MERGES):
        if name not in files:
            raise ValueError(f"{name} is missing")
    ids = read_ids(files[IDS], IDS)
    return ByteVocabulary(
        IDS, ids, tuple(_lines(files[MERGES])), read_added(files), settings.get("add_prefix_space") is True, symbols
    )


def _one_file(content: bytes, symbols: Mapping[str, str]) -> ByteVocabulary:
    document = json_object(content, ONE_FILE)
    model = document.get("model")
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE":
        model_type = model.get("type") if isinstance(model, dict) else None
        raise ValueError(f"{ONE_FILE} has a model of type {model_type!r}, but only byte-level BPE is supported")
    for name, values in PLAIN.items():
        if model.get(name) not in values:
            raise ValueError(f"{name} in {ONE_FILE} is {model[name]!r}, but only {values[-1]!r} is supported")
    if document.get("normalizer") is not None:
        raise ValueError(f"{ONE_FILE} has a normalizer, but only tokenizers without one are supported")
    cutting = document.get("pre_tokenizer")
    if not isinstance(cutting, dict) or (cutting.get("type"), cutting.get("use_regex", True)) != ("ByteLevel", True):
        raise ValueError(f"the pre_tokenizer in {ONE_FILE} is not GPT-2's (ByteLevel with its default pattern)")
    ids, merges, added = model.get("vocab"), model.get("merges"), document.get("added_tokens") or []
    if not isinstance(ids, dict) or any(type(number) is not int or number < 0 for number in ids.values()):
        raise ValueError(f"vocab in {ONE_FILE} is not a JSON object with an id for every token")
    if not isinstance(merges, list) or not isinstance(added, list):
        raise ValueError(f"merges or added_tokens in {ONE_FILE} is not a list")
    tokens = dict(read_token(each, each.get("id") if isinstance(each, dict) else None, ONE_FILE) for each in added)
    return ByteVocabulary(
        ONE_FILE, ids, tuple(_pairs(merges)), tokens, cutting.get("add_prefix_space") is True, symbols
    )


def _pairs(merges: list[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the tokens and location of each merge in tokenizer.json. A merge is a list, or a string such as "a b"."""
    for number, merge in enumerate(merges, start=1):
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(token, str) for token in pair):
            raise ValueError(f"merge {number} in {ONE_FILE} does not consist of two tokens")
        yield pair[0], pair[1], f"merge {number} in {ONE_FILE}"


def _lines(content: bytes) -> Iterator[tuple[str, str, str]]:
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{MERGES} is damaged, or is not UTF-8 text") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        pair = line.rstrip("\r").split(" ")
        if len(pair) != 2:
            raise ValueError(f"line {number} of {MERGES} does not consist of two tokens")
        yield pair[0], pair[1], f"line {number} of {MERGES}"
