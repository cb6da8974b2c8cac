import math
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer.text.tokenizer import END, PAD, START, UNKNOWN, Tokenizer, train_tokenizer, units


def test_padding_unknown_start_and_end_tokens_have_fixed_ids(tokenizer):
    assert [tokenizer.texts[token] for token in (PAD, UNKNOWN, START, END)] == ["<pad>", "<unk>", "<s>", "</s>"]


def test_scores_are_lower_for_rarer_tokens(tokenizer):
    scores = dict(zip(tokenizer.texts, tokenizer.scores, strict=True))
    assert scores["~"] < scores["."] < 0.0
    assert scores["<0xF0>"] == -math.inf and scores["</s>"] == 0.0


def test_every_token_is_located_in_the_typed_text(tokenizer):
    typed = "The  “old” man…"
    tokens = tokenizer.encode(typed)
    covered = [typed[slice(*token.span)] for token in tokens if token.span]
    assert tokens[-1].id == END and tokens[-1].special and tokens[-1].span is None
    assert covered[0] == "The"[: len(covered[0])]
    distinct = sorted({token.span for token in tokens if token.span and token.span[0] < token.span[1]})
    assert "".join(typed[start:end] for start, end in distinct) == "The“old”man…"


def test_byte_tokens_of_a_character_share_its_span(tokenizer):
    tokens = tokenizer.encode("a 🙂", end=False)
    spans = [token.span for token in tokens if token.text.startswith("<0x")]
    assert spans == [(2, 3)] * 4


def test_typographic_and_typed_apostrophes_give_the_same_tokens(tokenizer):
    assert tokenizer.encode_ids("I don’t “know”") == tokenizer.encode_ids('I don\'t "know"')


def test_decoded_tokens_are_located_in_the_decoded_text(tokenizer):
    ids = tokenizer.encode_ids("Ich habe 🙂 einen Traum.")
    text = tokenizer.decode(ids)
    tokens = tokenizer.tokens([START, *ids])
    assert tokens[0].special and tokens[0].span is None
    words = "".join(dict.fromkeys(text[slice(*token.span)] for token in tokens if token.span and token.text != "▁"))
    assert text == "Ich habe 🙂 einen Traum."
    assert words.startswith("Ich"[: len(words)]) and "🙂" in words


def test_tokens_after_broken_bytes_are_located(tokenizer):
    mark, first, second = map(tokenizer.texts.index, ("▁", "<0xF0>", "<0x9F>"))
    rest = tokenizer.encode_ids("Hund 🙂 Hund", end=False)
    for broken, spelt in (
        ([mark], " "),
        ([mark, mark], "  "),
        ([first], "\ufffd "),
        ([mark, first, second], "\ufffd\ufffd "),
        ([UNKNOWN], " ⁇  "),
    ):
        text, alone = tokenizer.decode([*broken, *rest]), tokenizer.decode(rest)
        assert text == spelt + alone
        located = tokenizer.tokens([*broken, *rest])[len(broken) :]
        assert [text[slice(*token.span)] for token in located] == [
            alone[slice(*token.span)] for token in tokenizer.tokens(rest)
        ]


def test_each_incomplete_byte_becomes_a_replacement_character(tokenizer):
    first = tokenizer.texts.index("<0xF0>")
    assert [token.span for token in tokenizer.tokens([first, first])] == [(0, 1), (1, 2)]


def test_each_digit_is_a_token(tokenizer):
    assert [p.text for p in tokenizer.encode("1984", end=False)][-4:] == ["1", "9", "8", "4"]


def test_encoding_with_end_set_to_false_omits_only_the_end_symbol(tokenizer):
    assert tokenizer.encode_ids("a", end=False) == tokenizer.encode_ids("a")[:-1]


def test_invalid_vocabulary_file_is_rejected(tmp_path):
    path = tmp_path / "tokenizer.model"
    for content in (b"", b"nonsense", bytes(range(256)) * 9):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="vocabulary"):
            Tokenizer.load(path)


def test_saved_tokenizer_loads_unchanged(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.serialized)
    loaded = Tokenizer.load(path)
    assert loaded.fingerprint == tokenizer.fingerprint and loaded.texts == tokenizer.texts


def test_tokenizer_training_is_deterministic():
    rng = random.Random(4)
    words = ["".join(rng.choices("abcdefghij", k=rng.randrange(2, 8))) for _ in range(300)]
    sentences = [" ".join(rng.choices(words, k=8)) for _ in range(300)]
    assert train_tokenizer(sentences, size=400).texts == train_tokenizer(sentences, size=400).texts


def test_too_little_text_for_a_vocabulary_is_reported():
    with pytest.raises(ValueError, match="cannot train a vocabulary of 5000 tokens on this text; the maximum is 375"):
        train_tokenizer(["a b c"], size=5000)
    with pytest.raises(ValueError, match="the minimum is 372"):
        train_tokenizer(["a b c"], size=100)


def test_text_is_split_between_words_digits_and_punctuation():
    assert units("I didn't see 'some' at 12 o'clock!! Geht's?") == [
        "I",
        " didn",
        "'t",
        " see",
        " '",
        "some",
        "'",
        " at",
        " 1",
        "2",
        " o'clock",
        "!!",
        " Geht",
        "'s",
        "?",
    ]


def test_frequent_words_and_contractions_are_single_tokens():
    sentences = ["I didn't say that because it's 'some' of Tom's."] * 20
    vocabulary = train_tokenizer(sentences, size=420)
    tokens = [token.text for token in vocabulary.encode(sentences[0], end=False)]
    assert tokens[:8] == ["▁I", "▁didn", "'t", "▁say", "▁that", "▁because", "▁it", "'s"]
    assert tokens[8:10] == ["▁'", "some"], "not the 's of it's"
    assert vocabulary.decode(vocabulary.encode_ids(sentences[0])) == sentences[0]


def test_sampled_tokens_always_spell_the_original_text():
    text = "I didn't say that because of the garden."
    vocabulary = train_tokenizer([text] * 20, size=420)
    sampled = list(map(tuple, vocabulary.encode_all([text] * 50, sampled=True)))
    assert len(set(sampled)) > 10 and all(vocabulary.decode(ids) == text and ids[-1] == END for ids in sampled)


def test_token_from_another_vocabulary_is_split_into_known_tokens(tokenizer):
    for token in ("▁unbekannt", "unbekannt", "'t", "▁'", "é", "▁🙂"):
        ids = tokenizer.spell(token)
        spelt = "".join(tokenizer.texts[i] for i in ids if not tokenizer.texts[i].startswith("<0x"))
        assert spelt == token.rstrip("🙂")


def test_threads_that_share_a_tokenizer_get_the_same_tokens_as_one_thread(tokenizer):
    texts = [f"The dog {'and the cat ' * i}play {i}." for i in range(32)]
    alone = [tokenizer.encode(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokenizer.encode, texts)) == alone
