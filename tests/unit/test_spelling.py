"""Tests that decoding writes tokens for parts of a character only if together they form a whole character."""

import json
import random

import pytest
import torch

from transformer.decoding.constraints import Constraints
from transformer.text.affixes import Affixes
from transformer.text.byte_tokenizer import END_OF_TEXT, SPELLING, ByteTokenizer
from transformer.text.pair_tokenizer import PairTokenizer
from transformer.text.spelling import WHOLE, Spelling

BYTES = Spelling({byte: bytes([byte]) for byte in range(0x80, 0x100)})
CHARACTERS = list(
    map(
        chr,
        [
            *range(0x80, 0x800),
            0x800,
            0xFFF,
            0x1000,
            0xD7FF,
            0xE000,
            *range(0xFF00, 0xFFFD),
            0x10000,
            0x1F44B,
            0xFFFFF,
            0x100000,
            0x10FFFF,
        ],
    )
)
BROKEN = [
    b"\x80",
    b"\xc0\x80",
    b"\xc1\xbf",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xf0\x80\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80",
    b"\xff",
    b"\xc3\xc3",
    "\ufffd".encode(),
    "\uffff".encode(),
]


def possible(spelt):
    """Return whether the bytes may be written in this order and the last byte completes a character."""
    state = WHOLE
    for at, byte in enumerate(spelt):
        if byte not in BYTES.following(state, BYTES.fewest_tokens(), len(spelt) - at):
            return False
        state = BYTES.after(state, byte)
    return state == WHOLE


def test_every_character_can_be_written():
    assert [character for character in CHARACTERS if not possible(character.encode())] == []


def test_incomplete_characters_cannot_be_written():
    assert [spelt for spelt in BROKEN if possible(spelt)] == []
    assert [character for character in CHARACTERS if possible(character.encode()[:-1])] == []


def byte_level():
    """Return a tokenizer like GPT-2's, with tokens that start or end within a character."""
    merged = ["Ġð", "ŁĺĬ", "ĺĬ", "ŁĻĤð", "Ã¼", "¼Ã"]
    tokens = [*SPELLING.values(), *merged, END_OF_TEXT]
    return ByteTokenizer(
        {"vocab.json": json.dumps({token: number for number, token in enumerate(tokens)}).encode(), "merges.txt": b""}
    )


def pair(tokenizer):
    """Return a Marian tokenizer with the vocabulary of the given tokenizer."""
    ids = {token: number for number, token in enumerate(tokenizer.texts)}
    symbols = Affixes(pad=0, unknown=1, start=0, end=3).to_json()
    return PairTokenizer(
        {
            "source.spm": tokenizer.serialized,
            "target.spm": tokenizer.serialized,
            "symbols.json": symbols,
            "vocab.json": json.dumps(ids, ensure_ascii=False).encode(),
        }
    )


@pytest.fixture(params=["ours", "pair", "byte level"])
def vocabulary(request, tokenizer):
    return {"ours": lambda: tokenizer, "pair": lambda: pair(tokenizer), "byte level": byte_level}[request.param]()


def drawn(vocabulary, constraints, limits, draw):
    """Return rows of random tokens, one row per limit. An odd seed prefers tokens with an incomplete character."""
    symbols, parts = vocabulary.symbols, torch.tensor(sorted(vocabulary.spelling.parts))
    applied = constraints.applied(vocabulary.size, limits, symbols)
    rows, written = list(range(len(limits))), [[] for _ in limits]
    for step in range(max(limits)):
        scores = torch.rand(len(rows), vocabulary.size, generator=draw)
        scores[:, parts] += draw.initial_seed() % 2
        tokens = applied.choose_(scores, step, lambda scores: scores.argmax(-1).tolist(), tokens=list)
        for row, token in zip(rows, tokens, strict=True):
            written[row].append(token)
        live = [at for at, row in enumerate(rows) if len(written[row]) < limits[row] and tokens[at] != symbols.end]
        if not live:
            return written
        applied.follow(live, [tokens[at] for at in live])
        rows = [rows[at] for at in live]
    return written


def test_random_output_contains_only_whole_characters(vocabulary):
    constraints = Constraints(spelling=vocabulary.spelling)
    beyond_ascii = 0
    for seed in range(60):
        for ids in drawn(vocabulary, constraints, [1, 2, 3, 4, 5, 7, 12, 30], torch.Generator().manual_seed(seed)):
            text = vocabulary.decode(ids)
            assert "\ufffd" not in text, ids
            beyond_ascii += not text.isascii()
    assert beyond_ascii > 100


def test_character_that_cannot_be_completed_is_never_begun(vocabulary):
    """Most parts of characters are suppressed, so that many characters cannot be completed."""
    spelling, dice = vocabulary.spelling, random.Random(3)
    third = {token for token in sorted(spelling.parts) if dice.random() < 0.8}
    third |= set(spelling.following(b"\xe1", spelling.fewest_tokens(), 9))
    constraints = Constraints(suppressed=third, spelling=spelling)
    for seed in range(30):
        for ids in drawn(vocabulary, constraints, [3, 9, 20], torch.Generator().manual_seed(seed)):
            assert "\ufffd" not in vocabulary.decode(ids) and not third & set(ids)


def test_prefix_that_ends_within_a_character_is_completed(vocabulary):
    first = next(token for token in vocabulary.spelling.parts if vocabulary.texts[token] in ("<0xF0>", "ð"))
    constraints = Constraints(prefix=(first,), spelling=vocabulary.spelling)
    for seed in range(20):
        (ids,) = drawn(vocabulary, constraints, [9], torch.Generator().manual_seed(seed))
        assert ids[0] == first and "\ufffd" not in vocabulary.decode(ids)


def test_forced_prefix_that_ends_in_a_broken_character_does_not_prevent_output(vocabulary):
    prefix = tuple(token for token in vocabulary.spelling.parts if vocabulary.texts[token] in ("<0xF0>", "ð"))
    for limit in (1, 2, 3, 6):
        (ids,) = drawn(
            vocabulary, Constraints(prefix * 2, spelling=vocabulary.spelling), [limit], torch.Generator().manual_seed(1)
        )
        assert 1 <= len(ids) <= limit


def test_output_may_end_within_a_character_if_whole_characters_are_impossible(vocabulary):
    spelling = vocabulary.spelling
    constraints = Constraints(suppressed=set(range(vocabulary.size)) - spelling.parts, spelling=spelling)
    for ids in drawn(vocabulary, constraints, [1, 5], torch.Generator().manual_seed(1)):
        assert ids


def test_vocabulary_of_whole_characters_is_not_constrained():
    assert not Spelling({})
