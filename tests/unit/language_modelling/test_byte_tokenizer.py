import json
import random
import unicodedata

import pytest

from transformer.text.byte_tokenizer import ByteTokenizer

# Hard cases for token boundaries: contractions, various spaces, combining and joined characters, numeric characters
# other than digits, control characters, and multi-byte characters.
PARTS = [
    "The",
    "cat",
    " sat",
    "it's",
    "they'LL",
    "'",
    "''re",
    " 's",
    "'ve",
    "don't",
    " ",
    "  ",
    "   ",
    "\n",
    "\r\n",
    "\t",
    " \n ",
    "\x00",
    "\x1c",
    "\x1f",
    "\x85",
    "\xa0",
    "\u2003",
    "\u3000",
    "\u200b",
    "\u2028",
    "é",
    "e\u0301",
    "Größe",
    "ß",
    "İ",
    "ﬁ",
    "Ⅷ",
    "½",
    "²",
    "٣",
    "一二",
    "日本語",
    "العربية",
    "हिन्दी",
    "한국어",
    "👩‍👩‍👧",
    "🙂",
    "🇩🇪",
    "\U0001d400",
    "\ufeff",
    "\ufffd",
    "\ufdd0",
    "007",
    "3.14",
    "1,000",
    "...",
    "?!",
    "--",
    "—",
    "„“",
    "<",
    "|",
    "endoftext",
    "_",
    "__a",
    "a_b",
    "#",
    "\\",
    "$",
    "€",
    "Ġ",
    "Ċ",
    "ª",
]


def untrusted():
    """Yield 1,000 random texts, composed of PARTS and of assigned Unicode characters."""
    draw = random.Random(7)
    assigned = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
    for number in range(1000):
        parts = [draw.choice(PARTS if draw.random() < 0.7 else assigned) for _ in range(draw.randrange(1, 25))]
        yield ("" if number % 3 else " ").join(parts)


@pytest.fixture(scope="module")
def theirs(gpt2_folder):
    from transformers import GPT2Tokenizer

    return GPT2Tokenizer.from_pretrained(gpt2_folder)


def test_tokens_of_random_texts_match_hugging_face(theirs, tokenizer):
    for text in untrusted():
        ids = [token.id for token in tokenizer.encode(text)]
        assert ids == theirs(text)["input_ids"], text
        assert tokenizer.decode(ids) == text


def test_spans_cover_the_text_except_for_spaces(tokenizer):
    for text in untrusted():
        tokens = tokenizer.encode(text)
        starts = [token.span[0] for token in tokens]
        assert starts == sorted(starts)
        covered = {at for token in tokens for at in range(*token.span)}
        assert {at for at, character in enumerate(text) if at not in covered} <= {
            at for at, character in enumerate(text) if character == " "
        }
        assert [(token.id, token.span) for token in tokenizer.tokens([token.id for token in tokens])] == [
            (token.id, token.span) for token in tokens
        ]


def test_every_byte_token_has_a_span(tokenizer):
    """Without merges, every byte is a token. Bytes of one character share its span, and a space has an empty span."""
    tokens = ByteTokenizer({**tokenizer.files, "merges.txt": b""}).encode("A é🙂")
    assert [token.span for token in tokens] == [(0, 1), (2, 2), *[(2, 3)] * 2, *[(3, 4)] * 4]
    assert [token.text for token in tokens[:4]] == ["A", "▁", "<0xC3>", "<0xA9>"]


def test_token_text_shows_characters_or_bytes(tokenizer):
    """GPT-2's files write every byte as a visible character: " the" as "Ġthe", and a line break as "Ċ"."""
    texts = [token.text for token in tokenizer.encode("Größe the\n\t\x00▁ 🙂é")]
    assert texts == [
        "Gr",
        "öße",
        "▁the",
        "<0x0A>",
        "<0x09>",
        "<0x00>",
        "<0xE2>",
        "<0x96>",
        "<0x81>",
        "▁🙂",
        "<0xC3>",
        "<0xA9>",
    ]
    assert {"<0xF0><0x9F>", "<0xB6>ße"} <= set(tokenizer.texts)


