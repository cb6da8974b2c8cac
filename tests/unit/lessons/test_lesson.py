import pytest

from transformer.errors import LessonError
from transformer.lessons.folders import MAX_BYTES, MAX_STEPS, lesson_files, step_count
from transformer.lessons.lesson import lesson_of, read_lesson
from transformer.lessons.template import fill

STEP = """
[[steps]]
look_for = "Look."
question = "What is the sum?"
guess = "sum"
reveal = "It is {sum:.2f}."
claim = { name = "row_sum", kind = "encoder", head = "next", row = "have" }
figure = { show = "map", kind = "encoder", head = "next", row = "have" }
address = "encoder_attention"
"""
TEXT = 'title = "T"\nsummary = "S."\nsentence = "I have a dream."\n' + 3 * STEP


def test_parsed_lesson_has_the_steps_and_sentence_of_its_file():
    lesson = lesson_of("one", TEXT)
    assert len(lesson.steps) == 3 and lesson.steps[0].next_when == "answered"
    assert lesson.steps[0].sentence == "I have a dream."


def test_fast_step_count_of_a_lesson_file_matches_the_parsed_lesson():
    for name, path in lesson_files().items():
        assert step_count(name) == len(read_lesson(path).steps)


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"[[steps]", b"steps = 3", b"steps = []", b"", TEXT.encode() + MAX_BYTES * b"\n"],
    ids=["not UTF-8", "not TOML", "a number", "none", "empty", "too large"],
)
def test_unreadable_lesson_counts_as_having_the_maximum_number_of_steps(content, tmp_path, monkeypatch):
    """An unreadable lesson must not break the slide list, which every page shows. Only the lesson's page reports it."""
    monkeypatch.setattr("transformer.lessons.folders.OWN_FOLDER", tmp_path)
    (tmp_path / "mine.toml").write_bytes(content)
    assert step_count("mine") == step_count("missing") == MAX_STEPS


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "T"', "", "the lesson: title is missing"),
        ('title = "T"', "title = 1", "title is 1; it must be a string"),
        ('title = "T"', 'title = "T', "the file is not TOML"),
        ('title = "T"', 'title = "\\u202eT"', "invisible character"),
        (2 * STEP, "", "the number of steps is 1; it must be 3 to 7"),
        (STEP, 6 * STEP, "the number of steps is 8"),
        (3 * STEP, "steps = 4", "begin each step with the line"),
        ("Look.", "word " * 41, "step 1: look_for and question have 45 words; at most 40"),
        ("It is {sum:.2f}.", "It is {sun:.2f}.", "there is no value sun; the claim row_sum has: sum, count"),
        ("It is {sum:.2f}.", "It is {sum.", "an unmatched brace"),
        ("It is {sum:.2f}.", "{sum.__class__}", "is invalid"),
        ('name = "row_sum"', 'name = "row_some"', "there is no claim 'row_some'; the claims are: asymmetry"),
        ('head = "next", row = "have" }\nfigure', 'head = 3, row = "have" }\nfigure', "must be a string in quotes"),
        (', row = "have" }\nfigure', " }\nfigure", "the claim row_sum needs row"),
        (', row = "have" }\nfigure', ', row = "have", at = 1 }\nfigure', "has no parameter 'at'"),
        ('show = "map"', 'show = "film"', "show is 'film'; it must be one of: map"),
        ("figure = {", "figur = {", "step 1: unknown field 'figur'; the fields are: look_for"),
        ('show = "map", ', "", "the figure is missing"),
        ('show = "map", kind = "encoder"', 'show = "map", kind = 3', "must be one of"),
        ('show = "map", kind = "encoder"', 'show = "map"', "the figure map accepts head, kind, bars (optional), row"),
        ('guess = "sum"', 'guess = "some"', "guess is 'some'"),
        ('guess = "sum"', "", "a question needs either choices"),
        ('guess = "sum"', 'choices = ["1", "2"]\nanswer = "3"', "the answer '3' is not among the choices"),
        ('guess = "sum"', 'choices = ["1"]\nanswer = "1"', "the question has 1 choices; it must have 2 to 6"),
        ('guess = "sum"', 'guess = "sum"\npercent = "yes"', "percent must be true or false"),
        ('guess = "sum"', 'guess = "sum"\nnext_when = "soon"', "next_when is 'soon'; it must be one of: read"),
        ('guess = "sum"', 'guess = "sum"\nnext_when = "read"', "in a step with a question, and only there"),
        ('address = "encoder_attention"', 'address = "https://example.org"', "the address"),
        ('address = "encoder_attention"', 'address = "javascript:alert(1)"', "the address"),
        (
            'address = "encoder_attention"',
            'address = "encoder"',
            "the page 'encoder', which does not exist; the pages are: about, ",
        ),
        (3 * STEP, "[steps]\n[steps]\n", "begin each step with [[steps]]"),
        ('title = "T"', f"title = 0x{'f' * 5000}", "the file is out of range: use numbers from -1,000,000,000"),
        ('head = "next", row = "have" }\nfigure', 'head = nan, row = "have" }\nfigure', "the file is out of range"),
        ('title = "T"', f"title = {[1] * 9000}", "title is [1, 1, 1, 1, 1, 1, ...]; it must be a string"),
        ('address = "encoder_attention"', f'address = "{"?" * 9000}"', "???' is invalid"),
    ],
    ids=lambda one: one[:60] if isinstance(one, str) else None,
)
def test_invalid_lesson_content_raises_an_error(old, new, message):
    assert old in TEXT
    with pytest.raises(LessonError) as refused:
        lesson_of("one", TEXT.replace(old, new, 1))
    assert message in str(refused.value) and len(str(refused.value)) < 1500


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("Bad Name.toml", b"", "the file name must consist of lower-case letters"),
        ("lesson.txt", b"", "end in .toml"),
        ("latin.toml", b"\xff", "not UTF-8"),
        ("large.toml", b"#" * 60_000, "at most 50,000"),
    ],
)
def test_unreadable_lesson_file_raises_an_error(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(LessonError) as refused:
        read_lesson(tmp_path / name)
    assert message in str(refused.value) and name in str(refused.value)


def test_values_in_lesson_texts_are_formatted_as_requested():
    values = {"share": 0.256, "count": 8000, "word": "man"}
    assert fill("{share:.0%} {share} {count:,} {word} {{}}", values) == "26% 0.26 8,000 man {}"
    with pytest.raises(LessonError, match="word is text"):
        fill("{word:.2f}", values)
