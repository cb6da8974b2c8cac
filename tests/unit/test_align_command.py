from collections import Counter

import pytest

from transformer.analysis.aligned_pair import AlignedPair
from transformer.commands.align import main
from transformer.measurements.alignments import GoldAlignments

PAIRS = (
    "I have a dream.\tIch habe einen Traum.\n\t\nThe children play with the dog.\tDie Kinder spielen mit dem Hund.\n"
)
NAMED = "--heads", "cross.2.1", "cross.2.3"


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIRS, encoding="utf-8")
    return path


def test_align_command_with_the_shipped_model_gives_the_recorded_output(pairs, run_main):
    done = run_main(main, pairs, "--device", "cpu")
    assert done.stdout == "0-0 1-1 2-2 3-3\n\n0-0 1-1 2-2 3-3 4-4 5-5\n"
    assert done.stderr == (
        "aligned with cross-attention layer 1, heads 8 and 7, at the step that reads the target token\n"
        "1 pairs were not aligned; the first error is on line 2: Type the translation that the model should read.\n"
    )


def test_dictionary_lists_every_alignment_link_once(pairs, model_folder, run_main):
    table, counted = (
        run_main(main, pairs, "--format", name, "--model", model_folder, *NAMED) for name in ("tsv", "dictionary")
    )
    rows = [line.split("\t") for line in table.stdout.splitlines()[1:]]
    assert {row[0] for row in rows} == {"1", "3"}
    found = {tuple(line.split("\t")[:2]): int(line.split("\t")[2]) for line in counted.stdout.splitlines()}
    assert found == Counter((row[3], row[4]) for row in rows)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_align_command_without_targets_aligns_the_translations_of_the_model(
    tmp_path, model_folder, small_translator, run_main
):
    path = tmp_path / "sources.txt"
    path.write_text("I have a dream.\nA dog\n", encoding="utf-8")
    done = run_main(main, path, "--own", "--format", "tsv", "--unit", "tokens", "--model", model_folder, *NAMED)
    written = [small_translator.translate(text).tokens for text in ("I have a dream.", "A dog")]
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    assert [row[4] for row in rows] == [token.text for each in written for token in each if not token.special]


def test_align_command_with_a_gold_file_prints_the_error_rate(pairs, tmp_path, run_main):
    path = tmp_path / "gold.txt"
    path.write_text("0-1 1-0 2-3 3-2\n\n0-0 1-1 2-2 3-3 4-4 5-5\n", encoding="utf-8")
    done = run_main(main, pairs, "--device", "cpu", "--gold", path)
    assert done.stderr.endswith("AER: 0.4000\n")


def noted(path, gold, first=0):
    path.write_text(gold, encoding="utf-8")
    found = GoldAlignments(path, first)
    for number in range(2):
        found.note(number, AlignedPair(("a", "b"), ("A", "B"), ((0, 0), (1, 1)), (1.0, 1.0)))
    return found


@pytest.mark.parametrize(
    ("gold", "first", "rate"),
    [("0-0 1-1\n0-0 1-1\n", 0, 0.0), ("1-1 2p2\n1-1 2?2\n", 1, 0.0), ("0-1 1-0\n0-0 1-1\n", 0, 0.5)],
)
def test_alignment_error_rate_covers_all_lines(tmp_path, gold, first, rate):
    assert noted(tmp_path / "gold.txt", gold, first).error_rate() == rate


def test_gold_file_with_one_link_per_line_is_read(tmp_path):
    """The AER is 1 - 5 / 7: of the 4 predicted links, 2 are among the 3 sure links, and 3 are among the possible
    links.
    """
    found = noted(tmp_path / "gold.txt", "0001 1 1 S\n1 2 2 P 0.5\n1 2 0\n\n2 1 1\n2 1 2 S\n")
    assert found.error_rate() == pytest.approx(1 - 5 / 7)


def test_unaligned_line_counts_as_missing_its_sure_links(tmp_path):
    found = noted(tmp_path / "gold.txt", "0-0 1-1\n0-0 1-1\n0-0 1?1\n")
    found.note(2, None)
    assert found.error_rate() == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("2-0\n\n", "line 1: there is a link 2-0, but the two texts have 2 and 2 words"),
        ("0-0\n", "line 2 is missing"),
        ("1 1 1\n", "pair 2 is missing"),
        ("I have\n", "line 1: 'I' is not a link such as 0-0"),
    ],
)
def test_invalid_gold_alignments_are_reported_with_their_line_or_pair_number(tmp_path, gold, said):
    with pytest.raises(ValueError, match=said):
        noted(tmp_path / "gold.txt", gold)


@pytest.mark.parametrize(
    ("options", "content", "said"),
    [
        (["--model", "FOLDER"], "\t\n", "no head of this model aligns more than 50% of the target tokens"),
        pytest.param(
            ["--heads", "cross.2.1", "cross.1.1"],
            PAIRS,
            "--heads needs cross-attention heads of a single layer",
            marks=pytest.mark.thorough,
        ),
        (["--step", "read"], PAIRS, "--step needs --heads"),
        (["--own", "--gold", "PAIRS"], PAIRS, "leave out --own"),
        ([], "I have a dream.\n", "line 1 of PAIRS has no tab"),
        pytest.param(["--language", "fra"], PAIRS, "The model does not translate into fra", marks=pytest.mark.thorough),
    ],
)
def test_invalid_input_is_reported_in_one_line(pairs, model_folder, run_main, options, content, said):
    pairs.write_text(content, encoding="utf-8")
    named = {"FOLDER": model_folder, "PAIRS": pairs}
    done = run_main(main, pairs, "--device", "cpu", *(named.get(option, option) for option in options))
    error = done.stderr.replace(str(pairs), "PAIRS")
    assert done.returncode == 1 and said in error and error.count("\n") <= 2
