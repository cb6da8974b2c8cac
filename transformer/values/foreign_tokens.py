"""Converts tokens from other tokenizers to `Token` objects, each with its character span in the text."""

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import get_args

from transformer.errors import AttentionError
from transformer.values.tokens import Role, Token

Offsets = Sequence[Sequence[int] | None]


def _spelling() -> dict[int, str]:
    """Return the character that byte-level BPE vocabularies use for each byte.

    Bytes that are printable in Latin-1 keep their Latin-1 character. All other bytes have characters from U+0100 on,
    so that tokens contain no white space.
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(0x100 + at) for at, byte in enumerate(hidden)}


SPELLING = _spelling()
BYTES = {character: byte for byte, character in SPELLING.items()}
# Roles of special tokens, by their spelling in the vocabularies of published models.
ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("[CLS]", "[BOS]", "<s>", "<bos>", "<|begin_of_text|>", "<|startoftranscript|>"), "start"),
    **dict.fromkeys(
        (
            "[SEP]",
            "[EOS]",
            "</s>",
            "<eos>",
            "<|endoftext|>",
            "<|end_of_text|>",
            "<|eot_id|>",
            "<|im_end|>",
            "<end_of_turn>",
        ),
        "end",
    ),
    **dict.fromkeys(("[PAD]", "<pad>"), "padding"),
    **dict.fromkeys(("[UNK]", "<unk>"), "unknown"),
}
LANGUAGE = re.compile(r"[a-z]{2,3}_[A-Z][A-Za-z]{1,3}|__[a-z]{2,3}__|>>.+<<")
SYMBOL = re.compile(r"<\|.*\|>|<start_of_turn>", re.DOTALL)
BYTE = re.compile("<0x([0-9A-F]{2})>")
# Byte-level BPE spells a space as Ġ and a newline as Ċ. Nearly every text has a token that begins with Ġ or Ċ.
BYTE_LEVEL = re.compile("^[ĠĊ]")


def tokens_of(
    tokens: Sequence[str | Token],
    *,
    text: str | None = None,
    offsets: Offsets | None = None,
    roles: Sequence[str] | None = None,
    ids: Sequence[int] | None = None,
    first: Role = "",
) -> tuple[str, tuple[Token, ...]]:
    """Convert tokens from another tokenizer to `Token` objects; return the text and the objects.

    Args:
        tokens: tokens as spelled in their vocabulary ("▁Hund", "ĠHund", "##e", "Hund</w>", " Hund"), or `Token`
            objects. If no token marks a word boundary in one of these ways, each token counts as a word.
        text: text that the offsets or the spans of `Token` objects refer to. If the text or the offsets are None, the
            text is built from the tokens.
        offsets: character span [start, end) of each token in the text, like `offset_mapping` from Hugging Face; an
            empty span for a special token.
        roles: role of each token, "" for ordinary text; None derives the roles from the spelling.
        ids: vocabulary id of each token; None sets all ids to -1 (unknown).
        first: role of the first token if that token is special. Its spelling is not enough, because a decoder's start
            symbol may be spelled like a padding or end symbol.

    Raises:
        AttentionError: a token is not a string, or the number of offsets, roles or ids is not the number of tokens.
    """
    given = [token if isinstance(token, Token) else None for token in tokens]
    if tokens and all(given):
        return text or "", _begun([each for each in given if each], first)
    spelt = [token.text if isinstance(token, Token) else token for token in tokens]
    if not all(isinstance(token, str) for token in spelt):
        raise AttentionError("The tokens are not strings: pass tokenizer.convert_ids_to_tokens(ids).")
    found = [_role(token) for token in spelt] if roles is None else list(roles)
    for name, listed in (("offsets", offsets), ("roles", found), ("ids", ids)):
        if listed is not None and len(listed) != len(spelt):
            raise AttentionError(f"There are {len(spelt)} tokens but {len(listed)} {name}: pass one for each token.")
    ordinary = [token for token, role in zip(spelt, found, strict=True) if not role]
    byte_level = any(map(BYTE_LEVEL.match, ordinary))
    spans: list[tuple[int, int] | None]
    if offsets is not None and text is not None:
        spans = [tuple(map(int, span)) if span is not None and span[0] < span[1] else None for span in offsets]  # type: ignore
    else:
        text, spans = _spans(spelt, found, ordinary, byte_level)
    located = []
    for at, (token, role, span) in enumerate(zip(spelt, found, spans, strict=True)):
        special = role not in ("", "unknown")
        inked = None if special or span is None else _inked(text, *span)
        shown = _readable(token) if byte_level and not special else token
        assert role in get_args(Role)
        located.append(Token(-1 if ids is None else int(ids[at]), shown, inked, role))  # type: ignore[arg-type]
    return text, _begun(located, first)


def frames(count: int, seconds: float) -> tuple[Token, ...]:
    """Return tokens for consecutive audio frames; each token's text is its frame's start time in seconds.

    Args:
        count: number of frames.
        seconds: duration of each frame.
    """
    digits = 2 if seconds >= 0.01 else 3
    return tuple(Token(-1, f"{number * seconds:.{digits}f}", None, "frame") for number in range(count))


def _begun(tokens: Sequence[Token], first: Role) -> tuple[Token, ...]:
    if first and tokens and tokens[0].role in ("end", "padding", "symbol"):
        tokens = [Token(tokens[0].id, tokens[0].text, None, first), *tokens[1:]]
    return tuple(tokens)


def _role(token: str) -> Role:
    if token in ROLES:
        return ROLES[token]
    return "language" if LANGUAGE.fullmatch(token) else "symbol" if SYMBOL.fullmatch(token) else ""


def _spans(
    tokens: Sequence[str], roles: Sequence[str], ordinary: Sequence[str], byte_level: bool
) -> tuple[str, list[tuple[int, int] | None]]:
    """Return the tokens' joined text, and each token's character span, None for special tokens.

    If several tokens together encode one character, all have that character's span.
    """
    spoken = _spoken(ordinary, byte_level)
    decoder, text, spans = codecs.getincrementaldecoder("utf-8")("replace"), "", []
    for token, role in zip(tokens, roles, strict=True):
        if role not in ("", "unknown"):
            spans.append(None)
            continue
        start, content = len(text), spoken(token)
        text += decoder.decode(content.lstrip() if not text else content)
        spans.append((start, len(text) + bool(decoder.getstate()[0])))
    text += decoder.decode(b"", final=True)
    return text, spans


def _spoken(ordinary: Sequence[str], byte_level: bool):
    """Return a function that converts a token to UTF-8 bytes, including the white space that the token stands for.

    Marks such as ▁ in the ordinary tokens reveal how the vocabulary spells white space.
    """
    if byte_level:
        return lambda token: bytes(BYTES[each] for each in token if each in BYTES)
    if any("▁" in token for token in ordinary) or any(map(BYTE.fullmatch, ordinary)):
        return lambda token: (
            bytes([int(byte[1], 16)]) if (byte := BYTE.fullmatch(token)) else token.replace("▁", " ").encode()
        )
    if any(token.endswith("</w>") for token in ordinary):
        return lambda token: token.replace("</w>", " ").encode()
    if any(token[:1].isspace() for token in ordinary):
        return lambda token: token.encode("utf-8", "replace")
    return lambda token: (token[2:] if token.startswith("##") else f" {token}").encode("utf-8", "replace")


def _readable(token: str) -> str:
    """Convert a byte-level BPE token to the spelling used in `Token.text`."""
    content = bytes(BYTES[each] for each in token if each in BYTES).decode("utf-8", errors="surrogateescape")
    return "".join(
        "▁"
        if each == " "
        else each
        if each.isprintable() and each != "▁"
        else "".join(f"<0x{byte:02X}>" for byte in each.encode("utf-8", errors="surrogateescape"))
        for each in content
    )


def _inked(text: str, start: int, end: int) -> tuple[int, int]:
    """Trim leading and trailing white space from a span [start, end); return [end, end) for a blank span."""
    covered = text[start:end]
    start += len(covered) - len(covered.lstrip())
    return (start, start + len(covered.strip())) if covered.strip() else (end, end)
