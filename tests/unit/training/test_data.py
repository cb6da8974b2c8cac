import gzip

import numpy as np
import pytest

from transformer.text.tokenizer import END
from transformer.training.data import (
    TokenData,
    augment,
    overlap,
    read_pairs,
    read_rows,
    read_sentences,
    without_case_and_punctuation,
    without_held_out,
)
from transformer.training.run_folder import read_data

PAIRS = [("The dog.", "Der Hund."), ("I have a dream.", "Ich habe einen Traum."), ("Yes!", "Ja!")]


def test_tab_separated_files_are_read_with_or_without_compression(tmp_path):
    text = "The “dog”.\tDer Hund.\ttatoeba\r\n\tleer\nYes\u2028no\tJa\n"
    (tmp_path / "a.tsv").write_bytes(text.encode())
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(text.encode()))
    expected = [('The "dog".', "Der Hund."), ("Yes no", "Ja")]
    assert read_pairs(tmp_path / "a.tsv") == read_pairs(tmp_path / "b.tsv.gz") == expected


def test_rows_with_an_empty_side_are_counted(tmp_path, caplog):
    file = tmp_path / "a.tsv"
    file.write_text("one\teins\n\tzwei\nthree\t \n", encoding="utf-8")
    assert read_pairs(file) == [("one", "eins")]
    assert read_rows(file) == [("one", "eins"), ("", "zwei"), ("three", "")]
    assert read_sentences(file, 2) == ["eins", "zwei"]
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}: skipped 2 of 3 pairs, because the source or target is empty",
        f"{file}: skipped 1 of 3 sentences, because they are empty",
    ]


def test_row_without_a_tab_is_reported(tmp_path):
    (tmp_path / "a.tsv").write_text("one\teins\ntwo\n")
    with pytest.raises(ValueError, match="line 2 of .* has no tab"):
        read_pairs(tmp_path / "a.tsv")


def test_file_without_pairs_is_reported(tmp_path):
    compressed = gzip.compress(b"one\teins\n" * 99)
    for name, content in (
        ("a.tsv", b""),
        ("b.tsv", b"\t\n \teins\n"),
        ("c.tsv.gz", compressed[:-20]),
        ("d.tsv.gz", b"one\teins\n"),
        ("e.tsv", b"\xff\teins\n"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            read_pairs(tmp_path / name)


def test_line_that_is_not_utf8_is_reported(tmp_path):
    (tmp_path / "a.tsv").write_bytes("one\teins\nfive\tfünf\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 2 of .*a.tsv is not UTF-8 text"):
        read_pairs(tmp_path / "a.tsv")


def test_training_pairs_with_a_held_out_source_or_target_are_excluded():
    pairs = [*PAIRS, ("Yes indeed.", "JA"), ("A dog!", "Ein Hund!")]
    held_out = [("yes", "ja."), ("i have a dream", "?")]
    assert overlap(pairs, held_out) == ["yes", "i have a dream", "ja."]
    kept = without_held_out(pairs, held_out)
    assert kept == [PAIRS[0], pairs[-1]] and not overlap(kept, held_out)


def test_careless_variant_of_a_pair_has_a_lower_case_source_without_punctuation():
    assert without_case_and_punctuation(("Is it Tom?", "Ist es Tom?")) == ("is it tom", "Ist es Tom?")
    assert without_case_and_punctuation(("...", "...")) == ("...", "...")


def test_careless_and_joined_sentence_pairs_are_added_in_the_given_proportions():
    pairs = PAIRS * 20
    more = augment(pairs, careless=0.5, joined=0.25, rng=np.random.default_rng(1))
    assert more[:60] == pairs
    careless, joined = more[60:90], more[90:]
    assert set(careless) <= {without_case_and_punctuation(pair) for pair in pairs} and len(joined) == 15
    for source, target in joined:
        assert source.count(".") + source.count("!") == target.count(".") + target.count("!") >= 2


def test_saved_token_data_loads_unchanged(tokenizer, tmp_path):
    data = TokenData.of([*PAIRS, ("long " * 50, "lang")], tokenizer, max_tokens=40)
    assert len(data) == 3, "the long pair is left out"
    data.save(tmp_path / "data.safetensors", tokenizer.fingerprint)
    loaded, fingerprint = read_data(tmp_path / "data.safetensors", "prepare again")
    assert fingerprint == tokenizer.fingerprint
    for (source, target), (first, second) in zip(PAIRS, loaded, strict=True):
        assert first.tolist() == tokenizer.encode_ids(source)
        assert tokenizer.decode(second.tolist()) == target and second[-1] == END
    assert loaded.target.lengths.tolist() == [len(tokenizer.encode_ids(target)) for _, target in PAIRS]


def test_repeated_sentence_pairs_get_newly_sampled_tokens(tokenizer):
    pairs = [("The old man is reading a newspaper in the garden.", "Der alte Mann liest eine Zeitung im Garten.")] * 50
    data = TokenData.of(pairs, tokenizer, max_tokens=200, sampled=2)
    best = tokenizer.encode_ids(pairs[0][0])
    split = [source.tolist() for source, _ in data]
    assert split[:50] == [best] * 50 and len(split) == 150
    assert len({tuple(ids) for ids in split[50:]}) > 10, "they are drawn anew"
    for source, target in data:
        assert (tokenizer.decode(source.tolist()), tokenizer.decode(target.tolist())) == pairs[0]
        assert source[-1] == target[-1] == END


def test_overlap_ignores_case_and_punctuation():
    training = [("Tom's here!", "x"), ("A  dog.", "y")]
    assert overlap(training, [("toms HERE", "z"), ("A cat.", "z"), ("a dog", "z")]) == ["toms HERE", "a dog"]