def test_tokens_of_invalid_utf8_have_spans(tokenizer):
    ids = ids_of(tokenizer.files)
    some = [tokenizer.symbols.end, *(ids[spelt] for spelt in "ÃðŁAâĳÿ")]
    draw = random.Random(2)
    for _ in range(300):
        ids = [draw.choice(some) for _ in range(9)]
        text, tokens = tokenizer.decode(ids), tokenizer.tokens(ids)
        assert text == tokenizer._bytes(ids).decode("utf-8", errors="replace")
        covered = {at for token in tokens if token.span for at in range(*token.span)}
        assert covered == set(range(len(text)))
        assert [token.role for token in tokens] == ["end" if number == 0 else "" for number in ids]


def test_typed_text_never_becomes_a_special_token(tokenizer):
    tokens = tokenizer.encode("<|endoftext|>")
    assert tokenizer.symbols.end not in [token.id for token in tokens]
    assert tokenizer.decode([token.id for token in tokens]) == "<|endoftext|>"


def test_added_token_is_recognised_in_a_text_unless_it_is_a_special_token(tokenizer):
    added = {"added_tokens.json": json.dumps({"<end>": tokenizer.size, "<plain>": tokenizer.size + 1}).encode()}
    made = ByteTokenizer({**tokenizer.files, **added}, end=["<end>"])
    assert made.texts[made.symbols.end] == "<end>" and made.texts[made.symbols.start] == "<|endoftext|>"
    ids = [token.id for token in made.encode("the<end> <plain>cat", end=True)]
    assert ids.count(made.symbols.end) == 1 == ids.count(tokenizer.size + 1) and ids[-1] == made.symbols.end
    assert made.decode(ids) == "the<end> <plain>cat"
    assert [token.role for token in made.tokens([made.symbols.start, made.symbols.end])] == ["start", "end"]


def test_lone_surrogate_in_a_text_becomes_the_replacement_character(tokenizer):
    tokens = tokenizer.encode("a\ud83db")
    assert tokenizer.decode([token.id for token in tokens]) == "a\ufffdb"
    assert tokens[-1].span == (2, 3)


def test_byte_without_a_token_is_omitted():
    ids = {token: number for number, token in enumerate(["t", "h", "e", "he", "Ġ", "Ã", "©", "<|endoftext|>"])}
    tokenizer = ByteTokenizer({"vocab.json": written(ids), "merges.txt": b"h e\n"})
    assert [(token.text, token.span) for token in tokenizer.encode("xthe éq")] == [
        ("t", (1, 2)),
        ("he", (2, 4)),
        ("▁", (5, 5)),
        ("<0xC3>", (5, 6)),
        ("<0xA9>", (5, 6)),
    ]
    # As in `transformers`, the neighbours of an omitted byte are merged.
    assert [(token.text, token.span) for token in tokenizer.encode("the hxe")][3:] == [("he", (4, 7))]


def test_very_long_word_is_encoded_completely(tokenizer):
    text = "the" * 5000
    assert tokenizer.decode([token.id for token in tokenizer.encode(text)]) == text


def ids_of(files):
    return json.loads(files["vocab.json"])


def written(ids):
    return json.dumps(ids).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files: files.pop("merges.txt"), "merges.txt is missing"),
        (lambda files: files.update({"vocab.json": b"{"}), "vocab.json is not a JSON"),
        (lambda files: files.update({"vocab.json": b"[]"}), "vocab.json is not a JSON object"),
        (lambda files: files.update({"vocab.json": written(ids_of(files) | {"cat": 9000})}), "must give its"),
        (
            lambda files: files.update(
                {
                    "vocab.json": written(
                        {{"<|endoftext|>": "<end>"}.get(text, text): number for text, number in ids_of(files).items()}
                    )
                }
            ),
            r"vocab.json has no <\|endoftext\|>",
        ),
        (
            lambda files: files.update({"vocab.json": written(ids_of(files) | {"a b": len(ids_of(files))})}),
            "is not a byte-level spelling",
        ),
        (lambda files: files.update({"merges.txt": b"\xff\xfe"}), "merges.txt is damaged, or is not UTF-8 text"),
        (
            lambda files: files.update({"merges.txt": b"#version: 0.2\na b c\n"}),
            "line 2 of merges.txt does not consist of two tokens",
        ),
        (lambda files: files.update({"merges.txt": b"q qqq\n"}), "line 1 of merges.txt needs the token 'qqq'"),
    ],
)
def test_invalid_tokenizer_file_is_named_in_the_error(tokenizer, change, message):
    files = dict(tokenizer.files)
    change(files)
    with pytest.raises(ValueError, match=message):
        ByteTokenizer(files)
