import json
import math
import random

import pytest

from tests.conftest import SENTENCES
from tests.foreign_models import numbered, sentencepiece_model, tokens_of
from tests.unit.interop.conftest import TEXTS, write_vocabulary
from transformer.text.affixes import Affixes
from transformer.text.pair_tokenizer import PairTokenizer


def joint(sides):
    return sides, {"vocab.json": numbered(tokens_of(*sides))}


def separate(sides):
    source, target = tokens_of(sides[0]), tokens_of(sides[1])
    total = max(len(source), len(target)) + 3
    return sides, {"vocab.json": numbered(source, total), "target_vocab.json": numbered(target, total)}


def incomplete(sides):
    """Leave a fifth of the tokens without an id, as in some published models."""
    return sides, {"vocab.json": numbered([text for at, text in enumerate(tokens_of(*sides)) if at % 5])}


def with_codes(sides):
    return sides, {"vocab.json": numbered([">>deu<<", ">>fra<<", *tokens_of(*sides)])}


def with_bytes(sides):
    models = tuple(sentencepiece_model(SENTENCES[side::2], byte_fallback=True) for side in (0, 1))
    return models, {"vocab.json": numbered(tokens_of(*models))}


KINDS = (joint, separate, incomplete, with_codes, with_bytes)


def tokenizer_of(models, files):
    ids = files["vocab.json"]
    symbols = Affixes(pad=ids["<pad>"], unknown=ids["<unk>"], start=ids["<pad>"], end=ids["</s>"])
    documents = {name: json.dumps(content, ensure_ascii=False).encode() for name, content in files.items()}
    return PairTokenizer(
        {"source.spm": models[0], "target.spm": models[1], "symbols.json": symbols.to_json(), **documents}
    )


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def pair(request, sides, tmp_path_factory, marian_tokenizer):
    """Return our tokenizer and the Hugging Face tokenizer."""
    models, files = request.param(sides)
    folder = tmp_path_factory.mktemp("pair")
    write_vocabulary(folder, models, files)
    return tokenizer_of(models, files), marian_tokenizer(folder)


def test_tokens_match_hugging_face(pair, texts):
    """Language codes outside the vocabulary are not compared, because our tokenizer reads them as plain text."""
    ours, theirs = pair
    assert len(texts) == TEXTS
    prefixed = [code + text for code in ours.codes for text in texts[40:60]]
    for text in [*texts, *prefixed]:
        source = [token.id for token in ours.encode_source(text)]
        assert source == theirs(text, split_special_tokens=True)["input_ids"], text
        target = [token.id for token in ours.encode(text)]
        assert target == theirs(text_target=text, split_special_tokens=True)["input_ids"], text
        assert target == ours.encode_ids(text)


def test_token_spans_cover_all_visible_characters(pair, texts):
    tokenizer, _ = pair
    for text in texts:
        for side in (tokenizer.encode_source, tokenizer.encode):
            spans = [token.span for token in side(text) if token.span is not None]
            assert all(0 <= start <= end <= len(text) for start, end in spans), text
            assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in zip(spans, spans[1:], strict=False)), text
            covered = {at for start, end in spans for at in range(start, end)}
            lost = {character for at, character in enumerate(text) if at not in covered}
            assert all(
                not character.isprintable() or character.isspace() or character in "\ufeff\u200b\u2060\ufffd▁"
                for character in lost
            ), (text, lost)


def test_token_text_matches_its_span_in_the_text(sides):
    tokenizer = tokenizer_of(*joint(sides))
    text = "  The  ﬁne old man 🙂"
    for token in tokenizer.encode_source(text)[:-1]:
        covered, spelt = text[slice(*token.span)], token.text.strip("▁")
        assert token.role == "unknown" or covered == spelt or (covered == "ﬁ" and spelt in ("f", "i", "fi")), token


def test_decoded_text_matches_hugging_face(pair):
    ours, theirs = pair
    rng = random.Random(2)
    broken = any(text.startswith("<0x") for text in ours.texts)
    for _ in range(300):
        ids = [rng.randrange(2, ours.size - 1) for _ in range(rng.randrange(1, 12))]
        if broken:
            ids = [token for token in ids if not ours.texts[token].startswith("<0x")]
        ids = [token for token in ids if not ours.texts[token].startswith(">>")]
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_tokens_made_from_ids_have_spans_in_the_decoded_text(pair, texts):
    tokenizer, _ = pair
    for text in texts[::10]:
        ids = tokenizer.encode_ids(text)
        decoded, tokens = tokenizer.decode(ids), tokenizer.tokens(ids)
        assert [token.id for token in tokens] == ids and tokens[-1].role == "end" and tokens[-1].span is None
        spelt = [
            decoded[slice(*token.span)]
            for token in tokens
            if token.span and not token.role and not token.text.startswith("<0x")
        ]
        texts_of = [
            token.text.replace("▁", " ").strip(" ")
            for token in tokens
            if token.span and not token.role and not token.text.startswith("<0x")
        ]
        assert spelt == texts_of, text


