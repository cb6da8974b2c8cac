"""Converts the tokenizer in a Hugging Face folder to this project's vocabulary format."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sentencepiece

from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.checkpoints.huggingface_settings import CONFIG, GENERATION
from transformer.files.small_files import json_object
from transformer.interop.families import CODE_LAST, LANGUAGE, M2M100, Family
from transformer.text.added_tokens import ADDED, TOKENIZER, AddedToken, named_symbols, read_added
from transformer.text.affixes import SYMBOLS, Affixes
from transformer.text.byte_tokenizer import ByteTokenizer
from transformer.text.byte_vocabulary import MERGES
from transformer.text.languages import Languages, language
from transformer.text.pair_tokenizer import IDS, SOURCE, TARGET, TARGET_IDS, PairTokenizer, read_ids
from transformer.text.segmenters import ONE_FILE
from transformer.text.vocabulary import Vocabulary, target_codes

# Special symbols of a tokenizer, with their usual text.
SYMBOL_TEXTS = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}
# Decoding settings, for which generation_config.json has priority over config.json.
DECODING_SETTINGS = ("eos_token_id", "decoder_start_token_id", "bos_token_id")
# Maximum number of tokens or language codes listed in a message; a folder may have thousands.
MAX_LISTED = 5
# Older models may list their language tokens in this file.
SPECIAL_TOKENS_MAP = "special_tokens_map.json"


class _Settings:
    """Looks up symbol ids in a model folder's settings.

    Args:
        settings, generation: contents of config.json and generation_config.json.
        size: number of target tokens.
    """

    def __init__(self, settings: Mapping[str, Any], generation: Mapping[str, Any], size: int) -> None:
        self._places, self._size = ((GENERATION, generation), (CONFIG, settings)), size
        place = (GENERATION, generation) if generation else (CONFIG, settings)
        self.forced = self._ids("forced_bos_token_id", (place,))

    def ids(self, key: str) -> Sequence[int]:
        """Return the ids under a key.

        For DECODING_SETTINGS, generation_config.json has priority over config.json; for other keys, the reverse.
        """
        return self._ids(key, self._places if key in DECODING_SETTINGS else self._places[::-1])

    def _ids(self, key: str, places: Sequence[tuple[str, Mapping[str, Any]]]) -> Sequence[int]:
        for name, values in places:
            value = values.get(key)
            if value is None:
                continue
            numbers: list[Any] = value if isinstance(value, list) and value and key == "eos_token_id" else [value]
            for number in numbers:
                if type(number) is not int or not 0 <= number < self._size:
                    raise ValueError(
                        f"{key} in {name} must be a whole number from 0 to {self._size - 1:,}, not {number!r}"
                    )
            return numbers
        return []


def read_vocabulary(
    folder: HuggingFaceFolder,
    family: Family,
    settings: dict[str, Any],
    generation: dict[str, Any],
    rows: tuple[int, int],
    languages: tuple[str | None, str | None],
    notes: list[str],
) -> tuple[Vocabulary, tuple[str, ...], Languages | None]:
    """Read the vocabulary in a model folder.

    Args:
        folder: model folder.
        family: family of the model.
        settings, generation: contents of config.json and generation_config.json.
        rows: numbers of rows in the source and target embeddings.
        languages: codes of the source and target languages that apply to texts without a language code; None means the
            folder's language.
        notes: list to which the importer's decisions are appended, one sentence each.

    Returns:
        The vocabulary; additional symbols that end a translation in Hugging Face's `generate`; and the languages, or
        None if the vocabulary has no language tokens.

    Raises:
        CheckpointError: a file is missing or cannot be read.
        ValueError: a file is inconsistent with another file, or the languages are unknown.
    """
    tokenizing = folder.json(TOKENIZER) if folder.has(TOKENIZER) else {}
    files, source, target, special, byte_level = _files(folder, family, tokenizing, rows[0], notes)
    for name, ids, most in ((IDS, source, rows[0]), (TARGET_IDS, target, rows[1])):
        if len(ids) > most:
            shown = ONE_FILE if ONE_FILE in files else name
            raise ValueError(
                f"{shown} has {len(ids):,} tokens, but {CONFIG} says {most:,}; if tokens were added, resize the "
                "model's embeddings and save the model again"
            )
    texts, given = {**SYMBOL_TEXTS, **named_symbols(tokenizing)}, _Settings(settings, generation, len(target))

    def symbol(name: str) -> int:
        """Return a special symbol's id from the settings, or else the id of the symbol's text.

        If the settings do not state the id, the id must be the same in the source and target vocabularies.
        """
        text = texts[name]
        number = (given.ids(f"{name}_id") or [source.get(text)])[0]
        if number is None or (not given.ids(f"{name}_id") and target.get(text) != number):
            raise ValueError(f"{CONFIG} has no {name}_id, and the vocabularies have no common id for {text}")
        return number

    pad, ends = symbol("pad_token"), given.ids("eos_token_id")
    # The tokenizer ends a source text with this symbol.
    end = source.get(texts["eos_token"], symbol("eos_token"))
    if ends and end not in ends:
        raise ValueError(
            f"eos_token_id is {ends[0]}, but the tokenizer ends a text with {texts['eos_token']}, which has the "
            f"id {end}; both must be the same symbol"
        )
    start = (given.ids("decoder_start_token_id") or given.ids("bos_token_id") or [pad])[0]
    values: dict[str, Any] = {"pad": pad, "unknown": symbol("unk_token"), "end": end, "start": start}
    codes = (
        {text.strip("_"): source[text] for text in special if LANGUAGE.fullmatch(text) and text in source}
        if family.sentencepiece
        else {}
    )
    if byte_level:
        values |= {"byte_level": True, "before": (source[texts.get("bos_token", "<s>")],)}
    named = None
    if codes:
        more, named = _languages(codes, tokenizing, given.forced, start if start in codes.values() else None, languages)
        values |= more
    else:
        values["first"] = tuple(given.forced)
    affixes = Affixes(**values)
    others = tuple(f"eos_token_id {number}" for number in ends if number != end)
    vocabulary = ByteTokenizer if affixes.byte_level else PairTokenizer
    return vocabulary({**files, SYMBOLS: affixes.to_json()}), others, named


def _languages(
    codes: Mapping[str, int],
    tokenizing: Mapping[str, Any],
    forced: Sequence[int],
    start: int | None,
    wanted: tuple[str | None, str | None],
) -> tuple[dict[str, Any], Languages]:
    """Return the `Affixes` fields of a model with language tokens, and the model's two languages.

    Args:
        codes: language token ids, by language code.
        tokenizing: contents of tokenizer_config.json.
        forced: id of the forced first token; empty if there is none.
        start: id of the start symbol if it is a language token, otherwise None.
        wanted: codes of the source and target languages; None means the language that the model's files name.

    Raises:
        ValueError: a language is unknown, or does not match exactly one language token.
    """
    by_id = {number: code for code, number in codes.items()}
    written = by_id.get(start if start is not None else next(iter(forced), -1))
    found = []
    for side, code, said in (
        ("source", wanted[0], tokenizing.get("src_lang")),
        ("target", wanted[1], written or tokenizing.get("tgt_lang")),
    ):
        asked = code or said
        matching = [each for each in codes if each == asked] or [each for each in codes if each.split("_")[0] == asked]
        if len(matching) != 1:
            named = (
                f"it has no single token for its {side} language {asked!r}" if asked else f"it names no {side} language"
            )
            raise ValueError(
                f"{named}; add --{side} with one of its {len(codes)} codes, such as "
                f"{', '.join(list(codes)[:MAX_LISTED])}"
            )
        found += matching
    last = tokenizing.get("legacy_behaviour") is True or tokenizing.get("tokenizer_class") in CODE_LAST
    fields: dict[str, Any] = {"languages": dict(codes), "source": found[0], "code_last": last}
    # If the start symbol is a language token, the model writes only in that language.
    more = {"target": found[1]} if start is None else {"start": codes[found[1]]}
    return {**fields, **more}, Languages(language(found[0]), language(found[1]))


class _Files(NamedTuple):
    """A tokenizer's files, and the tokens that they contain.

    Attributes:
        files: contents of this project's vocabulary files, by file name.
        source, target: ids of the source tokens and of the target tokens, by text.
        special: texts of special tokens, some of which may be language tokens.
        byte_level: whether the tokenizer is byte-level.
    """

    files: dict[str, bytes]
    source: dict[str, int]
    target: dict[str, int]
    special: Sequence[str] = ()
    byte_level: bool = False


def _files(
    folder: HuggingFaceFolder, family: Family, tokenizing: Mapping[str, Any], rows: int, notes: list[str]
) -> _Files:
    if not family.sentencepiece:
        files = {name: folder.read(name) for name in (SOURCE, TARGET, IDS)}
        if tokenizing.get("separate_vocabs") is True:
            files[TARGET_IDS] = folder.read(TARGET_IDS)
        else:
            beside = {name: folder.read(name) for name in (TOKENIZER, ADDED) if folder.has(name)}
            files[IDS] = _with_added(files[IDS], read_added(beside), rows, notes)
        source = read_ids(files[IDS], IDS)
        return _Files(files, source, read_ids(files[TARGET_IDS], TARGET_IDS) if TARGET_IDS in files else source)
    if folder.has(family.sentencepiece) and (folder.has(IDS) or not folder.has(ONE_FILE)):
        model = folder.read(family.sentencepiece)
        special = _additional(folder, tokenizing)
        if folder.has(IDS):
            ids = read_ids(folder.read(IDS), IDS)
            known = M2M100.get(str(tokenizing.get("language_codes", "m2m100")), "")
            found = [text for text in special if LANGUAGE.fullmatch(text)]
            special = found or [f"__{code}__" for code in known.split()]
        else:
            ids = _ids_by_token(model, family)
            if not any(LANGUAGE.fullmatch(text) for text in special):
                room = rows - len(ids)
                known = map(str.split, family.languages)
                special = [*next((texts for texts in known if len(texts) <= room), ()), *special]
        ids |= {text: len(ids) + place for place, text in enumerate(text for text in special if text not in ids)}
        content = json.dumps(ids, ensure_ascii=False).encode("utf-8")
        return _Files({SOURCE: model, TARGET: model, IDS: content}, ids, ids, special)
    if folder.has(ONE_FILE):
        content = folder.read(ONE_FILE)
        document = json_object(content, ONE_FILE)
        ids, added = _one_file(document)
        cutting = document.get("pre_tokenizer")
        byte_level = isinstance(cutting, dict) and cutting.get("type") == "ByteLevel"
        return _Files({ONE_FILE: content}, ids, ids, added, byte_level)
    names = (IDS, MERGES, *(name for name in (TOKENIZER, ADDED) if folder.has(name)))
    files = {name: folder.read(name) for name in names}
    ids = read_ids(files[IDS], IDS) | {token.content: number for number, token in read_added(files).items()}
    return _Files(files, ids, ids, byte_level=True)


def _one_file(document: Mapping[str, Any]) -> tuple[dict[str, int], list[str]]:
    """Return the ids of all tokens in a tokenizer.json, and the texts of the added tokens."""
    try:
        vocabulary = document["model"]["vocab"]
        if isinstance(vocabulary, list):
            vocabulary = {text: number for number, (text, _) in enumerate(vocabulary)}
        added = {token["content"]: token["id"] for token in document["added_tokens"]}
        return {**vocabulary, **added}, list(added)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{ONE_FILE} has no list of tokens") from error


def _additional(folder: HuggingFaceFolder, tokenizing: Mapping[str, Any]) -> list[str]:
    """Return the texts of additional special tokens, in id order."""
    more = folder.json(SPECIAL_TOKENS_MAP) if folder.has(SPECIAL_TOKENS_MAP) else {}
    names = ("additional_special_tokens", "extra_special_tokens")
    found = [each for values in (tokenizing, more) for name in names for each in values.get(name) or ()]
    texts = [each.get("content") if isinstance(each, dict) else each for each in found]
    return list(dict.fromkeys(text for text in texts if isinstance(text, str) and text))


def _ids_by_token(model: bytes, family: Family) -> dict[str, int]:
    """Assign ids to all tokens: first the family's special tokens, then the other tokens of the SentencePiece model."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    tokens = [processor.id_to_piece(number) for number in range(family.replaced, processor.get_piece_size())]
    return {text: number for number, text in enumerate(dict.fromkeys((*family.before, *tokens)))}


def _with_added(content: bytes, added: dict[int, AddedToken], rows: int, notes: list[str]) -> bytes:
    """Return vocab.json, extended by those tokens from other files that have a row in the model's embeddings."""
    ids = read_ids(content, IDS)
    more = {token.content: number for number, token in sorted(added.items()) if len(ids) <= number < rows}
    if not more:
        return content
    if typed := [text for text in more if not target_codes([text]) and not added[more[text]].special]:
        named = ", ".join(map(repr, typed[:MAX_LISTED])) + (", …" if len(typed) > MAX_LISTED else "")
        notes.append(f"The model has added tokens that typed text never produces: {named}.")
    return json.dumps({**ids, **more}, ensure_ascii=False).encode("utf-8")