def test_byte_tokens_of_a_character_share_its_span(sides):
    tokenizer = tokenizer_of(*with_bytes(sides))
    source = [token for token in tokenizer.encode_source("a 🙂.") if token.text.startswith("<0x")]
    assert [token.span for token in source] == [(2, 3)] * 4
    ids = [token.id for token in source]
    assert tokenizer.decode(ids) == "🙂" and [token.span for token in tokenizer.tokens(ids)] == [(0, 1)] * 4
    assert tokenizer.decode([*ids[:2], *ids]) == "\ufffd🙂"


def test_unknown_token_has_a_role_and_a_span(sides):
    tokenizer = tokenizer_of(*joint(sides))
    unknown = next(token for token in tokenizer.encode_source("the 🙂") if token.role)
    assert (unknown.role, unknown.text, unknown.span, unknown.special) == ("unknown", "<unk>", (4, 5), False)


def test_typed_special_symbols_are_read_as_text(sides):
    tokenizer = tokenizer_of(*joint(sides))
    for text in ("</s>", "<pad>", "dog</s>cat", "<unk>"):
        tokens = tokenizer.encode_source(text)
        assert tokens[-1].role == "end" and not any(token.special for token in tokens[:-1])


def test_language_code_is_a_single_token(sides):
    tokenizer = tokenizer_of(*with_codes(sides))
    assert tokenizer.codes == (">>deu<<", ">>fra<<")
    code, first, *_ = tokenizer.encode_source(">>fra<< The dog.")
    assert (code.role, code.text, code.special) == ("language", ">>fra<<", True)
    assert first.span[0] == 8
    assert "language" not in {token.role for token in tokenizer.encode_source(">>spa<< The dog.")}, "which it has not"


def test_lone_surrogate_causes_no_error(sides):
    assert tokenizer_of(*joint(sides)).encode_source("a\ud83db")[-1].role == "end"


def test_source_and_target_token_scores_come_from_separate_sentencepiece_models(sides):
    tokenizer = tokenizer_of(*joint(sides))
    source, target = tokenizer.key_scores("encoder"), tokenizer.key_scores("decoder")
    assert source == tokenizer.key_scores("cross") and len(source) == len(target) == tokenizer.size
    ids = {text: number for number, text in enumerate(tokenizer.texts)}
    assert source[ids["</s>"]] == 0.0
    foreign = next(text for text in tokens_of(sides[1]) if text not in tokens_of(sides[0]))
    assert source[ids[foreign]] == -math.inf < target[ids[foreign]]


def test_tokenizers_from_different_files_have_different_fingerprints(sides):
    models, files = joint(sides)
    one, two = tokenizer_of(models, files), tokenizer_of(models[::-1], files)
    assert one.fingerprint != two.fingerprint and one.fingerprint == tokenizer_of(models, files).fingerprint


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("source.spm", b"\0" * 100, "source.spm is damaged"),
        ("target.spm", b"", "target.spm is damaged"),
        ("vocab.json", b'{"a": 0, "b": 2}', "must give its 2 tokens the ids 0 to 1"),
        ("vocab.json", b'{"a": -1, "b": 0}', "must give its 2 tokens"),
        ("vocab.json", b'{"a": 0, "b": 0}', "must give its 2 tokens"),
        ("vocab.json", b'{"a": "0"}', "with an id for every token"),
        ("vocab.json", b"[" * 100_000, "not a JSON file"),
        ("vocab.json", b"{", "not a JSON file"),
        ("symbols.json", b'{"pad": 0}', "must have pad, unknown, start and end"),
        ("symbols.json", b'{"pad": 0, "unknown": 1, "start": 2, "end": 100000}', "names token 100000"),
    ],
)
def test_damaged_tokenizer_file_is_named_in_the_error(sides, name, content, message):
    tokenizer = tokenizer_of(*joint(sides))
    with pytest.raises(ValueError, match=message):
        PairTokenizer({**tokenizer.files, name: content})
